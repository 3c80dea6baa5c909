/* Records the end of a pause: no earlier tick of the task's schedule is owed. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "node/fleet/policy.h"
#include "node/session/id.h"
#include "node/tree/paths.h"

/* Longer than the time for which any schedule catches up. */
#define KEPT_MS (INT64_C(40) * 24 * 3600 * 1000)

size_t policy_end_ops(struct policy *p, const char *task, int64_t at_ms, struct policy_end *e,
		      struct store_op ops[POLICY_END_OPS])
{
	const struct policy_item *old = policy_find_own(p, POLICY_ENDED, task, "");
	struct policy_record r = {.since = at_ms, .until = at_ms + KEPT_MS};
	char name[NAME_ID_MAX + 1];
	struct buffer data;
	size_t n = 1;

	if (p->handlers.scheduled && !p->handlers.scheduled(p->handlers.arg, task))
		return 0;
	snprintf(r.kind, sizeof(r.kind), "%s", policy_kind_name(POLICY_ENDED));
	snprintf(r.task, sizeof(r.task), "%s", task);
	snprintf(r.by, sizeof(r.by), "zkleader");
	snprintf(r.host, sizeof(r.host), "%s", p->registry->settings->hostname);
	id_new(p->session->host, name);
	path_of(p->registry->settings, PATH_POLICY, name, e->made);
	buffer_init(&data, sizeof(e->bytes));
	int error = record_pack_policy(&data, &r);
	assert(error == 0); /* its texts are bounded */
	(void)error;
	memcpy(e->bytes, data.data, data.len);
	ops[0] = (struct store_op){
		.type = STORE_OP_CREATE, .path = e->made, .data = e->bytes, .len = data.len};
	buffer_done(&data);
	if (old) {
		path_of(p->registry->settings, PATH_POLICY, old->name, e->replaced);
		ops[n++] = (struct store_op){
			.type = STORE_OP_DELETE, .path = e->replaced, .version = -1};
	}
	return n;
}
