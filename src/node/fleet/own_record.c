#include "node/fleet/own_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "core/fleet/rank.h"
#include "node/fleet/registration.h"
#include "node/session/id.h"
#include "wire/records/record.h"

static void describe_tasks(const struct registry_tasks *t, struct worker *w)
{
	worker_set_tasks(w, t->names, t->n);
	w->digests = mem_calloc(t->n + 1, sizeof(*w->digests));
	w->n_digests = t->n;
	if (t->n > 0)
		memcpy(w->digests, t->digests, t->n * sizeof(*w->digests));
	w->splits = mem_calloc(t->n_splits + 1, sizeof(*w->splits));
	w->n_splits = t->n_splits;
	w->knows_splits = true;
	if (t->n_splits > 0)
		memcpy(w->splits, t->splits, t->n_splits * sizeof(*w->splits));
	w->queues = mem_calloc(t->n_queues + 1, sizeof(*w->queues));
	w->n_queues = t->n_queues;
	if (t->n_queues > 0)
		memcpy(w->queues, t->queues, t->n_queues * sizeof(*w->queues));
	w->n_groups = t->groups ? t->n : 0;
	w->groups = names_copy(t->groups, w->n_groups);
	w->keys = names_copy(t->keys, w->n_keys = t->keys ? t->n : 0);
	w->n_renamed = t->n_renamed;
	w->renamed = names_copy(t->renamed, w->n_renamed);
}

/*
 * Names only tasks that the record lists, which bounds its length (worker_task_bytes()): health and
 * tasks are set one after the other, and may be of different versions of the files.
 */
static void describe_health(const struct registry *r, struct worker *w)
{
	char **names = mem_calloc(r->n_unhealthy + 1, sizeof(*names));
	size_t n = 0;

	w->sick = r->sick;
	for (size_t i = 0; i < r->n_unhealthy; i++)
		if (names_has(w->tasks, w->n_tasks, r->unhealthy[i]))
			names[n++] = mem_strdup(r->unhealthy[i]);
	worker_take_unhealthy(w, names, n);
}

/*
 * Names a list of what the worker lists, if that is long enough, and passes its bytes out. In a
 * fleet that knows lists the record says no more about it.
 */
static void name_list(const struct registry *r, struct worker *w, struct buffer *ret_list)
{
	size_t from = r->settings->lists_from > 0 ? r->settings->lists_from : LISTS_FROM;

	w->lists = true;
	if (r->lists.refused || record_pack_list(ret_list, w) != 0 || ret_list->len <= from) {
		buffer_clear(ret_list);
		return;
	}
	hash_digest(ret_list->data, ret_list->len, w->list);
	w->apart = !r->both;
}

struct worker *own_record(const struct registry *r, struct buffer *ret_list)
{
	struct worker *w = worker_new();

	if (r->maybe[0])
		memcpy(w->id, r->maybe, sizeof(w->id));
	else
		id_new(r->session->host, w->id);
	memcpy(w->version, r->version, sizeof(w->version));
	memcpy(w->ip, r->ip, sizeof(w->ip));
	memcpy(w->hostname, r->hostname, sizeof(w->hostname));
	memcpy(w->node, r->node, sizeof(w->node));
	memcpy(w->machine, r->machine, sizeof(w->machine));
	memcpy(w->random_ints, r->random_ints, sizeof(w->random_ints));
	w->started_at = r->started_at;
	w->timeout_ms = session_told_timeout(r->session);
	w->scheme = RANK_SCHEME;
	w->clock_offset_ms = r->clocks.offset_ms;
	w->clock_tolerance_ms = r->clocks.mute ? 0 : r->clocks.tolerance_ms;
	w->returned = r->was_there || r->id[0];
	describe_tasks(&r->tasks, w);
	describe_health(r, w);
	if (r->add_answers)
		r->add_answers(r->answers_arg, w);
	name_list(r, w, ret_list);
	return w;
}

bool own_record_is(const struct registry *r, const struct worker *w)
{
	struct buffer theirs, ours, list;

	buffer_init(&list, RECORD_LIST_MAX);
	struct worker *self = own_record(r, &list);
	memcpy(self->id, w->id, sizeof(self->id));
	self->returned = w->returned;
	self->clock_offset_ms =
		w->clock_offset_ms; /* measured again, and published if it has changed */
	if (self->list[0])
		self->apart = w->apart; /* the fleet is not known yet: the form may do */
	buffer_init(&theirs, RECORD_WORKER_MAX);
	buffer_init(&ours, RECORD_WORKER_MAX);
	bool same = record_pack_worker(&theirs, w) == 0 && record_pack_worker(&ours, self) == 0 &&
		    theirs.len == ours.len && memcmp(theirs.data, ours.data, ours.len) == 0;
	buffer_done(&theirs);
	buffer_done(&ours);
	buffer_done(&list);
	worker_free(self);
	return same;
}

bool own_record_same_tasks(const struct registry_tasks *a, const struct registry_tasks *b)
{
	if (a->n != b->n || a->n_splits != b->n_splits || a->n_queues != b->n_queues ||
	    !names_same(a->names, a->n, b->names, b->n) ||
	    !names_same(a->groups, a->groups ? a->n : 0, b->groups, b->groups ? b->n : 0) ||
	    !names_same(a->keys, a->keys ? a->n : 0, b->keys, b->keys ? b->n : 0) ||
	    !names_same(a->renamed, a->n_renamed, b->renamed, b->n_renamed))
		return false;
	if ((a->n > 0 && memcmp(a->digests, b->digests, a->n * sizeof(*a->digests)) != 0) ||
	    (a->n_queues > 0 &&
	     memcmp(a->queues, b->queues, a->n_queues * sizeof(*a->queues)) != 0))
		return false;
	return a->n_splits == 0 ||
	       memcmp(a->splits, b->splits, a->n_splits * sizeof(*a->splits)) == 0;
}

/* --- the form --------------------------------------------------------------- */

static bool is_mixed(const struct fleet *f)
{
	for (size_t i = 0; i < f->n_members; i++)
		if (!f->by_id[i]->worker->lists)
			return true;
	return false;
}

static void on_form(void *arg)
{
	struct registry *r = arg;

	if (is_mixed(&r->fleet) == r->both || !registry_self(r))
		return;
	r->both = !r->both;
	registration_send(r);
}

/*
 * The time until our turn to change the form of our record: the workers share a session timeout,
 * ordered by id. Leaving the names out waits one more, as a worker that needs them may come back.
 */
static int64_t turn_ms(const struct registry *r)
{
	const struct fleet *f = &r->fleet;
	int64_t timeout_ms = session_told_timeout(r->session), place = 0;

	while (f->by_id[place] != registry_self(r))
		place++;
	return place * timeout_ms / (int64_t)f->n_members + (r->both ? timeout_ms : 0);
}

void own_record_look(struct registry *r)
{
	const struct member *self = registry_self(r);
	bool mixed = is_mixed(&r->fleet);

	if (!self)
		return;
	if (mixed == r->both) {
		host_timer_stop(&r->form);
	} else if (!self->worker->list[0]) {
		r->both = mixed; /* the record is the same in both forms */
	} else if (!r->form_seen && mixed) {
		on_form(r);
	} else if (!host_timer_is_set(&r->form)) {
		host_timer_start(&r->form, turn_ms(r));
	}
	r->form_seen = true;
}

void own_record_init(struct registry *r)
{
	host_timer_init(&r->form, r->session->host, on_form, r);
}

void own_record_done(struct registry *r)
{
	host_timer_done(&r->form);
}
