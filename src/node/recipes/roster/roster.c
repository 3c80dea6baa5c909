#include "node/recipes/roster/roster.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "core/fleet/identity.h"
#include "node/recipes/roster/roster_write.h"
#include "node/tree/paths.h"

#define RETRY_MS     100   /* after a transaction that did not hold */
#define RETRY_MAX_MS 30000 /* after many refusals in a row */

struct roster_ask {
	TAILQ_ENTRY(roster_ask) link;
	bool forgets; /* forgets a node; false: lists */
	char text[WORKER_NODE_MAX + 1];
	uint64_t round; /* the reading that is new enough for this request */
	bool sent, unknown;
	int64_t deadline_ms;
	roster_fn fn;
	void *arg;
};

/* --- members -------------------------------------------------------------- */

static const struct member *find_member(const struct roster *r, const char *node)
{
	const struct fleet *f = &r->registry->fleet;

	for (size_t i = 0; i < f->n_members; i++)
		if (strcmp(f->by_id[i]->worker->node, node) == 0)
			return f->by_id[i];
	return NULL;
}

bool roster_is_assigner(const struct roster *r)
{
	const struct fleet *f = &r->registry->fleet;
	const struct member *self = registry_self(r->registry);

	if (!self || !registry_settled(r->registry))
		return false;
	for (size_t i = 0; i < f->n_members; i++)
		if (f->by_id[i]->worker->scheme > 0)
			return f->by_id[i] == self;
	return false;
}

/* --- telling -------------------------------------------------------------- */

static void tell(struct roster *r, struct roster_ask *ask, enum roster_result result)
{
	TAILQ_REMOVE(&r->asks, ask, link);
	ask->fn(ask->arg, result);
	free(ask);
}

/* Whether the requester still waits. */
static bool waits(const struct roster *r, const struct roster_ask *ask)
{
	for (const struct roster_ask *a = TAILQ_FIRST(&r->asks); a; a = TAILQ_NEXT(a, link))
		if (a == ask)
			return true;
	return false;
}

void roster_written(struct roster *r, struct roster_ask *ask, enum store_code code)
{
	if (!waits(r, ask))
		return;
	ask->sent = false;
	ask->unknown |= store_is_lost(code);
	if (code == STORE_OK)
		tell(r, ask, ROSTER_DONE);
}

/* --- giving numbers out --------------------------------------------------- */

static void add_change(struct roster_change *c, enum roster_change_kind what, const char *node,
		       const struct roster_record *record)
{
	memcpy(c->list[c->n].node, node, strlen(node));
	c->list[c->n].record = *record;
	c->list[c->n++].what = what;
}

static bool *used_numbers(const struct roster *r)
{
	bool *used = mem_calloc(r->n + ROSTER_CHANGES_MAX + 1, sizeof(*used));

	for (size_t i = 0; i < r->n; i++) {
		int64_t index = r->entries[i].record.index;
		if (index >= 0 && index < (int64_t)(r->n + ROSTER_CHANGES_MAX))
			used[index] = true;
	}
	return used;
}

/*
 * Whether the node has no number in this change yet: a node may have two registrations for a
 * moment.
 */
static bool is_new(const struct roster_change *c, const char *node)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->list[i].node, node) == 0)
			return false;
	return true;
}

/*
 * from: the next number to give, if smaller ones may be taken; -1: the smallest free one is given.
 */
static void number(struct roster_change *c, const struct worker *w, bool *used, int64_t *from)
{
	struct roster *r = c->roster;
	struct roster_record record = {.since = host_wall_ms(r->session->host)};
	char path[STORE_PATH_MAX];

	if (!is_new(c, w->node) || !path_of_node(r->registry->settings, w->node, path))
		return;
	if (r->n + c->n >= ROSTER_MAX || *from > ROSTER_INDEX_MAX) {
		if (!r->full)
			log_warning("roster full", LOG_STR("node", w->node));
		r->full = true;
		return;
	}
	if (*from >= 0) {
		record.index = (*from)++;
	} else {
		while (used[record.index])
			record.index++;
		used[record.index] = true;
	}
	memcpy(record.hostname, w->hostname, sizeof(record.hostname));
	add_change(c, ROSTER_NUMBER, w->node, &record);
}

static void mark_members(const struct roster *r)
{
	const struct fleet *f = &r->registry->fleet;

	for (size_t i = 0; i < r->n; i++)
		r->entries[i].there = false;
	for (size_t i = 0; i < f->n_members; i++) {
		struct roster_entry *e = roster_find(r, f->by_id[i]->worker->node);
		if (e)
			e->there = true;
	}
}

/* Notes the members: a new node gets a number, a returned one keeps its own. */
static void note_members(struct roster_change *c, bool *used)
{
	const struct fleet *f = &c->roster->registry->fleet;
	int64_t from = roster_untouched(c->roster);

	for (size_t i = 0; i < f->n_members && c->n < ROSTER_CHANGES_MAX; i++) {
		const struct worker *w = f->by_id[i]->worker;
		struct roster_entry *e = roster_find(c->roster, w->node);
		if (w->node[0] == '\0')
			continue;
		if (!e && !f->by_id[i]->twin)
			number(c, w, used, &from);
		if (!e || e->unread || !e->record.departed || !is_new(c, w->node))
			continue;
		struct roster_record back = e->record;
		back.departed = 0;
		memcpy(back.hostname, w->hostname, sizeof(back.hostname));
		add_change(c, ROSTER_NOTE, w->node, &back);
	}
}

/* Notes absent nodes; returns the CLOCK_BOOTTIME at which the next one is due, or INT64_MAX. */
static int64_t note_absences(struct roster_change *c)
{
	struct roster *r = c->roster;
	int64_t now = host_now_ms(r->session->host), next = INT64_MAX;

	for (size_t i = 0; i < r->n && c->n < ROSTER_CHANGES_MAX; i++) {
		struct roster_entry *e = &r->entries[i];
		if (e->there)
			e->absent_ms = 0;
		if (e->unread || e->record.departed || e->there)
			continue;
		if (e->absent_ms == 0)
			e->absent_ms = now;
		if (e->absent_ms + ROSTER_ABSENT_MS > now) {
			if (e->absent_ms + ROSTER_ABSENT_MS < next)
				next = e->absent_ms + ROSTER_ABSENT_MS;
			continue;
		}
		struct roster_record gone = e->record;
		gone.departed = host_wall_ms(r->session->host);
		add_change(c, ROSTER_NOTE, e->node, &gone);
	}
	return next;
}

static void on_made(void *arg, const struct store_reply *reply)
{
	struct roster *r = arg;

	r->writing = false;
	r->ready = false;
	if (reply->code == STORE_OK || reply->code == STORE_NODE_EXISTS)
		roster_go_on(r);
}

/* Makes a change, if one is due. Returns when the next one is due; INT64_MAX: none. */
static int64_t assign(struct roster *r)
{
	char path[STORE_PATH_MAX];

	if (r->version < 0) {
		path_of(r->registry->settings, PATH_ROSTER, NULL, path);
		r->writing = true;
		store_create(r->session->store, path, on_made, r);
		return INT64_MAX;
	}
	struct roster_change *c = roster_change_new(r, NULL);
	mem_auto bool *used = used_numbers(r);
	mark_members(r);
	note_members(c, used);
	int64_t next = note_absences(c);
	if (c->n > 0) {
		roster_change_write(c);
	} else {
		r->refusals = 0;
		free(c);
	}
	return next;
}

/* --- requests ------------------------------------------------------------- */

/* Finds the only entry that the text means. If there is none, ret_result tells why. */
static struct roster_entry *meant(const struct roster *r, const char *text,
				  enum roster_result *ret_result)
{
	struct roster_entry *found = roster_find(r, text);
	size_t n = found ? 1 : 0;

	for (size_t i = 0; n == 0 && i < r->n; i++) {
		if (!identity_means(r->entries[i].node, text, strlen(text)))
			continue;
		*ret_result = found ? ROSTER_SEVERAL : ROSTER_NOT_KNOWN;
		if (found)
			return NULL;
		found = &r->entries[i];
	}
	*ret_result = ROSTER_NOT_KNOWN;
	return found;
}

static void forget(struct roster *r, struct roster_ask *ask)
{
	enum roster_result result;
	struct roster_entry *e = meant(r, ask->text, &result);

	if (!e) {
		bool done = ask->unknown && result == ROSTER_NOT_KNOWN;
		tell(r, ask, done ? ROSTER_DONE : result);
		return;
	}
	/* An entry that cannot be read serves nobody: a node that is there gets another. */
	if (!e->unread && find_member(r, e->node)) {
		tell(r, ask, ROSTER_THERE);
		return;
	}
	if (!e->unread && !e->record.departed)
		return; /* the first in rank is about to note it */
	struct roster_change *c = roster_change_new(r, ask);
	add_change(c, ROSTER_FORGET, e->node, &e->record);
	ask->sent = true;
	roster_change_write(c);
}

/* Whether the fleet is known as of this reading, or later. */
static bool is_fresh(const struct roster *r)
{
	return r->registry->workers.lists >= r->lists;
}

/* Answers the requests for which this reading is new enough. */
static void answer(struct roster *r)
{
	for (struct roster_ask *ask = TAILQ_FIRST(&r->asks), *next; ask && !r->writing;
	     ask = next) {
		next = TAILQ_NEXT(ask, link);
		if (ask->round > r->round)
			continue;
		if (!ask->forgets)
			tell(r, ask, ROSTER_DONE);
		else if (is_fresh(r) && registry_settled(r->registry) && registry_self(r->registry))
			forget(r, ask);
	}
}

static bool asks_for_more(const struct roster *r)
{
	for (const struct roster_ask *ask = TAILQ_FIRST(&r->asks); ask; ask = TAILQ_NEXT(ask, link))
		if (ask->round > r->round)
			return true;
	return false;
}

/* Stops watching: other nodes make the changes, so what was read goes out of date. */
static void roster_unwatch(struct roster *r)
{
	char path[STORE_PATH_MAX];

	path_of(r->registry->settings, PATH_ROSTER, NULL, path);
	watches_drop(&r->session->watches, path, WATCH_NODE, r);
	r->ready = false;
}

/* Takes one step. Returns the time of the next one; INT64_MAX: none. */
static int64_t work(struct roster *r)
{
	if (!session_is_up(r->session) || !r->session->registration[0] || r->reading || r->writing)
		return INT64_MAX;
	if (r->ready)
		answer(r);
	if (r->writing || (r->ready && !is_fresh(r)))
		return INT64_MAX;
	if (TAILQ_EMPTY(&r->asks) && !roster_is_assigner(r)) {
		roster_unwatch(r);
		return INT64_MAX;
	}
	if (r->ready && !asks_for_more(r))
		return roster_is_assigner(r) ? assign(r) : INT64_MAX;
	roster_read(r);
	return INT64_MAX;
}

void roster_go_on(struct roster *r)
{
	int64_t now = host_now_ms(r->session->host), next = work(r);

	for (const struct roster_ask *ask = TAILQ_FIRST(&r->asks); ask; ask = TAILQ_NEXT(ask, link))
		if (ask->deadline_ms < next)
			next = ask->deadline_ms;
	if (next == INT64_MAX)
		host_timer_stop(&r->due);
	else
		host_timer_start(&r->due, next > now ? next - now : 0);
}

void roster_retry(struct roster *r, bool refused)
{
	unsigned twice = refused ? r->refusals++ : 0;
	int64_t ms = twice < 10 ? (int64_t)RETRY_MS << twice : RETRY_MAX_MS;

	host_timer_start(&r->due, ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS);
}

static enum roster_result too_late(const struct roster *r, const struct roster_ask *ask)
{
	bool waited = ask->forgets && r->ready && !ask->sent && !ask->unknown;

	return waited ? ROSTER_JUST_GONE : ROSTER_UNKNOWN;
}

static void on_due(void *arg)
{
	struct roster *r = arg;
	int64_t now = host_now_ms(r->session->host);

	for (struct roster_ask *ask = TAILQ_FIRST(&r->asks), *next; ask; ask = next) {
		next = TAILQ_NEXT(ask, link);
		if (ask->deadline_ms <= now)
			tell(r, ask, too_late(r, ask));
	}
	roster_go_on(r);
}

static void ask_roster(struct roster *r, const struct roster_ask *what)
{
	struct roster_ask *ask = mem_alloc(sizeof(*ask));

	if (!session_is_up(r->session)) {
		free(ask);
		what->fn(what->arg, ROSTER_UNKNOWN);
		return;
	}
	*ask = *what;
	ask->round = r->round + 1;
	ask->deadline_ms = host_now_ms(r->session->host) + ROSTER_WAIT_MS;
	TAILQ_INSERT_TAIL(&r->asks, ask, link);
	roster_go_on(r);
}

void roster_list(struct roster *r, roster_fn fn, void *arg)
{
	ask_roster(r, &(struct roster_ask){.fn = fn, .arg = arg});
}

void roster_forget(struct roster *r, const char *text, size_t len, roster_fn fn, void *arg)
{
	struct roster_ask ask = {.forgets = true, .fn = fn, .arg = arg};

	if (len > WORKER_NODE_MAX) {
		fn(arg, ROSTER_NOT_KNOWN);
		return;
	}
	memcpy(ask.text, text, len);
	ask_roster(r, &ask);
}

/* --- from outside --------------------------------------------------------- */

void roster_watch(struct roster *r, const char *path)
{
	char own[STORE_PATH_MAX];

	path_of(r->registry->settings, PATH_ROSTER, NULL, own);
	if (strcmp(path, own) != 0 || r->writing)
		return; /* the change was made here: its answer follows */
	r->ready = false;
	r->changed = true;
	roster_go_on(r);
}

void roster_expired(struct roster *r)
{
	r->ready = false;
}

void roster_init(struct roster *r, struct session *session, struct registry *registry)
{
	*r = (struct roster){.session = session, .registry = registry, .version = -1, .given = -1};
	TAILQ_INIT(&r->asks);
	host_timer_init(&r->due, session->host, on_due, r);
}

void roster_done(struct roster *r)
{
	while (!TAILQ_EMPTY(&r->asks))
		tell(r, TAILQ_FIRST(&r->asks), ROSTER_UNKNOWN);
	host_timer_done(&r->due);
	roster_read_done(r);
	free(r->entries);
}
