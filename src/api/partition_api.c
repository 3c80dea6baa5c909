/* zkleader_partitions(): which partitions of a task this node leads. */
#include <errno.h>
#include <string.h>

#include "api/call.h"
#include "api/fields.h"
#include "api/handle.h"
#include "base/clock.h"
#include "base/text/name.h"
#include "wire/pack.h"

struct owners {
	struct zkleader_partition *list;
	size_t n;
	int64_t sent_ms;
};

static int read_skipped(struct reader *r, void *to)
{
	(void)to;
	return reader_skip(r);
}

/* Reads all partitions of the task, and keeps those with a lease, which this node leads. */
static int read_owners(struct reader *r, void *to)
{
	struct owners *o = to;
	size_t n;
	int e = reader_array(r, &n);

	for (; e >= 0 && n > 0; n--) {
		uint64_t partition = ZKLEADER_PARTITIONS_MAX, token = 0;
		int64_t lease_ms = 0;
		const struct field fields[] = {
			{"partition", field_uint, &partition, false},
			{"token", field_token, &token, false},
			{"lease_ms", field_lease, &lease_ms, true},
			{"leader", read_skipped, NULL, true},
		};

		e = fields_read(r, fields, N_FIELDS(fields));
		if (e == 0 && (partition >= ZKLEADER_PARTITIONS_MAX ||
			       o->n == ZKLEADER_PARTITIONS_MAX || (lease_ms > 0 && token == 0)))
			e = -EBADMSG;
		if (e == 0 && lease_ms > 0)
			o->list[o->n++] = (struct zkleader_partition){(unsigned)partition, token,
								      o->sent_ms + lease_ms};
	}
	return e;
}

int zkleader_partitions(struct zkleader *z, const char *task, int64_t timeout_ms,
			struct zkleader_partition ret_list[ZKLEADER_PARTITIONS_MAX], size_t *ret_n,
			unsigned *ret_partitions)
{
	struct owners owners = {.list = ret_list, .sent_ms = clock_boot_ms()};
	uint64_t partitions = 0;
	const struct field fields[] = {
		{"task", field_task, &task, false},
		{"partitions", field_uint, &partitions, false},
		{"owners", read_owners, &owners, false},
	};
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
	e = fields_read(&result, fields, N_FIELDS(fields));
	if (e == 0 && partitions > ZKLEADER_PARTITIONS_MAX)
		e = -EBADMSG;
	if (e < 0)
		return handle_fail(z, e, timeout_ms);
	*ret_n = owners.n;
	*ret_partitions = (unsigned)partitions;
	return 0;
}
