/* As src/node/registry.c: our own registration, and the fleet as the others' make it. */
#include "sidecar.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define RETRY_MS      1000
#define LIST_EVERY_MS 100

struct record records[RECORDS_MAX];
static uint32_t n_records;

const char *const version_names[] = {"1.0",	"1.0.0", "1.1-SNAPSHOT", "1.1",
				     "2.0-rc1", "2.0",	 "2.1"};
const unsigned n_version_names = sizeof(version_names) / sizeof(version_names[0]);

static void list_workers(struct sidecar *s);

void registry_reset(void)
{
	n_records = 0;
}

/* --- records --------------------------------------------------------------------------------------------- */

static uint32_t record_new(const struct sidecar *s)
{
	uint32_t number = ++n_records % (RECORDS_MAX - 1) + 1;
	struct record *r = &records[number];

	snprintf(r->id, sizeof(r->id), "%016llx", (unsigned long long)random_bits());
	r->sidecar = s->id;
	r->version = s->version;
	memcpy(r->random_ints, s->random_ints, sizeof(r->random_ints));
	r->timeout_ms = s->lib.timeout_ms;
	r->tasks = s->tasks_mask;
	r->returned = s->was_there || s->self != 0;
	return number;
}

/* The number of its record goes where the real one has the time of its start. */
struct worker *worker_of(uint32_t number)
{
	const struct record *r = &records[number];
	struct worker *w = worker_new();
	const char *names[TASKS_MAX];
	size_t n = 0;

	snprintf(w->id, sizeof(w->id), "%s", r->id);
	snprintf(w->version, sizeof(w->version), "%s", version_names[r->version]);
	snprintf(w->ip, sizeof(w->ip), "10.0.0.%u", r->sidecar + 1);
	memcpy(w->random_ints, r->random_ints, sizeof(w->random_ints));
	w->timeout_ms = r->timeout_ms;
	w->returned = r->returned;
	w->started_at = number;
	for (unsigned k = 0; k < sim.n_tasks; k++)
		if (r->tasks >> k & 1)
			names[n++] = task_names[k];
	worker_set_tasks(w, names, n);
	return w;
}

static void add_member(struct sidecar *s, uint32_t record, int64_t session)
{
	struct member *m = fleet_add(&s->fleet, worker_of(record), session, sidecar_ms(s));

	if (!m)
		return;
	leaders_joined(s, m);
	s->dirty = true;
}

static void forget_member(struct sidecar *s, uint32_t record)
{
	const struct member *m = fleet_find(&s->fleet, records[record].id);

	if (!m)
		return;
	leaders_left(s, m);
	fleet_remove(&s->fleet, records[record].id);
	s->dirty = true;
}

static void tell_changes(struct sidecar *s)
{
	if (!s->dirty || !s->ready || s->reads_pending > 0)
		return;
	s->dirty = false;
	leaders_fleet_changed(s);
	keep_recover(s);
}

/* --- registering ----------------------------------------------------------------------------------------- */

static void send_registration(struct sidecar *s)
{
	struct request q = {.type = REQUEST_MULTI, .n_ops = 1};

	if ((s->state != SESSION_CONNECTED && s->state != SESSION_UP) || s->attempt) {
		s->again = true;
		return;
	}
	s->again = false;
	if (!s->self) {
		s->self = s->maybe;
		s->maybe = 0;
	}
	s->attempt = record_new(s);
	q.ops[0] = (struct op){OP_CREATE_WORKER, s->attempt, -1};
	if (s->self)
		q.ops[q.n_ops++] = (struct op){OP_DELETE_WORKER, s->self, -1};
	TRACE("sidecar %u registers%s", s->id, s->self ? " anew" : "");
	ask(s, &q, ASK_REGISTER);
}

static void on_registration(struct sidecar *s, const struct item *item)
{
	uint32_t record = s->attempt;

	s->attempt = 0;
	if (item->reply.code != CODE_OK)
		TRACE("sidecar %u: registration failed, code %d", s->id, (int)item->reply.code);
	switch (item->reply.code) {
	case CODE_OK:
		TRACE("sidecar %u is registered as %s", s->id, records[record].id);
		if (s->self)
			forget_member(s, s->self);
		s->self = record;
		s->maybe = 0;
		s->was_there = true;
		add_member(s, record, s->lib.session);
		s->registration = record;
		session_confirmed(s, item->asked.sent_ms);
		keep_session(s);
		tell_changes(s);
		if (s->again)
			send_registration(s);
		break;
	case CODE_UNKNOWN:
		s->maybe = record;
		s->again = true;
		timer_start(s, TIMER_REGISTER, RETRY_MS);
		break;
	case CODE_NO_NODE:
		/* The one to be replaced is not there: then it is the one we were unsure of. */
		s->self = s->maybe;
		s->maybe = 0;
		send_registration(s);
		break;
	case CODE_EXISTS:
	case CODE_BAD_VERSION:
	case CODE_MOVED: timer_start(s, TIMER_REGISTER, RETRY_MS); break;
	}
}

/* --- the others ------------------------------------------------------------------------------------------ */

static void read_record(struct sidecar *s, uint32_t record)
{
	struct request q = {.type = REQUEST_GET, .target = WATCH_WORKERS, .record = record};

	s->reads_pending++;
	ask(s, &q, ASK_RECORD);
}

/* Of several registrations whose outcome was unknown one may have been done and not be ours now. */
static void delete_orphan(struct sidecar *s, uint32_t record)
{
	struct request q = {
		.type = REQUEST_MULTI, .ops = {{OP_DELETE_WORKER, record, -1}}, .n_ops = 1};

	if (record != s->self && record != s->attempt)
		ask(s, &q, ASK_ORPHAN);
}

static void on_record(struct sidecar *s, const struct item *item)
{
	uint32_t record = item->asked.request.record;

	s->reads_pending--;
	if (item->reply.code == CODE_OK && item->reply.session == s->session &&
	    sim.options.plant != PLANT_ORPHAN)
		delete_orphan(s, record);
	else if (item->reply.code == CODE_OK)
		add_member(s, record, item->reply.session);
	if (item->reply.code != CODE_UNKNOWN && s->reads_pending == 0) {
		s->ready = true;
		tell_changes(s);
	}
}

static bool is_listed(const struct reply *reply, uint32_t record)
{
	for (size_t i = 0; i < reply->n_list; i++)
		if (reply->list[i] == record)
			return true;
	return false;
}

static void on_list(struct sidecar *s, const struct item *item)
{
	const struct reply *reply = &item->reply;

	s->listing = false;
	if (reply->code != CODE_OK)
		return;
	s->dirty = true;
	for (size_t i = s->fleet.n_members; i-- > 0;) {
		uint32_t record = (uint32_t)s->fleet.by_id[i]->worker->started_at;
		if (!is_listed(reply, record) && record != s->self)
			forget_member(s, record);
	}
	if (s->self && !is_listed(reply, s->self))
		session_confirm(s);
	for (size_t i = 0; i < reply->n_list; i++)
		if (!fleet_find(&s->fleet, records[reply->list[i]].id))
			read_record(s, reply->list[i]);
	if (s->reads_pending == 0) {
		s->ready = true;
		tell_changes(s);
	}
	if (s->list_again)
		list_workers(s);
}

static void list_workers(struct sidecar *s)
{
	struct request q = {.type = REQUEST_LIST, .watch = true};
	int64_t now = sidecar_ms(s);

	if (s->state != SESSION_UP)
		return;
	if (s->listing) {
		s->list_again = true;
		return;
	}
	if (now < s->listed_ms + LIST_EVERY_MS) {
		s->list_due = true;
		timer_start(s, TIMER_LIST, s->listed_ms + LIST_EVERY_MS - now);
		return;
	}
	s->list_again = s->list_due = false;
	s->listed_ms = now;
	s->listing = true;
	ask(s, &q, ASK_LIST);
}

bool registry_settled(const struct sidecar *s)
{
	return s->ready && !s->list_due && !s->listing && !s->list_again && s->reads_pending == 0;
}

/* --- from outside ----------------------------------------------------------------------------------------- */

void registry_publish(struct sidecar *s)
{
	if (s->running && (s->self || s->attempt))
		send_registration(s);
}

void registry_connected(struct sidecar *s)
{
	timer_stop(s, TIMER_REGISTER);
	if (!keep_look(s))
		send_registration(s);
}

void registry_go_on(struct sidecar *s)
{
	add_member(s, s->self, s->lib.session);
	s->registration = s->self;
	session_confirm(s);
}

void registry_publish_anew(struct sidecar *s)
{
	send_registration(s);
}

void registry_up(struct sidecar *s)
{
	s->list_again = s->list_due = false;
	s->listing = false;
	s->listed_ms = 0;
	list_workers(s);
	if (s->again)
		send_registration(s);
}

void registry_cut(struct sidecar *s)
{
	timer_stop(s, TIMER_LIST);
}

/* The library is closed next: what was asked is answered by nobody. */
void registry_expired(struct sidecar *s)
{
	s->self = s->maybe = s->attempt = s->found = 0;
	s->recovers = false;
	s->ready = false;
	s->reads_pending = 0;
	timer_stop(s, TIMER_LIST);
	timer_stop(s, TIMER_REGISTER);
}

void registry_watch(struct sidecar *s)
{
	list_workers(s);
}

void registry_timer(struct sidecar *s, enum timer timer)
{
	if (timer == TIMER_LIST)
		list_workers(s);
	else
		send_registration(s);
}

void registry_reply(struct sidecar *s, const struct item *item)
{
	if (item->asked.what == ASK_REGISTER)
		on_registration(s, item);
	else if (item->asked.what == ASK_LIST)
		on_list(s, item);
	else if (item->asked.what == ASK_RECORD)
		on_record(s, item);
}
