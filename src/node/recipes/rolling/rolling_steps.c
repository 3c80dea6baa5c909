/* Decides the next step from a group as it was read: a transaction, or waiting. */
#include <stdio.h>
#include <string.h>

#include "node/recipes/rolling/rolling_deed.h"
#include "node/tree/paths.h"

static const char twins[] = "another machine has this node's name: see zkleader status";
static const char bad_slot[] = "the record of the slot is not understood: see the sidecar's log";

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

	if (!rolling_answered(op) || reply->code == STORE_UNKNOWN || reply->code == STORE_ABANDONED)
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

/* Whether another node has a slot or waits for one. */
static bool has_others(const struct rolling_op *op)
{
	const struct rolling_view *v = &op->view;
	bool others = v->n_slots > 0;

	for (size_t i = 0; i < v->n_waiting; i++)
		others |= !rolling_is_queued(op, v->waiting[i].name);
	return others;
}

/*
 * The first in the queue watches the group, and each other one the entry before it. So a free slot
 * wakes only one node.
 */
static void queue_up(struct rolling_op *op)
{
	const struct rolling_view *v = &op->view;
	const struct node_settings *settings = op->rolling->registry->settings;
	bool room = v->n_slots < (size_t)op->ask.max_unavailable;
	char path[STORE_PATH_MAX];
	size_t place = 0;

	while (place < v->n_waiting && !rolling_is_queued(op, v->waiting[place].name))
		place++;
	if (room && v->n_waiting == 0) {
		acquire(op, NULL);
	} else if (place == v->n_waiting) {
		enqueue(op);
	} else if (room && place == 0) {
		acquire(op, &v->waiting[0]);
	} else {
		path_of_rolling(settings, op->ask.group, place == 0 ? NULL : "waiting",
				place == 0 ? NULL : v->waiting[place - 1].name, path);
		wait_for(op, path);
	}
}

/* Returns the slot that this node has already. */
static void take_own(struct rolling_op *op, const struct rolling_held *own)
{
	op->taken = own->known && strcmp(own->slot.id, op->id) == 0;
	if (!own->known)
		rolling_tell(op, ROLLING_REFUSED, bad_slot, NULL);
	else
		rolling_tell(op,
			     own->slot.state == ROLLING_FAILED ? ROLLING_HAS_FAILED : ROLLING_DONE,
			     NULL, &own->slot);
}

static void take(struct rolling_op *op, const struct rolling_held *own)
{
	const struct rolling_view *v = &op->view;
	const struct member *self = registry_self(op->rolling->registry);

	if (own)
		take_own(op, own);
	else if (!self)
		rolling_retry(op, ROLLING_RETRY_MS);
	else if (self->twin)
		rolling_tell(op, ROLLING_REFUSED, twins, NULL);
	else if (!v->exists || op->no_slots || op->no_waiting)
		make_group(op);
	else if (v->group.halted_since > 0)
		rolling_tell(op, ROLLING_HALTED, NULL, NULL);
	else if (v->group.max_unavailable != op->ask.max_unavailable && has_others(op))
		rolling_tell(op, ROLLING_OTHER_K, NULL, NULL);
	else
		queue_up(op);
}

/* The requester is gone, and CMD has not begun: removes all that the order has made. */
static void give_up(struct rolling_op *op, const struct rolling_held *own)
{
	const struct rolling_view *v = &op->view;
	const struct rolling_queued *q = NULL;
	struct rolling_deed d;

	for (size_t i = 0; i < v->n_waiting; i++)
		if (rolling_is_queued(op, v->waiting[i].name))
			q = &v->waiting[i];
	bool slot = own && own->known && strcmp(own->slot.id, op->id) == 0 &&
		    own->slot.state == ROLLING_DRAINING;
	if (!slot && !q) {
		rolling_tell(op, ROLLING_DONE, NULL, NULL);
		return;
	}
	rolling_deed_begin(&d, op, 4);
	if (slot) {
		rolling_deed_set_group(&d, &v->group);
		rolling_deed_drop_slot(&d, own);
	}
	if (q)
		leave_queue(&d, q);
	rolling_deed_send(&d, slot);
}

/* --- the slot of this node ------------------------------------------------ */

/* Whether CMD, or another boot, may change the slot to the requested state. */
static bool may_become(const struct rolling_slot *s, const struct rolling_request *r)
{
	static const bool allowed[ROLLING_STATES][ROLLING_STATES] = {
		[ROLLING_DRAINING] = {[ROLLING_DRAINING] = true, [ROLLING_RUNNING] = true},
		[ROLLING_RUNNING] = {[ROLLING_RUNNING] = true,
				     [ROLLING_SOAKING] = true,
				     [ROLLING_FAILED] = true},
	};
	bool ended = s->state == ROLLING_SOAKING || s->state == ROLLING_FAILED;

	return allowed[s->state][r->state] || (ended && r->state == s->state) ||
	       (s->state == ROLLING_DRAINING && r->state == ROLLING_SOAKING &&
		strcmp(s->boot_id, r->boot_id) != 0);
}

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

static void advance(struct rolling_op *op, const struct rolling_held *own)
{
	const struct rolling_handlers *h = &op->rolling->handlers;
	const struct rolling_request *r = &op->ask;
	const struct rolling_slot *s = own ? &own->slot : NULL;
	size_t leads, jobs;

	if (own && !own->known)
		rolling_tell(op, ROLLING_REFUSED, bad_slot, NULL);
	else if (!own || strcmp(s->id, r->slot) != 0)
		rolling_tell(op, ROLLING_NOTHING, NULL, NULL);
	else if (is_done(s, r))
		rolling_tell(op, ROLLING_DONE, NULL, s);
	else if ((strcmp(s->process, r->before) != 0 && strcmp(s->process, r->process) != 0) ||
		 !may_become(s, r))
		rolling_tell(op, ROLLING_CHANGED, NULL, s);
	else if (r->state == ROLLING_RUNNING && !own->drain_there)
		drain_again(op, own);
	else if (r->state == ROLLING_RUNNING && !h->idle(h->arg, s->drain, &leads, &jobs))
		rolling_tell(op, ROLLING_BUSY, NULL, s);
	else
		write_state(op, own);
}

static void own_freed(struct rolling_op *op, const struct rolling_held *own)
{
	char path[STORE_PATH_MAX];
	struct rolling_deed d;

	if (own && !own->known) {
		rolling_tell(op, ROLLING_REFUSED, bad_slot, NULL);
	} else if (!own || strcmp(own->slot.id, op->ask.slot) != 0) {
		rolling_tell(op, op->sent ? ROLLING_DONE : ROLLING_NOTHING, NULL, NULL);
	} else if (own->slot.state != ROLLING_SOAKING) {
		rolling_tell(op, ROLLING_CHANGED, NULL, &own->slot);
	} else if (!rolling_is_soaked(op)) {
		path_of_slot(op->rolling->registry->settings, op->ask.group, own->node, path);
		wait_for(op, path);
	} else {
		rolling_deed_begin(&d, op, 3);
		rolling_deed_set_group(&d, &op->view.group);
		rolling_deed_drop_slot(&d, own);
		rolling_deed_send(&d, true);
	}
}

/* Whether the slot belongs to a present machine that has this node's name, too. */
static bool is_twins(const struct rolling_op *op, const struct rolling_held *own)
{
	const struct registry *r = op->rolling->registry;
	const struct member *self = registry_self(r);

	return own && own->known && self && self->twin &&
	       strcmp(own->slot.machine, r->machine) != 0;
}

void rolling_decide(struct rolling_op *op)
{
	const struct rolling_held *own = rolling_find(&op->view, op->rolling->registry->node);
	bool acts = op->ask.order == ROLLING_TAKE || op->ask.order == ROLLING_OWN ||
		    op->ask.order == ROLLING_ADVANCE || op->ask.order == ROLLING_FREE;

	if (acts && !op->leaving && is_twins(op, own)) {
		rolling_tell(op, ROLLING_REFUSED, twins, NULL);
		return;
	}
	switch (op->ask.order) {
	case ROLLING_TAKE:
		if (op->leaving)
			give_up(op, own);
		else
			take(op, own);
		return;
	case ROLLING_OWN:
		if (own && !own->known)
			rolling_tell(op, ROLLING_REFUSED, bad_slot, NULL);
		else
			rolling_tell(op, own ? ROLLING_DONE : ROLLING_NOTHING, NULL,
				     own ? &own->slot : NULL);
		return;
	case ROLLING_ADVANCE: advance(op, own); return;
	case ROLLING_FREE: own_freed(op, own); return;
	case ROLLING_STATUS: rolling_tell(op, ROLLING_DONE, NULL, NULL); return;
	case ROLLING_RELEASE: rolling_release(op); return;
	case ROLLING_RESUME: rolling_resume(op); return;
	}
}
