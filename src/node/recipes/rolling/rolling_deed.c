/* Builds and sends the transactions of rolling restarts, and handles their answers. */
#include "node/recipes/rolling/rolling_deed.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "node/tree/paths.h"

char *rolling_deed_add(struct rolling_deed *d, enum store_op_type type, int32_t version)
{
	d->ops[d->n] = (struct store_op){.type = type, .path = d->paths[d->n], .version = version};
	return d->paths[d->n++];
}

struct buffer *rolling_deed_add_data(struct rolling_deed *d)
{
	struct buffer *b = &d->data[d->n_data++];

	buffer_init(b, RECORD_ROLLING_MAX);
	return b;
}

/* Gives the data to the operation that was added last. */
void rolling_deed_set_data(struct rolling_deed *d, const struct buffer *b, int error)
{
	assert(error == 0); /* its texts are bounded */
	(void)error;
	d->ops[d->n - 1].data = b->data;
	d->ops[d->n - 1].len = b->len;
}

/* The first operation checks our registration. room: for further operations. */
void rolling_deed_begin(struct rolling_deed *d, struct rolling_op *op, size_t room)
{
	*d = (struct rolling_deed){.op = op};
	d->ops = mem_calloc(room + 2, sizeof(*d->ops));
	d->paths = mem_calloc(room + 2, sizeof(*d->paths));
	snprintf(rolling_deed_add(d, STORE_OP_CHECK, -1), STORE_PATH_MAX, "%s",
		 op->rolling->session->registration);
	op->made.kind[0] = '\0';
	op->slot.id[0] = '\0';
	names_free(op->unmade, op->n_unmade);
	op->unmade = NULL;
	op->n_unmade = 0;
}

/* Checks that the group is as it was read, and replaces it. */
void rolling_deed_set_group(struct rolling_deed *d, const struct rolling_group *group)
{
	struct rolling_op *op = d->op;
	struct buffer *b = rolling_deed_add_data(d);

	path_of_rolling(op->rolling->registry->settings, op->ask.group, NULL, NULL,
			rolling_deed_add(d, STORE_OP_SET, op->view.version));
	rolling_deed_set_data(d, b, record_pack_rolling_group(b, group));
}

void rolling_deed_put_slot(struct rolling_deed *d, const struct rolling_slot *slot,
			   const struct rolling_held *h)
{
	struct rolling_op *op = d->op;
	struct buffer *b = rolling_deed_add_data(d);

	op->slot = *slot;
	path_of_slot(op->rolling->registry->settings, op->ask.group, slot->node,
		     rolling_deed_add(d, h ? STORE_OP_SET : STORE_OP_CREATE, h ? h->version : 0));
	rolling_deed_set_data(d, b, record_pack_rolling_slot(b, slot));
}

/* Makes or deletes the drain of the slot. */
void rolling_deed_put_drain(struct rolling_deed *d, const struct rolling_slot *slot)
{
	struct rolling_op *op = d->op;
	const struct registry *r = op->rolling->registry;
	struct policy_record *p = &op->made;
	struct buffer *b = rolling_deed_add_data(d);

	*p = (struct policy_record){.kind = "drain",
				    .since = host_wall_ms(op->rolling->session->host)};
	memcpy(p->node, slot->node, sizeof(p->node));
	memcpy(p->machine, r->machine, sizeof(p->machine));
	memcpy(p->by, slot->by, sizeof(p->by));
	memcpy(p->host, slot->host, sizeof(p->host));
	memcpy(p->rolling, op->ask.group, sizeof(p->rolling));
	p->halted = slot->state == ROLLING_FAILED;
	if (p->halted)
		snprintf(p->reason, sizeof(p->reason), "CMD failed with status %d",
			 (int)slot->exit_status);
	else
		snprintf(p->reason, sizeof(p->reason), "rolling restart of %s", p->rolling);
	path_of(r->settings, PATH_POLICY, slot->drain, rolling_deed_add(d, STORE_OP_CREATE, 0));
	rolling_deed_set_data(d, b, record_pack_policy(b, p));
}

void rolling_deed_end_drain(struct rolling_deed *d, const char *drain)
{
	struct rolling_op *op = d->op;

	path_of(op->rolling->registry->settings, PATH_POLICY, drain,
		rolling_deed_add(d, STORE_OP_DELETE, -1));
	op->unmade = mem_resize(op->unmade, op->n_unmade + 1, sizeof(*op->unmade));
	op->unmade[op->n_unmade++] = mem_strdup(drain);
}

void rolling_deed_drop_drain(struct rolling_deed *d, const struct rolling_held *h)
{
	if (h->known && h->drain_there)
		rolling_deed_end_drain(d, h->slot.drain);
}

void rolling_deed_drop_slot(struct rolling_deed *d, const struct rolling_held *h)
{
	struct rolling_op *op = d->op;

	path_of_slot(op->rolling->registry->settings, op->ask.group, h->node,
		     rolling_deed_add(d, STORE_OP_DELETE, h->version));
	rolling_deed_drop_drain(d, h);
}

/* A check failed, or a folder is missing: reads the group again. */
static void try_again(struct rolling_op *op, const struct store_reply *reply)
{
	struct rolling *r = op->rolling;

	if (reply->code == STORE_NO_NODE && reply->failed_op == 0)
		session_confirm(r->session);
	else if (reply->code == STORE_NO_NODE)
		registry_make_parents(r->registry);
	/* A cancelled order deletes its queue entry: left alone, it would block the queue. */
	if (++op->tries > ROLLING_TRIES_MAX && !op->leaving)
		rolling_tell(op, ROLLING_UNKNOWN, "the group is changed all the time", NULL);
	else
		rolling_retry(op, op->tries > 2 ? ROLLING_RETRY_MS : 0);
}

static void log_done(const struct rolling_op *op)
{
	const char *group = op->ask.group, *node = op->rolling->registry->node;

	switch (op->ask.order) {
	case ROLLING_TAKE:
		log_info(op->slot.id[0] ? "slot of a rolling restart taken"
					: "slot of a rolling restart given up",
			 LOG_STR("group", group), LOG_STR("node", node));
		break;
	case ROLLING_ADVANCE:
		log_info("rolling restart goes on", LOG_STR("group", group), LOG_STR("node", node),
			 LOG_STR("state", rolling_state_name(op->slot.state)));
		break;
	case ROLLING_FREE:
		log_info("slot of a rolling restart freed", LOG_STR("group", group),
			 LOG_STR("node", node));
		break;
	case ROLLING_RELEASE:
		log_info("slot of a rolling restart released", LOG_STR("group", group),
			 LOG_STR("node", op->ask.node));
		break;
	case ROLLING_RESUME: log_info("rolling restart resumed", LOG_STR("group", group)); break;
	case ROLLING_OWN:
	case ROLLING_STATUS: break;
	}
}

/* The node learns its own changes at once, before the policy is read again. */
static void learn(struct rolling_op *op)
{
	const struct rolling_handlers *h = &op->rolling->handlers;

	if (op->made.kind[0])
		h->drained(h->arg, op->slot.drain, &op->made);
	for (size_t i = 0; i < op->n_unmade; i++)
		h->undrained(h->arg, op->unmade[i]);
}

static void on_done(void *arg, const struct store_reply *reply)
{
	struct rolling_op *op = arg;

	if (!rolling_answered(op))
		return;
	switch (reply->code) {
	case STORE_OK:
		learn(op);
		if (!op->last) {
			rolling_retry(op, 0);
			return;
		}
		log_done(op);
		if (op->leaving) { /* made all the same, or given up: nothing may be left */
			rolling_retry(op, 0);
			return;
		}
		op->taken = op->ask.order == ROLLING_TAKE;
		rolling_tell(op, ROLLING_DONE, NULL, op->slot.id[0] ? &op->slot : NULL);
		return;
	case STORE_BAD_VERSION:
	case STORE_NODE_EXISTS:
	case STORE_NO_NODE: try_again(op, reply); return;
	case STORE_UNKNOWN:
	case STORE_ABANDONED: return; /* continues once the session is up */
	case STORE_NO_AUTH:
	case STORE_FULL:
	case STORE_FAILED: break;
	}
	log_warning("rolling restart refused by the server", LOG_STR("group", op->ask.group),
		    LOG_STR("why", reply->text));
	rolling_tell(op, ROLLING_REFUSED, store_refused_why(reply->code), NULL);
}

/* last: the answer to this transaction ends the order. */
void rolling_deed_send(struct rolling_deed *d, bool last)
{
	struct rolling_op *op = d->op;

	op->last = last;
	op->sent |= last;
	op->pending++;
	notices_multi(op->rolling->registry, d->ops, d->n, d->has_event ? &d->event : NULL, on_done,
		      op);
	for (size_t i = 0; i < d->n_data; i++)
		buffer_done(&d->data[i]);
	free(d->ops);
	free(d->paths);
}
