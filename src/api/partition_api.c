/* zkleader_partitions(): which partitions of a task this node leads. */
#include <errno.h>
#include <string.h>

#include "api/answer.h"
#include "api/call.h"
#include "api/handle.h"
#include "base/clock.h"
#include "base/text/name.h"
#include "wire/pack.h"

struct owner {
	uint64_t partition, token;
	int64_t lease_ms;
};

struct owners {
	struct reader_text task;
	uint64_t partitions;
	struct zkleader_partition *list;
	size_t n;
	int64_t sent_ms;
};

static const struct key owner_keys[] = {
	MESSAGE_KEY("partition", owner, partition, KEY_UINT, KEY_REQUIRED),
	MESSAGE_KEY("token", owner, token, KEY_UINT, KEY_REQUIRED, .nil = true),
	LEASE_KEY("lease_ms", owner, lease_ms, KEY_OPTIONAL),
};
static const struct keys owner_form = KEYS(owner_keys, owner, SIZE_MAX);

/* Reads all partitions of the task, and keeps those with a lease, which this node leads. */
static int read_owners(struct reader *r, void *to)
{
	struct owners *o = to;
	size_t n;
	int e = reader_array(r, &n);

	for (; e >= 0 && n > 0; n--) {
		struct owner x = {0};

		e = keys_take(r, &owner_form, &x);
		if (e == 0 && (x.partition >= ZKLEADER_PARTITIONS_MAX ||
			       o->n == ZKLEADER_PARTITIONS_MAX || (x.lease_ms > 0 && x.token == 0)))
			e = -EBADMSG;
		if (e == 0 && x.lease_ms > 0)
			o->list[o->n++] = (struct zkleader_partition){
				(unsigned)x.partition, x.token, o->sent_ms + x.lease_ms};
	}
	return e;
}

static const struct key owners_keys[] = {
	MESSAGE_KEY("task", owners, task, KEY_BORROWED, KEY_REQUIRED),
	MESSAGE_KEY("partitions", owners, partitions, KEY_UINT, KEY_REQUIRED),
	{.name = "owners", .kind = KEY_CUSTOM, .need = KEY_REQUIRED, .parse = read_owners},
};
static const struct keys owners_form = KEYS(owners_keys, owners, SIZE_MAX);

int zkleader_partitions(struct zkleader *z, const char *task, int64_t timeout_ms,
			struct zkleader_partition ret_list[ZKLEADER_PARTITIONS_MAX], size_t *ret_n,
			unsigned *ret_partitions)
{
	struct owners owners = {.list = ret_list, .sent_ms = clock_boot_ms()};
	struct reader result;
	struct request request;
	int e;

	if (!name_is_task(task, strlen(task))) {
		handle_refuse(z, 0, "that is not the name of a task");
		return ZKLEADER_MISUSE;
	}
	struct pack *p = request_begin(&request, 1);
	pack_str(p, task);
	e = request_call(z, "partitions", &request, timeout_ms, &result);
	if (e != 0)
		return e;
	e = keys_take(&result, &owners_form, &owners);
	if (e == 0 &&
	    (!reader_text_is(owners.task, task) || owners.partitions > ZKLEADER_PARTITIONS_MAX))
		e = -EBADMSG;
	if (e < 0)
		return handle_fail(z, e, timeout_ms);
	*ret_n = owners.n;
	*ret_partitions = (unsigned)owners.partitions;
	return 0;
}
