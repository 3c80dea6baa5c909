#include "node/recipes/lock/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/tree/paths.h"

#define ANSWER_SLACK_MS 5000 /* ZooKeeper's answer is waited for so long behind the deadline */
#define NO_DEADLINE	(INT64_MAX / 2)
#define PAUSE_MS	100 /* while the registration is renewed, or others make and sweep */

static const char stopped[] = "the sidecar is being stopped";

static int64_t now_of(const struct locks *k)
{
	return host_now_ms(k->session->host);
}

/* --- answers to clients --------------------------------------------------- */

static void tell(struct lock *l, const struct lock_answer *answer)
{
	if (!l->owed)
		return;
	l->owed = false;
	l->fn(l->arg, answer);
}

/* Answers the requester that the lock cannot be had. */
static void fail(struct lock *l, const struct lock_answer *answer)
{
	tell(l, answer);
	holder_let_go(&l->locks->holders, &l->held);
}

static void give_up(struct lock *l, const struct lock_answer *answer)
{
	fail(l, answer);
	lock_happens(l, LOCK_GIVEN_UP);
}

static bool is_gone(const struct lock *l)
{
	return l->place.state == LOCK_GONE;
}

static void end(struct lock *l)
{
	lock_unwatch(l);
	holder_let_go(&l->locks->holders, &l->held);
	if (l->done)
		l->done(l->done_arg);
	l->done = NULL;
}

/* --- steps of a lock ------------------------------------------------------ */

static void lose(struct lock *l)
{
	if (!l->held.lost)
		log_warning("lock lost", LOG_STR("lock", l->name), LOG_INT("token", l->token));
	holder_lose(&l->held);
}

void lock_happens(struct lock *l, enum lock_event_type type)
{
	const struct lock_event event = {.type = type,
					 .seen = &l->seen,
					 .busy = l->flying > 0,
					 .told = l->held.told,
					 .attaching = l->held.attaching};
	bool gone = is_gone(l);
	struct lock_actions a;

	lock_place_step(&l->place, &event, &a);
	if (a.unwatch)
		lock_unwatch(l);
	if (a.pause)
		l->retry_ms = now_of(l->locks) + PAUSE_MS;
	else if (a.hurry)
		l->retry_ms = 0;
	if (a.confirm)
		session_confirm(l->locks->session);
	if (a.loses)
		lose(l);
	if (a.fails)
		fail(l, &(struct lock_answer){
				.outcome = a.outcome, .why = a.why, .slots = l->place.in_use});
	if (a.leaves_node)
		log_warning("lock not given up", LOG_STR("lock", l->name));
	if (!gone && is_gone(l))
		end(l);
}

static bool is_orphan(const struct lock *l)
{
	return l->place.state == LOCK_HELD && !l->held.owner;
}

/* Whether an older request with the same id has not left yet. */
static bool is_blocked(const struct lock *l)
{
	for (const struct lock *o = TAILQ_FIRST(&l->locks->list); o; o = TAILQ_NEXT(o, link))
		if (o != l && !is_gone(o) && o->held.number < l->held.number &&
		    strcmp(o->id, l->id) == 0)
			return true;
	return false;
}

static void tell_held(struct lock *l)
{
	bool goes_on = l->held.told || l->held.attaching;

	if (l->place.state != LOCK_HELD || !l->owed || !holder_tells(&l->locks->holders, &l->held))
		return;
	if (goes_on)
		log_info("lock goes on", LOG_STR("lock", l->name), LOG_INT("token", l->token));
	tell(l, &(struct lock_answer){
			.outcome = LOCK_YOURS, .number = l->held.number, .token = l->token});
}

static void be_on_time(struct lock *l, int64_t now)
{
	if (l->place.state == LOCK_HELD && holder_is_over(&l->locks->holders, &l->held))
		lock_happens(l, LOCK_GIVEN_UP);
	if (!l->owed)
		return;
	if (!l->place.entered && !l->held.attaching && now >= l->session_ms &&
	    !session_is_up(l->locks->session))
		give_up(l, &(struct lock_answer){.outcome = LOCK_REFUSED, .why = SESSION_NONE});
	else if (now >= l->deadline_ms + ANSWER_SLACK_MS ||
		 (now >= l->deadline_ms && l->place.state == LOCK_WAITING &&
		  l->place.need == LOCK_NOTHING))
		give_up(l, &(struct lock_answer){.outcome = LOCK_NOT_IN_TIME});
}

static void look_at(struct lock *l, int64_t now)
{
	if (is_gone(l))
		return;
	tell_held(l);
	be_on_time(l, now);
	if (l->flying == 0 && l->place.need != LOCK_NOTHING && now >= l->retry_ms &&
	    session_is_up(l->locks->session) && !is_blocked(l))
		lock_step(l);
}

static void collect(struct locks *k)
{
	for (struct lock *l = TAILQ_FIRST(&k->list), *next; l; l = next) {
		next = TAILQ_NEXT(l, link);
		if (!is_gone(l) || l->flying > 0)
			continue;
		TAILQ_REMOVE(&k->list, l, link);
		k->n--;
		free(l);
	}
}

static void sooner(int64_t *first, int64_t at, int64_t now)
{
	if (at > now && at < *first)
		*first = at;
}

static void set_timer(struct locks *k, int64_t now)
{
	int64_t first = INT64_MAX;

	sooner(&first, k->warm_ms, now);
	for (const struct lock *l = TAILQ_FIRST(&k->list); l; l = TAILQ_NEXT(l, link)) {
		sooner(&first, l->retry_ms, now);
		if (is_orphan(l))
			sooner(&first, l->held.lease_ms, now);
		if (!l->owed)
			continue;
		sooner(&first, l->session_ms, now);
		sooner(&first, l->deadline_ms, now);
		sooner(&first, l->deadline_ms + ANSWER_SLACK_MS, now);
	}
	if (first == INT64_MAX)
		host_timer_stop(&k->due);
	else
		host_timer_start(&k->due, first - now);
}

/*
 * Callbacks may come in again: nothing is freed before the outermost leave(), which looks at all
 * locks.
 */
static void enter(struct locks *k)
{
	k->inside++;
}

static void look_at_all(struct locks *k, int64_t now)
{
	enter(k);
	while (k->again) {
		k->again = false;
		for (struct lock *l = TAILQ_FIRST(&k->list); l; l = TAILQ_NEXT(l, link))
			look_at(l, now);
		collect(k);
	}
	k->inside--;
}

static void leave(struct locks *k)
{
	int64_t now = now_of(k);

	k->again = true;
	if (--k->inside > 0 || k->kept)
		return;
	look_at_all(k, now);
	if (!TAILQ_EMPTY(&k->list))
		k->warm_ms = now + LOCK_WARM_MS;
	session_set_holding(k->session, now < k->warm_ms && (session_is_up(k->session) ||
							     session_lease_left(k->session) > 0));
	set_timer(k, now);
}

static void go_on(struct locks *k)
{
	enter(k);
	leave(k);
}

void lock_stepped(struct lock *l)
{
	struct locks *k = l->locks;

	enter(k);
	lock_happens(l, LOCK_ANSWERED);
	leave(k);
}

static void on_due(void *arg)
{
	go_on(arg);
}

/* --- from the session ----------------------------------------------------- */

void locks_up(struct locks *k)
{
	lock_sweep_up(&k->sweep);
	go_on(k);
}

void locks_leased(struct locks *k)
{
	go_on(k);
}

void locks_expired(struct locks *k)
{
	lock_sweep_expired(&k->sweep);
	enter(k);
	for (struct lock *l = TAILQ_FIRST(&k->list); l; l = TAILQ_NEXT(l, link))
		lock_happens(l, LOCK_EXPIRED);
	leave(k);
}

static bool concerns(const struct lock *l, enum store_watch type, const char *path)
{
	/* With one slot, what the holder writes is for people only. */
	return strcmp(l->watched, path) == 0 && !l->held.lost &&
	       (l->place.slots != 1 || type != STORE_NODE_CHANGED || l->place.state == LOCK_HELD);
}

void locks_watch(struct locks *k, enum store_watch type, const char *path)
{
	struct lock *l = TAILQ_FIRST(&k->list);

	while (l && !concerns(l, type, path))
		l = TAILQ_NEXT(l, link);
	if (!l) /* as most events of a session */
		return;
	enter(k);
	for (; l; l = TAILQ_NEXT(l, link))
		if (concerns(l, type, path))
			lock_happens(l, type == STORE_NODE_DELETED ? LOCK_DELETED : LOCK_CHANGED);
	leave(k);
}

/* --- from outside --------------------------------------------------------- */

static struct lock *add(struct locks *k, const char *name, const char *id, int64_t slots,
			bool maybe, lock_fn fn, void *arg)
{
	struct lock *l = mem_calloc(1, sizeof(*l));

	l->locks = k;
	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(l->id, sizeof(l->id), "%s", id);
	holder_init(&k->holders, &l->held, NULL);
	l->owed = true;
	l->fn = fn;
	l->arg = arg;
	l->session_ms = now_of(k) + SESSION_PATIENCE_MS;
	l->deadline_ms = NO_DEADLINE;
	lock_place_init(&l->place, slots, maybe);
	TAILQ_INSERT_TAIL(&k->list, l, link);
	k->n++;
	return l;
}

static const char *obstacle(const struct locks *k)
{
	if (k->stopping)
		return stopped;
	return k->n >= LOCKS_MAX ? "too many locks are held or waited for at this node" : NULL;
}

void locks_take(struct locks *k, const struct lock_request *q, lock_fn fn, void *arg)
{
	const char *why = obstacle(k);

	if (why) {
		fn(arg, &(struct lock_answer){.outcome = LOCK_REFUSED, .why = why});
		holders_release(&k->holders, q->owner);
		return;
	}
	struct lock *l = add(k, q->name, q->id, q->slots, q->again, fn, arg);
	snprintf(l->command, sizeof(l->command), "%s", q->command);
	holder_take(&l->held, q->owner);
	l->pid = q->pid;
	if (q->wait_ms >= 0)
		l->deadline_ms = now_of(k) + q->wait_ms; /* only finite waits have a deadline */
	l->session_ms = now_of(k) + session_patience(q->wait_ms);
	go_on(k);
}

static struct lock *find_orphan(const struct locks *k, const char *name, const char *id)
{
	for (struct lock *l = TAILQ_FIRST(&k->list); l; l = TAILQ_NEXT(l, link))
		if (is_orphan(l) && !l->held.lost && strcmp(l->id, id) == 0 &&
		    strcmp(l->name, name) == 0)
			return l;
	return NULL;
}

void locks_attach(struct locks *k, void *owner, const char *name, const char *id, lock_fn fn,
		  void *arg)
{
	struct lock *l = find_orphan(k, name, id);

	/* An attach is allowed while the sidecar stops: the stop waits for the lock. */
	if (!l && (k->n >= LOCKS_MAX || locks_know(k, id))) {
		fn(arg, &(struct lock_answer){.outcome = LOCK_NOT_THERE});
		holders_release(&k->holders, owner);
		return;
	}
	if (!l)
		l = add(k, name, id, 0, true, fn, arg);
	l->fn = fn;
	l->arg = arg;
	l->owed = true;
	holder_attach(&l->held, owner);
	go_on(k);
}

static struct lock *find(const struct locks *k, const void *owner, uint64_t number)
{
	for (struct lock *l = TAILQ_FIRST(&k->list); l; l = TAILQ_NEXT(l, link))
		if (holder_is(&l->held, owner, number) && !is_gone(l))
			return l;
	return NULL;
}

int64_t locks_renew(struct locks *k, const void *owner, uint64_t number)
{
	struct lock *l = find(k, owner, number);

	if (!l)
		return -1;
	return holder_renew(&k->holders, &l->held, l->place.state == LOCK_HELD);
}

bool locks_finish(struct locks *k, const void *owner, uint64_t number, lock_done_fn done, void *arg)
{
	struct lock *l = find(k, owner, number);

	if (!l)
		return false;
	l->done = done;
	l->done_arg = arg;
	enter(k);
	holder_let_go(&l->locks->holders, &l->held);
	lock_happens(l, LOCK_GIVEN_UP);
	leave(k);
	return true;
}

void locks_owner_gone(struct locks *k, const void *owner)
{
	enter(k);
	for (struct lock *l = TAILQ_FIRST(&k->list); l; l = TAILQ_NEXT(l, link)) {
		if (l->held.owner != owner)
			continue;
		holder_owner_gone(&k->holders, &l->held);
		tell(l, &(struct lock_answer){.outcome = LOCK_REFUSED, .why = "nobody asks"});
		if (!l->held.attaching && (l->place.state != LOCK_HELD || l->held.lost))
			lock_happens(l, LOCK_GIVEN_UP);
	}
	leave(k);
}

void locks_keep(struct locks *k)
{
	k->kept = true;
}

void locks_stop(struct locks *k)
{
	const struct lock_answer no = {.outcome = LOCK_REFUSED, .why = stopped};

	k->stopping = true;
	enter(k);
	for (struct lock *l = TAILQ_FIRST(&k->list); l; l = TAILQ_NEXT(l, link))
		if (l->owed && !l->held.told && !l->held.attaching)
			give_up(l, &no);
	leave(k);
}

size_t locks_going(const struct locks *k)
{
	size_t n = 0;

	for (const struct lock *l = TAILQ_FIRST(&k->list); l; l = TAILQ_NEXT(l, link))
		n += !is_gone(l) && l->place.state != LOCK_LEAVING &&
		     holder_is_alive(&k->holders, &l->held);
	return n;
}

void locks_revoke(struct locks *k)
{
	k->holders.revoked = true;
}

void locks_on_release(struct locks *k, void (*released)(void *owner))
{
	k->holders.released = released;
}

bool locks_know(const struct locks *k, const char *id)
{
	for (const struct lock *l = TAILQ_FIRST(&k->list); l; l = TAILQ_NEXT(l, link))
		if (!is_gone(l) && strcmp(l->id, id) == 0)
			return true;
	return false;
}

void locks_init(struct locks *k, struct session *session, struct registry *registry,
		struct roster *roster)
{
	*k = (struct locks){
		.session = session, .registry = registry, .holders = {.session = session}};
	TAILQ_INIT(&k->list);
	lock_sweep_init(&k->sweep, k, roster);
	host_timer_init(&k->due, session->host, on_due, k);
}

void locks_done(struct locks *k)
{
	enter(k); /* begins nothing any more */
	for (struct lock *l = TAILQ_FIRST(&k->list); l; l = TAILQ_NEXT(l, link)) {
		if (!is_gone(l))
			give_up(l, &(struct lock_answer){.outcome = LOCK_REFUSED,
							 .why = "the sidecar has ended"});
		if (!is_gone(l))
			lock_happens(l, LOCK_ABSENT);
	}
	collect(k);
	for (struct lock *l = TAILQ_FIRST(&k->list); l; l = TAILQ_NEXT(l, link))
		l->locks = NULL; /* freed behind its answers */
	TAILQ_INIT(&k->list);
	lock_sweep_done(&k->sweep);
	host_timer_done(&k->due);
}
