#include "node/recipes/party/barrier.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/recipes/party/barrier_parts.h"
#include "node/tree/paths.h"

static const char in_time[] = "the ZooKeeper servers did not answer in time";

/* --- members -------------------------------------------------------------- */

static struct barrier_member *member_find(const struct barrier *b, uint64_t id)
{
	for (struct barrier_member *m = b->members; m; m = m->next)
		if (m->id == id)
			return m;
	return NULL;
}

struct barrier_member *barrier_add(struct barrier *b, uint64_t id)
{
	struct barrier_member *m = mem_calloc(1, sizeof(*m)), **end = &b->members;

	m->id = id;
	m->deadline_ms = INT64_MAX;
	while (*end)
		end = &(*end)->next;
	*end = m;
	b->all->n_members++;
	b->idle_ms = 0;
	b->removing = false;
	return m;
}

void barrier_unwatch_inside(struct barrier *b)
{
	if (b->watched[0])
		watches_drop(&b->all->session->watches, b->watched, WATCH_NODE, b);
	b->watched[0] = '\0';
}

/* The watch of the record, and of a member, goes with the last member here. */
static void unwatch(struct barrier *b)
{
	char path[STORE_PATH_MAX];

	barrier_path(b, NULL, path);
	watches_drop(&b->all->session->watches, path, WATCH_NODE, b);
	barrier_unwatch_inside(b);
}

void barrier_tell(struct barrier *b, struct barrier_member *m, const struct barrier_answer *answer)
{
	struct barrier_member **link = &b->members;
	barrier_fn fn = m->fn;

	while (*link != m)
		link = &(*link)->next;
	*link = m->next;
	b->all->n_members--;
	if (!b->members)
		unwatch(b);
	if (fn)
		fn(m->arg, answer); /* which may be the member's */
	free(m);
}

/* Tells now; what is left in the tree goes as soon as that can be done. */
static void tell_early(struct barrier_member *m, const struct barrier_answer *answer)
{
	barrier_fn fn = m->fn;

	m->fn = NULL;
	if (fn)
		fn(m->arg, answer);
}

/* --- barriers ------------------------------------------------------------- */

static struct barrier *barrier_get(struct barriers *all, const char *name)
{
	struct barrier **end = &all->list;

	for (; *end; end = &(*end)->next)
		if (strcmp((*end)->name, name) == 0)
			return *end;
	*end = mem_calloc(1, sizeof(**end));
	(*end)->all = all;
	memcpy((*end)->name, name, strlen(name));
	return *end;
}

/* Out of the list; one that is asking is freed behind its answers. */
static void barrier_drop(struct barrier *b)
{
	struct barrier **link = &b->all->list;

	while (*link != b)
		link = &(*link)->next;
	*link = b->next;
	b->closed = true;
	if (b->busy == 0)
		free(b);
}

void barrier_go_on(struct barrier *b)
{
	const struct session *s = b->all->session;
	int64_t now = host_now_ms(s->host);

	if (b->busy == 0 && !b->members && b->idle_ms == 0)
		b->idle_ms = now;
	if (b->busy > 0 || !b->dirty || b->retry_ms > now || !session_is_up(s) ||
	    !s->registration[0])
		return;
	barrier_read(b);
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* When something is to be done for it next. */
static int64_t due_at(const struct barrier *b)
{
	int64_t at = INT64_MAX;

	if (b->retry_ms > 0)
		at = min64(at, b->retry_ms);
	if (b->try_ms > 0 && !b->dirty && b->busy == 0)
		at = min64(at, b->try_ms);
	if (b->idle_ms > 0)
		at = min64(at, b->idle_ms + BARRIER_KEEP_MS + (b->removing ? BARRIER_GRACE_MS : 0));
	for (const struct barrier_member *m = b->members; m; m = m->next)
		if (m->fn)
			at = min64(at, m->deadline_ms);
	return at;
}

void barriers_schedule(struct barriers *all)
{
	int64_t now = host_now_ms(all->session->host), first = INT64_MAX;

	if (all->orphan_ms > 0)
		first = all->orphan_ms;
	for (const struct barrier *b = all->list; b; b = b->next)
		first = min64(first, due_at(b));
	if (first == INT64_MAX)
		host_timer_stop(&all->due);
	else
		host_timer_start(&all->due, first > now ? first - now : 0);
}

/* A member whose timeout is over has to end; it is answered after the grace, whatever is known. */
static void look_at_time(struct barrier *b, struct barrier_member *m, int64_t now)
{
	if (!m->fn || m->deadline_ms > now)
		return;
	if (m->state == MEMBER_WAITS) {
		m->state = MEMBER_ENDS;
		m->answer = (struct barrier_answer){.outcome = BARRIER_TIMEOUT};
		m->deadline_ms = now + BARRIER_GRACE_MS;
		b->dirty = true;
		return;
	}
	m->deadline_ms = INT64_MAX;
	tell_early(m, &(struct barrier_answer){.outcome = BARRIER_UNKNOWN, .why = in_time});
}

static void on_time(struct barrier *b, int64_t now)
{
	struct barrier_member *next;

	for (struct barrier_member *m = b->members; m; m = next) {
		next = m->next;
		look_at_time(b, m, now);
	}
	if (b->try_ms > 0 && b->try_ms <= now)
		b->dirty = true;
	if (b->retry_ms <= now)
		b->retry_ms = 0;
	if (b->idle_ms > 0 && now - b->idle_ms >= BARRIER_KEEP_MS && !b->removing)
		b->removing = b->dirty = true;
	barrier_go_on(b);
}

/* --- what the sidecar before us has left ---------------------------------- */

static void on_folder(void *arg, const struct store_reply *reply)
{
	struct barriers *all = arg;

	if (reply->code == STORE_UNKNOWN || reply->code == STORE_ABANDONED)
		return; /* once more on the next connection */
	all->orphans = false;
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++) {
		if (!name_is_task(reply->names[i], strlen(reply->names[i])))
			continue;
		struct barrier *b = barrier_get(all, reply->names[i]);
		b->orphans = b->dirty = true;
		barrier_go_on(b);
	}
	barriers_schedule(all);
}

static void take_orphans(struct barriers *all)
{
	char path[STORE_PATH_MAX];

	all->orphan_ms = 0;
	if (!all->orphans || !session_is_up(all->session))
		return;
	path_of(all->registry->settings, PATH_BARRIERS, NULL, path);
	store_children(all->session->store, path, false, on_folder, all);
}

static void on_due(void *arg)
{
	struct barriers *all = arg;
	struct barrier *next;
	int64_t now = host_now_ms(all->session->host);

	if (all->orphan_ms > 0 && all->orphan_ms <= now)
		take_orphans(all);
	for (struct barrier *b = all->list; b; b = next) {
		next = b->next;
		on_time(b, now);
		if (b->removing && now - b->idle_ms >= BARRIER_KEEP_MS + BARRIER_GRACE_MS)
			barrier_drop(b);
	}
	barriers_schedule(all);
}

/* --- from outside --------------------------------------------------------- */

/* What does not fit: NULL, or why. */
static const char *limit(const struct barriers *all, const struct barrier_entry *e)
{
	char path[STORE_PATH_MAX];

	path_of(all->registry->settings, PATH_BARRIERS, e->name, path);
	size_t len = strlen(path) + 1 + TICKET_NAME_MAX;
	if (all->n_members >= BARRIER_MEMBERS_MAX)
		return "too many members of barriers at this sidecar: at most 1000";
	/* Each with its version and its header, see docs/SCALE.md. */
	if (len >= STORE_PATH_MAX || (len + 20) * e->count > BARRIER_PATHS_MAX)
		return "the root's path is too long for so many members";
	return NULL;
}

void barriers_enter(struct barriers *all, const struct barrier_entry *e, barrier_fn fn, void *arg)
{
	const char *why = limit(all, e);

	if (why) {
		fn(arg, &(struct barrier_answer){.outcome = BARRIER_REFUSED, .why = why});
		return;
	}
	if (!session_is_up(all->session) && !e->again) {
		fn(arg, &(struct barrier_answer){.outcome = BARRIER_UNKNOWN, .why = SESSION_NONE});
		return;
	}
	struct barrier *b = barrier_get(all, e->name);
	if (member_find(b, e->id)) {
		fn(arg, &(struct barrier_answer){.outcome = BARRIER_REFUSED,
						 .why = "that member is there already"});
		return;
	}
	struct barrier_member *m = barrier_add(b, e->id);
	m->fn = fn;
	m->arg = arg;
	m->count = e->count;
	m->command = e->command;
	m->owner = e->owner;
	if (e->timeout_ms >= 0)
		m->deadline_ms = host_now_ms(all->session->host) + e->timeout_ms;
	if (e->command && e->round > 0) {
		m->deadline_ms = INT64_MAX;
		m->state = MEMBER_INSIDE;
		m->round = e->round;
		tell_early(m, &(struct barrier_answer){.outcome = BARRIER_OPENED,
						       .round = e->round,
						       .count = e->count});
	}
	b->dirty = true;
	barrier_go_on(b);
	barriers_schedule(all);
}

void barriers_leave(struct barriers *all, const char *name, uint64_t id, int64_t round,
		    const void *owner, barrier_fn fn, void *arg)
{
	struct barrier *b = barrier_get(all, name);
	struct barrier_member *m = member_find(b, id);

	if (m && (m->state != MEMBER_INSIDE || m->fn)) {
		fn(arg, &(struct barrier_answer){.outcome = BARRIER_REFUSED,
						 .why = "that member is not inside"});
		return;
	}
	if (!m) { /* it was made by the previous sidecar */
		m = barrier_add(b, id);
		m->round = round;
	}
	m->owner = owner;
	m->fn = fn;
	m->arg = arg;
	m->state = MEMBER_LEAVES;
	b->dirty = true;
	barrier_go_on(b);
	barriers_schedule(all);
}

static void withdraw(struct barrier_member *m)
{
	m->owner = NULL;
	if (m->state == MEMBER_WAITS)
		m->state = MEMBER_ENDS;
	else if (m->state == MEMBER_INSIDE)
		m->state = MEMBER_LEAVES;
	tell_early(m, &(struct barrier_answer){.outcome = BARRIER_WITHDRAWN});
}

void barriers_owner_gone(struct barriers *all, const void *owner)
{
	for (struct barrier *b = all->list; b; b = b->next) {
		for (struct barrier_member *m = b->members; m; m = m->next) {
			if (m->owner != owner)
				continue;
			withdraw(m);
			b->dirty = true;
		}
		barrier_go_on(b);
	}
	barriers_schedule(all);
}

void barriers_take_over(struct barriers *all)
{
	all->orphans = true;
}

void barriers_up(struct barriers *all)
{
	if (all->orphans)
		all->orphan_ms = host_now_ms(all->session->host) + BARRIER_ORPHAN_MS;
	for (struct barrier *b = all->list; b; b = b->next) {
		b->dirty |= b->members != NULL;
		b->unsure = true;
		barrier_go_on(b);
	}
	barriers_schedule(all);
}

void barriers_watch(struct barriers *all, const char *path)
{
	char own[STORE_PATH_MAX];

	for (struct barrier *b = all->list; b; b = b->next) {
		barrier_path(b, NULL, own);
		if (strcmp(path, own) != 0 && strcmp(path, b->watched) != 0)
			continue;
		b->dirty |= b->members != NULL;
		barrier_go_on(b);
	}
}

void barriers_init(struct barriers *all, struct session *session, struct registry *registry)
{
	*all = (struct barriers){.session = session, .registry = registry};
	host_timer_init(&all->due, session->host, on_due, all);
}

void barriers_done(struct barriers *all)
{
	const struct barrier_answer answer = {.outcome = BARRIER_ENDED};

	while (all->list) {
		struct barrier *b = all->list;
		while (b->members) /* NOLINT: each takes itself out */
			barrier_tell(b, b->members, &answer);
		barrier_drop(b);
	}
	host_timer_done(&all->due);
}
