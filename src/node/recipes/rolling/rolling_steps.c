/* Decides the next step from a group as it was read: a transaction, or waiting. */
#include <stdio.h>
#include <string.h>

#include "node/recipes/rolling/rolling_deed.h"
#include "node/tree/paths.h"

struct rolling_held *rolling_find(const struct rolling_view *v, const char *node)
{
	for (size_t i = 0; i < v->n_slots; i++)
		if (strcmp(v->slots[i].node, node) == 0)
			return &v->slots[i];
	return NULL;
}

/* --- waiting -------------------------------------------------------------- */

static void on_armed(void *arg, const struct store_reply *reply)
{
	struct rolling_op *op = arg;
	char group[STORE_PATH_MAX];

	if (!rolling_answered(op) || store_is_lost(reply->code))
		return;
	path_of_rolling(op->rolling->registry->settings, op->ask.group, NULL, NULL, group);
	bool same = reply->code == STORE_OK &&
		    (strcmp(op->watched, group) != 0 || reply->stat.version == op->view.version);
	if (!same || op->again || op->retry_ms > 0)
		rolling_retry(op, 0);
	else
		op->tries = 0;
}

/* Waits for a change of that node. A change of the group counts from when it was read. */
static void wait_for(struct rolling_op *op, const char *path)
{
	if (strcmp(op->watched, path) != 0)
		rolling_unwatch(op);
	snprintf(op->watched, sizeof(op->watched), "%s", path);
	op->pending++;
	watches_exists(&op->rolling->session->watches, op->watched, WATCH_RECIPE, op, on_armed, op);
}

/* --- taking a slot -------------------------------------------------------- */

static void on_folder(void *arg, const struct store_reply *reply)
{
	struct rolling_op *op = arg;

	if (store_is_refusal(reply->code))
		op->no_folder = reply->code; /* the folder may exist: the next read tells */
	if (rolling_answered(op) && op->pending == 0)
		rolling_retry(op, 0);
}

static void make_folder(struct rolling_op *op, const char *folder)
{
	char path[STORE_PATH_MAX];

	path_of_rolling(op->rolling->registry->settings, op->ask.group, folder, NULL, path);
	op->pending++;
	store_create(op->rolling->session->store, path, on_folder, op);
}

/* Makes the group with its folders; another node may do so, too. */
static void make_group(struct rolling_op *op)
{
	const struct rolling_group group = {.max_unavailable = op->ask.max_unavailable};
	const struct node_settings *settings = op->rolling->registry->settings;
	char path[STORE_PATH_MAX];
	struct rolling_deed d;

	if (++op->tries > ROLLING_TRIES_MAX) {
		rolling_tell(op, ROLLING_REFUSED,
			     op->no_folder == STORE_FULL ? store_refused_why(STORE_FULL)
							 : "the group's znodes cannot be made",
			     NULL);
		return;
	}
	if (op->view.exists) {
		make_folder(op, "slots");
		make_folder(op, "waiting");
		return;
	}
	path_of(settings, PATH_ROLLING, NULL, path);
	op->pending++;
	store_create(op->rolling->session->store, path, on_folder, op);
	rolling_deed_begin(&d, op, 3);
	struct buffer *b = rolling_deed_add_data(&d);
	path_of_rolling(settings, op->ask.group, NULL, NULL,
			rolling_deed_add(&d, STORE_OP_CREATE, 0));
	rolling_deed_set_data(&d, b, record_pack_rolling_group(b, &group));
	path_of_rolling(settings, op->ask.group, "slots", NULL,
			rolling_deed_add(&d, STORE_OP_CREATE, 0));
	path_of_rolling(settings, op->ask.group, "waiting", NULL,
			rolling_deed_add(&d, STORE_OP_CREATE, 0));
	rolling_deed_send(&d, false);
}

static void enqueue(struct rolling_op *op)
{
	const struct registry *r = op->rolling->registry;
	struct rolling_waiter w = {.since = host_wall_ms(op->rolling->session->host)};
	char session[ROLLING_SESSION_SIZE], name[ROLLING_SESSION_SIZE + NAME_ID_MAX + 2];
	struct rolling_deed d;

	memcpy(w.node, r->node, sizeof(w.node));
	rolling_deed_begin(&d, op, 1);
	struct buffer *b = rolling_deed_add_data(&d);
	rolling_session_name(op->rolling->session, session);
	snprintf(name, sizeof(name), "%s%s-", session, op->id);
	path_of_rolling(r->settings, op->ask.group, "waiting", name,
			rolling_deed_add(&d, STORE_OP_CREATE_SEQUENTIAL, 0));
	rolling_deed_set_data(&d, b, record_pack_rolling_waiter(b, &w));
	rolling_deed_send(&d, false);
}

static void leave_queue(struct rolling_deed *d, const struct rolling_queued *q)
{
	struct rolling_op *op = d->op;

	path_of_rolling(op->rolling->registry->settings, op->ask.group, "waiting", q->name,
			rolling_deed_add(d, STORE_OP_DELETE, -1));
}

/* Takes the slot, makes the drain, and leaves the queue; q: NULL if not queued. */
static void acquire(struct rolling_op *op, const struct rolling_queued *q)
{
	const struct registry *r = op->rolling->registry;
	const struct rolling_group group = {.max_unavailable = op->ask.max_unavailable};
	struct rolling_slot slot = {.state = ROLLING_DRAINING,
				    .since = host_wall_ms(op->rolling->session->host),
				    .exit_status = -1};
	char path[STORE_PATH_MAX];
	struct rolling_deed d;

	if (!path_of_slot(r->settings, op->ask.group, r->node, path)) {
		rolling_tell(op, ROLLING_REFUSED, "the node's name is too long: set the key node",
			     NULL);
		return;
	}
	memcpy(slot.id, op->id, sizeof(slot.id));
	memcpy(slot.drain, op->drain, sizeof(slot.drain));
	memcpy(slot.node, r->node, sizeof(slot.node));
	memcpy(slot.machine, r->machine, sizeof(slot.machine));
	memcpy(slot.boot_id, op->ask.boot_id, sizeof(slot.boot_id));
	memcpy(slot.process, op->ask.process, sizeof(slot.process));
	memcpy(slot.by, op->ask.by, sizeof(slot.by));
	memcpy(slot.host, r->hostname, sizeof(slot.host));
	rolling_deed_begin(&d, op, 4);
	rolling_deed_set_group(&d, &group);
	rolling_deed_put_slot(&d, &slot, NULL);
	rolling_deed_put_drain(&d, &slot);
	if (q)
		leave_queue(&d, q);
	rolling_deed_send(&d, true);
}

/* Removes what the order has made: its place in the queue, and `slot`; NULL: not that. */
static void give_up(struct rolling_op *op, const struct rolling_held *slot,
		    const struct rolling_queued *q)
{
	struct rolling_deed d;

	rolling_deed_begin(&d, op, 4);
	if (slot) {
		rolling_deed_set_group(&d, &op->view.group);
		rolling_deed_drop_slot(&d, slot);
	}
	if (q)
		leave_queue(&d, q);
	rolling_deed_send(&d, slot != NULL);
}

/* --- the slot of this node ------------------------------------------------ */

static bool is_done(const struct rolling_slot *s, const struct rolling_request *r)
{
	return s->state == r->state && strcmp(s->process, r->process) == 0 &&
	       (r->exit_status < 0 || r->exit_status == s->exit_status);
}

/* Makes the slot's drain again: an older sidecar's undrain has ended it. */
static void drain_again(struct rolling_op *op, const struct rolling_held *own)
{
	struct rolling_deed d;

	rolling_deed_begin(&d, op, 3);
	rolling_deed_set_group(&d, &op->view.group);
	rolling_deed_put_slot(&d, &own->slot, own);
	rolling_deed_put_drain(&d, &own->slot);
	rolling_deed_send(&d, false);
}

static void write_state(struct rolling_op *op, const struct rolling_held *own)
{
	const struct rolling_request *r = &op->ask;
	struct rolling_group group = op->view.group;
	struct rolling_slot slot = own->slot;
	bool fails = r->state == ROLLING_FAILED;
	struct rolling_deed d;

	slot.state = r->state;
	memcpy(slot.process, r->process, sizeof(slot.process));
	if (r->exit_status >= 0)
		slot.exit_status = r->exit_status;
	if (fails)
		memcpy(slot.drain, op->drain, sizeof(slot.drain));
	rolling_deed_begin(&d, op, 4);
	if (fails && group.halted_since == 0) {
		group.halted_since = host_wall_ms(op->rolling->session->host);
		memcpy(group.halted_node, slot.node, sizeof(group.halted_node));
		snprintf(group.halted_why, sizeof(group.halted_why), "CMD failed with status %d",
			 (int)slot.exit_status);
		notice_init(op->rolling->registry, &d.event, NOTICE_HALTED, "");
		d.event.exit_status = slot.exit_status;
		d.has_event = true;
		snprintf(d.event.text, sizeof(d.event.text),
			 "the rolling restart %s is halted by %.150s: %.100s", op->ask.group,
			 slot.node, group.halted_why);
	}
	rolling_deed_set_group(&d, &group);
	rolling_deed_put_slot(&d, &slot, own);
	if (fails) {
		rolling_deed_drop_drain(&d, own);
		rolling_deed_put_drain(&d, &slot);
	}
	rolling_deed_send(&d, true);
}

static void free_slot(struct rolling_op *op, const struct rolling_held *own)
{
	struct rolling_deed d;

	rolling_deed_begin(&d, op, 3);
	rolling_deed_set_group(&d, &op->view.group);
	rolling_deed_drop_slot(&d, own);
	rolling_deed_send(&d, true);
}

/* --- the next step -------------------------------------------------------- */

static void see_own(const struct rolling_op *op, const struct rolling_held *own,
		    struct rolling_own *ret)
{
	const struct registry *r = op->rolling->registry;
	const struct rolling_request *ask = &op->ask;
	const struct rolling_slot *s = &own->slot;

	*ret = (struct rolling_own){.there = true, .known = own->known};
	if (!own->known)
		return;
	ret->others = strcmp(s->machine, r->machine) != 0;
	ret->taken = strcmp(s->id, op->id) == 0;
	ret->asked = strcmp(s->id, ask->slot) == 0;
	ret->handled =
		strcmp(s->process, ask->before) == 0 || strcmp(s->process, ask->process) == 0;
	ret->is_done = is_done(s, ask);
	ret->booted = strcmp(s->boot_id, ask->boot_id) != 0;
	ret->drained = own->drain_there;
	ret->state = s->state;
}

static struct rolling_seen see(struct rolling_op *op, const struct rolling_held *own)
{
	const struct rolling_handlers *h = &op->rolling->handlers;
	const struct member *self = registry_self(op->rolling->registry);
	const struct rolling_view *v = &op->view;
	struct rolling_seen seen = {.order = op->ask.order,
				    .leaving = op->leaving,
				    .registered = self != NULL,
				    .twin = self && self->twin,
				    .made = v->exists && !op->no_slots && !op->no_waiting,
				    .halted = v->group.halted_since > 0,
				    .other_k = v->group.max_unavailable != op->ask.max_unavailable,
				    .slots = v->n_slots,
				    .k = (size_t)op->ask.max_unavailable,
				    .waiting = v->n_waiting,
				    .to = op->ask.state,
				    .sent = op->sent};
	size_t leads, jobs;

	while (seen.place < v->n_waiting && !rolling_is_queued(op, v->waiting[seen.place].name))
		seen.place++;
	if (own)
		see_own(op, own, &seen.own);
	seen.own.others &= seen.twin;
	if (op->ask.order == ROLLING_ADVANCE && seen.own.known)
		seen.idle = h->idle(h->arg, own->slot.drain, &leads, &jobs);
	if (op->ask.order == ROLLING_FREE)
		seen.soaked = rolling_is_soaked(op);
	return seen;
}

/* Whether it is for other nodes' slots that a new one is not to be had at once. */
static bool waits_for_others(enum rolling_act act)
{
	return act == ROLLING_ENQUEUE || act == ROLLING_WAIT_GROUP || act == ROLLING_WAIT_BEFORE;
}

void rolling_decide(struct rolling_op *op)
{
	const struct node_settings *settings = op->rolling->registry->settings;
	const struct rolling_held *own = rolling_find(&op->view, op->rolling->registry->node);
	const struct rolling_queued *waiting = op->view.waiting;
	char path[STORE_PATH_MAX];

	if (op->ask.order == ROLLING_RELEASE) {
		rolling_release(op);
		return;
	}
	if (op->ask.order == ROLLING_RESUME) {
		rolling_resume(op);
		return;
	}
	struct rolling_seen seen = see(op, own);
	struct rolling_step step = rolling_step(&seen);
	const struct rolling_queued *q = seen.place < seen.waiting ? &waiting[seen.place] : NULL;

	op->looked |= waits_for_others(step.act);
	if (op->late && waits_for_others(step.act)) {
		rolling_tell(op, ROLLING_LATE, NULL, NULL);
		return;
	}
	switch (step.act) {
	case ROLLING_TELL:
		op->taken = op->ask.order == ROLLING_TAKE && step.shows && seen.own.taken;
		rolling_tell(op, step.result, step.why, step.shows ? &own->slot : NULL);
		return;
	case ROLLING_AGAIN: rolling_retry(op, ROLLING_RETRY_MS); return;
	case ROLLING_MAKE: make_group(op); return;
	case ROLLING_ENQUEUE: enqueue(op); return;
	case ROLLING_ACQUIRE: acquire(op, q); return;
	case ROLLING_WAIT_GROUP:
		path_of_rolling(settings, op->ask.group, NULL, NULL, path);
		wait_for(op, path);
		return;
	case ROLLING_WAIT_BEFORE:
		path_of_rolling(settings, op->ask.group, "waiting", waiting[seen.place - 1].name,
				path);
		wait_for(op, path);
		return;
	case ROLLING_WAIT_SLOT:
		path_of_slot(settings, op->ask.group, own->node, path);
		wait_for(op, path);
		return;
	case ROLLING_GIVE_UP: give_up(op, step.drops ? own : NULL, q); return;
	case ROLLING_DRAIN: drain_again(op, own); return;
	case ROLLING_WRITE: write_state(op, own); return;
	case ROLLING_FREE_IT: free_slot(op, own); return;
	case ROLLING_ACTS: return;
	}
}
