/*
 * Changes of what is decided. Each waits until the folder has been read again, so that it replaces
 * all that was decided before, and is one transaction.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "node/fleet/policy_parts.h"
#include "node/session/id.h"
#include "node/tree/paths.h"

#define REPLACED_MAX 16	  /* older records about the same thing: usually one at most */
#define TRIES	     5	  /* tries of a change that others came before */
#define BEATEN_MAX   1000 /* the same where each time another one was done */

/* A decision of a change, and the older records that are deleted with it. */
struct policy_deed {
	char task[NAME_ELECTION_MAX + 1];
	char name[NAME_ID_MAX + 1]; /* name of the new record */
	char replaced[REPLACED_MAX][NAME_ID_MAX + 1];
	size_t n_replaced;
	bool *ret_done; /* may be NULL */
};

struct policy_change {
	struct policy *policy;
	struct policy_record record; /* its task is that of each deed */
	enum policy_kind kind;
	bool put;
	policy_may_fn may; /* NULL: nothing has to hold */
	int32_t version;   /* with may: of ROOT/policy, from before the folder was read */
	int tries;
	uint64_t due; /* folder.lists at which what is known is as new as the order */
	SLIST_ENTRY(policy_change) link;
	policy_fn fn;
	void *arg;
	size_t n;
	struct policy_deed deeds[];
};

static void end_change(struct policy_change *c, enum policy_result result)
{
	c->fn(c->arg, result);
	free(c);
}

/* The record of a deed. */
static const struct policy_record *record_of(struct policy_change *c, const struct policy_deed *d)
{
	memcpy(c->record.task, d->task, sizeof(c->record.task));
	return &c->record;
}

/* Our own change is known at once, so its requester finds it done. */
static void apply_deed(struct policy_change *c, const struct policy_deed *d)
{
	struct policy *p = c->policy;

	for (size_t i = 0; i < d->n_replaced; i++) {
		policy_forget_item(p, d->replaced[i], c->record.by);
		folder_remove(&p->folder, d->replaced[i]);
	}
	if (c->put)
		policy_made(p, d->name, record_of(c, d));
	if (d->ret_done)
		*d->ret_done = c->put || d->n_replaced > 0;
}

static void apply_change(struct policy_change *c)
{
	for (size_t i = 0; i < c->n; i++)
		apply_deed(c, &c->deeds[i]);
	folder_touch(&c->policy->folder);
}

static void queue_change(struct policy_change *c)
{
	struct policy *p = c->policy;

	SLIST_INSERT_HEAD(&p->changes, c, link);
	c->due = policy_refresh(p);
}

static void on_change_reply(void *arg, const struct store_reply *reply);

static void on_version(void *arg, const struct store_reply *reply)
{
	struct policy_change *c = arg;

	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		on_change_reply(c, reply);
		return;
	}
	c->version = reply->stat.version; /* 0 of a folder that is yet to be made */
	queue_change(c);
}

/* The version comes first: what is decided after it and not in the list refuses the change. */
static void look(struct policy_change *c)
{
	const struct policy *p = c->policy;

	if (c->may)
		store_get(p->session->store, p->folder.path, false, on_version, c);
	else
		queue_change(c);
}

static void on_change_reply(void *arg, const struct store_reply *reply)
{
	struct policy_change *c = arg;
	bool beaten = reply->code == STORE_BAD_VERSION;

	switch (reply->code) {
	case STORE_OK:
		apply_change(c);
		end_change(c, POLICY_DONE);
		return;
	case STORE_NO_NODE:
	case STORE_BAD_VERSION:
		/* Our folder is missing, or a concurrent change has won. */
		if (c->tries++ >= (beaten ? BEATEN_MAX : TRIES))
			break;
		if (!beaten && reply->failed_op == 0 && c->put)
			registry_make_parents(c->policy->registry);
		look(c);
		return;
	case STORE_UNKNOWN:
	case STORE_ABANDONED: end_change(c, POLICY_UNKNOWN); return;
	case STORE_NODE_EXISTS:
	case STORE_NO_AUTH:
	case STORE_FULL:
	case STORE_FAILED: break;
	}
	log_error("decision refused by the server", LOG_STR("kind", c->record.kind),
		  LOG_STR("why", reply->text));
	end_change(c, reply->code == STORE_FULL ? POLICY_FULL : POLICY_FAILED);
}

static void find_replaced(struct policy_change *c, struct policy_deed *d)
{
	const struct policy *p = c->policy;
	const struct policy_record *r = record_of(c, d);

	d->n_replaced = 0;
	for (size_t i = policy_place(p, c->kind, r->task, r->node);
	     i < p->n && d->n_replaced < REPLACED_MAX &&
	     policy_compare(p->items[i], c->kind, r->task, r->node) == 0;
	     i++)
		if (!p->items[i]->record.rolling[0] &&
		    policy_is_about(p, p->items[i], r->node, r->machine))
			memcpy(d->replaced[d->n_replaced++], p->items[i]->name,
			       sizeof(d->replaced[0]));
}

/* The operations of a change, and all that they point to. */
struct sending {
	struct buffer data;
	char (*paths)[STORE_PATH_MAX];
	struct policy_end *ends;
	struct store_op *ops;
	size_t n;
};

static void add_op(struct sending *to, const struct policy *p, enum store_op_type type,
		   const char *name)
{
	path_of(p->registry->settings, PATH_POLICY, name, to->paths[to->n]);
	to->ops[to->n] = (struct store_op){.type = type, .path = to->paths[to->n], .version = -1};
	to->n++;
}

/* Records stand one behind the other in a buffer that does not move. */
static void add_deed(struct sending *to, struct policy_change *c, const struct policy_deed *d)
{
	struct policy *p = c->policy;

	if (c->put) {
		size_t begin = to->data.len;
		int error = record_pack_policy(&to->data, record_of(c, d));
		assert(error == 0); /* the record's texts are bounded */
		(void)error;
		add_op(to, p, STORE_OP_CREATE, d->name);
		to->ops[to->n - 1].data = to->data.data + begin;
		to->ops[to->n - 1].len = to->data.len - begin;
	}
	for (size_t i = 0; i < d->n_replaced; i++)
		add_op(to, p, STORE_OP_DELETE, d->replaced[i]);
	if (!c->put && c->kind == POLICY_PAUSE && d->n_replaced > 0)
		to->n += policy_end_ops(p, d->task, host_wall_ms(p->session->host),
					&to->ends[d - c->deeds], to->ops + to->n);
}

static void send_change(struct policy_change *c)
{
	struct sending to = {.n = 0};
	size_t replaced = 0, n_ops;

	for (size_t i = 0; i < c->n; i++) {
		find_replaced(c, &c->deeds[i]);
		replaced += c->deeds[i].n_replaced;
	}
	if (!c->put && replaced == 0) {
		end_change(c, POLICY_NOTHING);
		return;
	}
	if (c->may && !c->may(c->arg)) {
		end_change(c, POLICY_REFUSED);
		return;
	}
	n_ops = 1 + c->n * (1 + POLICY_END_OPS) + replaced;
	buffer_init(&to.data, c->n * RECORD_POLICY_MAX);
	buffer_reserve(&to.data, c->n * RECORD_POLICY_MAX);
	to.paths = mem_calloc(n_ops, sizeof(*to.paths));
	to.ends = mem_calloc(c->n, sizeof(*to.ends));
	to.ops = mem_calloc(n_ops, sizeof(*to.ops));
	if (c->may)
		to.ops[to.n++] = (struct store_op){.type = STORE_OP_SET,
						   .path = c->policy->folder.path,
						   .version = c->version};
	for (size_t i = 0; i < c->n; i++)
		add_deed(&to, c, &c->deeds[i]);
	store_multi(c->policy->session->store, to.ops, to.n, on_change_reply, c);
	free(to.ops);
	free(to.ends);
	free(to.paths);
	buffer_done(&to.data);
}

/* The first change, no longer in the list; NULL: the list is empty. */
static struct policy_change *take_first(struct policy_change_list *list)
{
	struct policy_change *c = SLIST_FIRST(list);

	if (c)
		SLIST_REMOVE_HEAD(list, link);
	return c;
}

void policy_run_changes(struct policy *p)
{
	struct policy_change_list all = p->changes;
	struct policy_change *c;

	SLIST_INIT(&p->changes);
	while ((c = take_first(&all))) {
		if (policy_is_read(p, c->due)) {
			send_change(c);
			continue;
		}
		SLIST_INSERT_HEAD(&p->changes, c, link);
		p->folder.dirty = true; /* makes the next list call again */
	}
}

void policy_drop_changes(struct policy *p)
{
	struct policy_change_list all = p->changes;
	struct policy_change *c;

	SLIST_INIT(&p->changes);
	while ((c = take_first(&all)))
		end_change(c, POLICY_UNKNOWN);
}

static void begin_change(struct policy *p, const struct policy_record *record, bool put,
			 struct policy_part *parts, size_t n, policy_may_fn may, policy_fn fn,
			 void *arg)
{
	struct policy_change *c = mem_calloc(1, sizeof(*c) + n * sizeof(c->deeds[0]));

	assert(n <= POLICY_PARTS_MAX);
	c->policy = p;
	c->record = *record;
	c->n = n;
	for (size_t i = 0; i < n; i++) {
		struct policy_deed *d = &c->deeds[i];
		id_new(p->session->host, d->name);
		memcpy(d->task, parts ? parts[i].task : record->task, sizeof(d->task));
		d->ret_done = parts ? &parts[i].done : NULL;
	}
	bool known = policy_kind_parse(record->kind, strlen(record->kind), &c->kind);
	assert(known);
	(void)known;
	c->put = put;
	c->may = may;
	c->fn = fn;
	c->arg = arg;
	look(c);
}

void policy_put(struct policy *p, const struct policy_record *record, policy_fn fn, void *arg)
{
	begin_change(p, record, true, NULL, 1, NULL, fn, arg);
}

void policy_remove(struct policy *p, const struct policy_record *record, policy_fn fn, void *arg)
{
	begin_change(p, record, false, NULL, 1, NULL, fn, arg);
}

void policy_change_all(struct policy *p, const struct policy_record *record, bool put,
		       struct policy_part *parts, size_t n, policy_may_fn may, policy_fn fn,
		       void *arg)
{
	begin_change(p, record, put, parts, n, may, fn, arg);
}
