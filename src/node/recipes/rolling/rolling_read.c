/* Reads a group, its slots and its queue. If they change meanwhile, the transaction fails. */
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "node/recipes/rolling/rolling_op.h"
#include "node/tree/paths.h"

#define READS_MAX 100 /* outstanding at a time */
#define DIGITS	  10  /* digits of the number that the server appends */

static const char foreign[] = "there is something else in the place of the group's record";

/* --- the view ------------------------------------------------------------- */

void rolling_view_done(struct rolling_view *v)
{
	for (size_t i = 0; i < v->n_waiting; i++)
		free(v->waiting[i].name);
	free(v->waiting);
	free(v->slots);
	*v = (struct rolling_view){.version = 0};
}

static void take_slots(struct rolling_view *v, const struct store_reply *reply)
{
	size_t n = reply->n_names;

	v->slots = mem_calloc(n + 1, sizeof(*v->slots));
	/* A slot whose name is not a node's counts, too. */
	for (v->n_slots = 0; v->n_slots < n; v->n_slots++)
		if (!path_is_node(reply->names[v->n_slots], v->slots[v->n_slots].node))
			v->slots[v->n_slots].node[0] = '\0';
}

/* The number of a queue entry ID-NUMBER; -1: not a queue entry. */
static int64_t number_of(const char *name)
{
	size_t len = strlen(name);
	int64_t number = 0;

	if (len <= DIGITS || name[len - DIGITS - 1] != '-')
		return -1;
	for (const char *c = name + len - DIGITS; *c; c++) {
		if (*c < '0' || *c > '9')
			return -1;
		number = number * 10 + (*c - '0');
	}
	return number;
}

static int by_number(const void *a, const void *b)
{
	const struct rolling_queued *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void take_waiting(struct rolling_view *v, const struct store_reply *reply)
{
	v->waiting = mem_calloc(reply->n_names + 1, sizeof(*v->waiting));
	for (size_t i = 0; i < reply->n_names; i++) {
		struct rolling_queued *q = &v->waiting[v->n_waiting];
		q->number = number_of(reply->names[i]);
		if (q->number >= 0) {
			q->name = mem_strdup(reply->names[i]);
			v->n_waiting++;
		}
	}
	if (v->n_waiting > 0)
		qsort(v->waiting, v->n_waiting, sizeof(*v->waiting), by_number);
}

/* --- the records ---------------------------------------------------------- */

/* Whether the order needs the slot's record. */
static bool wants_slot(const struct rolling_op *op, const struct rolling_held *h)
{
	switch (op->ask.order) {
	case ROLLING_TAKE:
	case ROLLING_OWN:
	case ROLLING_ADVANCE:
	case ROLLING_FREE: return strcmp(h->node, op->rolling->registry->node) == 0;
	case ROLLING_STATUS:
	case ROLLING_RELEASE:
	case ROLLING_RESUME: return h->node[0] != '\0';
	}
	return false;
}

struct read {
	struct rolling_op *op;
	size_t at; /* index of the slot, or, behind the slots, of the waiter */
};

static void read_more(struct rolling_op *op);

/* The op of the answer; NULL: the answer is to be ignored. */
static struct rolling_op *answered(struct read *read, const struct store_reply *reply,
				   size_t *ret_at)
{
	struct rolling_op *op = read->op;

	*ret_at = read->at;
	free(read);
	if (!rolling_answered(op))
		return NULL;
	op->broken |= store_is_lost(reply->code);
	if (store_is_refusal(reply->code))
		op->refused = store_refused_why(reply->code);
	return op;
}

static struct read *read_new(struct rolling_op *op, size_t at)
{
	struct read *read = mem_alloc(sizeof(*read));

	*read = (struct read){op, at};
	op->pending++;
	return read;
}

static void on_drain(void *arg, const struct store_reply *reply)
{
	size_t at;
	struct rolling_op *op = answered(arg, reply, &at);

	if (!op)
		return;
	op->view.slots[at].drain_there = reply->code == STORE_OK;
	read_more(op);
}

static void on_slot(void *arg, const struct store_reply *reply)
{
	size_t at;
	struct rolling_op *op = answered(arg, reply, &at);
	const char *why = "";
	char path[STORE_PATH_MAX];

	if (!op)
		return;
	struct rolling_held *h = &op->view.slots[at];
	if (reply->code == STORE_OK) {
		h->version = reply->stat.version;
		h->known = record_parse_rolling_slot(reply->data, reply->len, &h->slot, &why) == 0;
		if (!h->known) {
			(void)path_of_slot(op->rolling->registry->settings, op->ask.group, h->node,
					   path);
			log_warning("slot of a rolling restart not understood",
				    LOG_STR("znode", path), LOG_STR("why", why));
		}
	}
	if (h->known && op->ask.order != ROLLING_STATUS && op->ask.order != ROLLING_OWN) {
		path_of(op->rolling->registry->settings, PATH_POLICY, h->slot.drain, path);
		store_exists(op->rolling->session->store, path, false, on_drain, read_new(op, at));
	}
	read_more(op);
}

static void on_waiter(void *arg, const struct store_reply *reply)
{
	size_t at;
	struct rolling_op *op = answered(arg, reply, &at);
	const char *why;

	if (!op)
		return;
	if (reply->code == STORE_OK)
		record_parse_rolling_waiter(reply->data, reply->len, &op->view.waiting[at].waiter,
					    &why);
	read_more(op);
}

static void read_slot(struct rolling_op *op, size_t at)
{
	char path[STORE_PATH_MAX];

	if (!wants_slot(op, &op->view.slots[at]) ||
	    !path_of_slot(op->rolling->registry->settings, op->ask.group, op->view.slots[at].node,
			  path))
		return;
	store_get(op->rolling->session->store, path, false, on_slot, read_new(op, at));
}

static void read_waiter(struct rolling_op *op, size_t at)
{
	char path[STORE_PATH_MAX];

	if (op->ask.order != ROLLING_STATUS)
		return;
	path_of_rolling(op->rolling->registry->settings, op->ask.group, "waiting",
			op->view.waiting[at].name, path);
	store_get(op->rolling->session->store, path, false, on_waiter, read_new(op, at));
}

static void read_more(struct rolling_op *op)
{
	const struct rolling_view *v = &op->view;

	for (; !op->broken && !op->refused && op->at < v->n_slots + v->n_waiting &&
	       op->pending < READS_MAX;
	     op->at++) {
		if (op->at < v->n_slots)
			read_slot(op, op->at);
		else
			read_waiter(op, op->at - v->n_slots);
	}
	if (op->pending > 0)
		return;
	if (op->refused)
		rolling_tell(op, ROLLING_REFUSED, op->refused, NULL);
	else if (!op->broken) /* after a cut it continues once the session is up */
		rolling_decide(op);
}

/* --- the group ------------------------------------------------------------ */

static void on_group(void *arg, const struct store_reply *reply)
{
	size_t at;
	struct rolling_op *op = answered(arg, reply, &at);
	char path[STORE_PATH_MAX];
	const char *why;

	if (!op)
		return;
	struct rolling_view *v = &op->view;
	v->exists = reply->code == STORE_OK;
	v->version = reply->stat.version;
	if (v->exists &&
	    record_parse_rolling_group(reply->data, reply->len, &v->group, &why) != 0) {
		path_of_rolling(op->rolling->registry->settings, op->ask.group, NULL, NULL, path);
		log_warning("group of a rolling restart not understood", LOG_STR("znode", path),
			    LOG_STR("why", why));
		v->foreign = op->ask.order == ROLLING_RELEASE;
		op->refused = v->foreign ? NULL : foreign;
	}
	if (op->pending == 0)
		read_more(op);
}

static void on_slots(void *arg, const struct store_reply *reply)
{
	size_t at;
	struct rolling_op *op = answered(arg, reply, &at);

	if (!op)
		return;
	op->no_slots = reply->code == STORE_NO_NODE;
	if (reply->code == STORE_OK)
		take_slots(&op->view, reply);
	if (op->pending == 0)
		read_more(op);
}

static void on_waiting(void *arg, const struct store_reply *reply)
{
	size_t at;
	struct rolling_op *op = answered(arg, reply, &at);

	if (!op)
		return;
	op->no_waiting = reply->code == STORE_NO_NODE;
	if (reply->code == STORE_OK)
		take_waiting(&op->view, reply);
	if (op->pending == 0)
		read_more(op);
}

/*
 * Reads the group as it is now. A server may lag behind, so a write on the same connection precedes
 * the read. The group is read first: any later change gives it another version.
 */
void rolling_look(struct rolling_op *op)
{
	struct session *s = op->rolling->session;
	const struct node_settings *settings = op->rolling->registry->settings;
	char group[STORE_PATH_MAX], slots[STORE_PATH_MAX], waiting[STORE_PATH_MAX];

	op->retry_ms = 0;
	op->again = op->broken = op->no_slots = op->no_waiting = false;
	rolling_unwatch(op);
	op->refused = NULL;
	op->at = 0;
	rolling_view_done(&op->view);
	if (!session_is_up(s))
		return;
	path_of_rolling(settings, op->ask.group, NULL, NULL, group);
	path_of_rolling(settings, op->ask.group, "slots", NULL, slots);
	path_of_rolling(settings, op->ask.group, "waiting", NULL, waiting);
	session_confirm(s);
	store_get(s->store, group, false, on_group, read_new(op, 0));
	store_children(s->store, slots, false, on_slots, read_new(op, 0));
	store_children(s->store, waiting, false, on_waiting, read_new(op, 0));
}

/* --- the groups ----------------------------------------------------------- */

struct groups_read {
	rolling_groups_fn fn;
	void *arg;
};

static void on_groups(void *arg, const struct store_reply *reply)
{
	struct groups_read *l = arg;
	bool known = reply->code == STORE_OK || reply->code == STORE_NO_NODE;
	size_t n = reply->code == STORE_OK ? reply->n_names : 0;
	char **sorted = names_sorted(reply->names, n);

	l->fn(l->arg, known ? sorted : NULL, n);
	free(sorted);
	free(l);
}

void rolling_groups(struct rolling *r, rolling_groups_fn fn, void *arg)
{
	struct groups_read *l = mem_alloc(sizeof(*l));
	char path[STORE_PATH_MAX];

	*l = (struct groups_read){fn, arg};
	path_of(r->registry->settings, PATH_ROLLING, NULL, path);
	store_children(r->session->store, path, false, on_groups, l);
}
