/* The transactions of a party, and the nodes of its members. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

void party_path(const struct party *p, char path[STORE_PATH_MAX])
{
	path_of(p->all->registry->settings, p->all->kind->folder, p->name, path);
}

static struct store_op *add(struct party_ops *o, enum store_op_type type, int32_t version)
{
	struct store_op *op = &o->ops[o->n];

	*op = (struct store_op){.type = type, .path = o->paths[o->n++], .version = version};
	return op;
}

void party_ops_init(struct party_ops *o, struct party *p, size_t most, bool checks)
{
	*o = (struct party_ops){.party = p,
				.ops = mem_calloc(most, sizeof(*o->ops)),
				.paths = mem_calloc(most, sizeof(*o->paths))};
	if (checks)
		add(o, STORE_OP_CHECK, -1)->path = p->all->session->registration;
}

void party_ops_fill(struct party_ops *o, size_t i, const void *data)
{
	const struct party_kind *kind = o->party->all->kind;

	buffer_init(&o->record, kind->record_max);
	int error = kind->pack(&o->record, data);
	assert(error == 0); /* all of it is bounded */
	(void)error;
	o->ops[i].data = o->record.data;
	o->ops[i].len = o->record.len;
}

void party_ops_record(struct party_ops *o, enum store_op_type type, int32_t version,
		      const void *data)
{
	party_path(o->party, o->paths[o->n]);
	add(o, type, version);
	if (data)
		party_ops_fill(o, o->n - 1, data);
}

void party_ops_node(struct party_ops *o, enum store_op_type type, const struct party_ticket *t,
		    const struct buffer *data)
{
	const struct parties *all = o->party->all;

	if (!party_ticket_path(all->registry->settings, all->kind->folder, o->party->name, t,
			       o->paths[o->n]))
		return;
	struct store_op *op =
		add(o, type, type == STORE_OP_CHECK || type == STORE_OP_DELETE ? -1 : 0);
	if (data) {
		op->data = data->data;
		op->len = data->len;
	}
}

void party_ops_free(struct party_ops *o)
{
	buffer_done(&o->record);
	free(o->ops);
	free(o->paths);
}

void party_ops_send(struct party_ops *o, store_reply_fn fn)
{
	struct party *p = o->party;

	p->busy++;
	store_multi(p->all->session->store, o->ops, o->n, fn, p);
	party_ops_free(o);
}

/* --- nodes ---------------------------------------------------------------- */

void party_make_node(struct party_member *m, const struct buffer *data)
{
	struct party_ops o;

	party_ops_init(&o, m->party, 3, true);
	party_ops_record(&o, STORE_OP_CHECK, m->party->version, NULL);
	party_ops_node(&o, STORE_OP_CREATE_SEQUENTIAL, &m->place.as, data);
	party_ops_send(&o, party_on_done);
}

void party_delete_node(struct party *p, const struct party_ticket *t, enum party_how how)
{
	const struct party_ticket mark = {.id = t->id, .left = true};
	struct party_ops o;

	party_ops_init(&o, p, 4, true);
	party_ops_record(&o, STORE_OP_CHECK, how == PARTY_UNLESS_COUNTED ? p->version : -1, NULL);
	party_ops_node(&o, STORE_OP_DELETE, t, NULL);
	if (how == PARTY_WITH_A_MARK)
		party_ops_node(&o, STORE_OP_CREATE, &mark, NULL);
	party_ops_send(&o, party_on_done);
}
