/* Leading and following: elections of servers, the log, commits, and sessions' expiry. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server.h"

#define TRIM_MIN 1024 /* entries that all have applied, before they are forgotten */

void (*servers_propose)(const struct transaction *x, const struct tree *before);
void (*servers_commit)(const struct transaction *x);
void (*servers_grant)(int64_t session, int64_t timeout_ms);
static uint64_t last_term;
static size_t trimmed; /* entries of all logs, that are forgotten */

void quorum_reset(void)
{
	last_term = 0;
	trimmed = 0;
}

static int64_t last_zxid(const struct server *s)
{
	return s->n_log > 0 ? s->log[s->n_log - 1]->zxid : s->tree.zxid;
}

static void log_append(struct server *s, struct transaction *x)
{
	if (s->n_log == s->capacity) {
		s->capacity = s->capacity ? 2 * s->capacity : 1024;
		s->log = mem_resize(s->log, s->capacity, sizeof(struct transaction *));
	}
	x->refs++;
	s->log[s->n_log++] = x;
}

static void log_cut(struct server *s, size_t length)
{
	while (s->n_log > length)
		transaction_drop(s->log[--s->n_log]);
}

/* Applies what is committed, up to this length of the log. */
static void apply(struct server *s, size_t length)
{
	while (s->applied < length && s->applied < s->n_log) {
		struct transaction *x = s->log[s->applied++];
		tree_apply(&s->tree, x, serve_watch, s);
		if (servers_commit)
			servers_commit(x);
		serve_committed(s, x);
	}
}

/*
 * All servers forget the beginning of their logs, which each of them has applied: one without data is given a
 * snapshot. Messages tell numbers of all entries that ever were.
 */
static void trim(void)
{
	size_t least = SIZE_MAX;

	for (unsigned i = 0; i < sim.n_servers; i++)
		if (servers[i].applied < least)
			least = servers[i].applied;
	if (least < TRIM_MIN)
		return;
	trimmed += least;
	for (unsigned i = 0; i < sim.n_servers; i++) {
		struct server *s = &servers[i];
		for (size_t j = 0; j < least; j++)
			transaction_drop(s->log[j]);
		s->n_log -= least;
		s->applied -= least;
		memmove(s->log, s->log + least, s->n_log * sizeof(struct transaction *));
		for (unsigned j = 0; j < sim.n_servers; j++)
			s->acked[j] -= least < s->acked[j] ? least : s->acked[j];
	}
}

static int64_t number_of(size_t length)
{
	return (int64_t)(trimmed + length);
}

/* 0: it is one that all have applied. */
static size_t length_of(int64_t number)
{
	return (size_t)number > trimmed ? (size_t)number - trimmed : 0;
}

/* --- sessions at the leader ----------------------------------------------------------------------- */

static struct track *find_track(struct server *s, int64_t session)
{
	for (size_t i = 0; i < s->n_tracks; i++)
		if (s->tracks[i].session == session)
			return &s->tracks[i];
	return NULL;
}

/* Also to an earlier time, where the connection has been granted less than the one before. */
static void touch(struct server *s, struct track *t, int64_t timeout_ms)
{
	t->expiry_ms = (server_ms(s) + timeout_ms) / sim.tick_ms * sim.tick_ms + sim.tick_ms;
}

/* The session is alive; with an owner, its client is connected there from now on. */
bool quorum_touch(struct server *leader, int64_t session, int64_t timeout_ms, int owner)
{
	struct track *t = find_track(leader, session);

	if (!t || t->closing)
		return false;
	touch(leader, t, timeout_ms);
	if (owner >= 0) {
		t->owner = (unsigned)owner;
		if (servers_grant)
			servers_grant(session, timeout_ms);
	}
	return true;
}

static void add_track(struct server *s, int64_t session, int64_t timeout_ms, unsigned owner)
{
	assert(s->n_tracks < SESSIONS_MAX);
	struct track *t = &s->tracks[s->n_tracks++];
	*t = (struct track){.session = session, .owner = owner};
	touch(s, t, timeout_ms);
}

static void forget_track(struct server *s, int64_t session)
{
	struct track *t = find_track(s, session);

	if (t)
		*t = s->tracks[--s->n_tracks];
}

static void expire_sessions(struct server *s)
{
	int64_t now = server_ms(s);

	for (size_t i = s->n_tracks; i-- > 0;) {
		struct track *t = &s->tracks[i];
		if (t->closing || t->expiry_ms > now)
			continue;
		sim.figures.faults[FAULT_EXPIRED]++;
		TRACE("server %u expires session %lld", s->id, (long long)t->session);
		struct transaction *x = transaction_new(TRANSACTION_CLOSE, t->session, 0);
		x->origin = s->id;
		quorum_submit(s, x);
	}
}

/* --- the leader ----------------------------------------------------------------------------------- */

static void commit(struct server *s)
{
	size_t counts[SERVERS_MAX], n = 0, length = 0;

	counts[n++] = s->n_log;
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (i != s->id && s->terms[i])
			counts[n++] = s->acked[i];
	/* The longest that a quorum has. */
	for (size_t i = 0; i < n; i++) {
		unsigned have = 0;
		for (size_t j = 0; j < n; j++)
			have += counts[j] >= counts[i];
		if (have > sim.n_servers / 2 && counts[i] > length)
			length = counts[i];
	}
	if (length <= s->applied)
		return;
	for (size_t i = s->applied; i < length; i++)
		if (s->log[i]->type == TRANSACTION_CLOSE && s->log[i]->code == STORE_OK)
			forget_track(s, s->log[i]->session);
	apply(s, length);
	for (unsigned i = 0; i < sim.n_servers; i++) {
		if (i == s->id || !s->terms[i])
			continue;
		struct message *m = message_new(MESSAGE_COMMIT);
		m->term = s->terms[i];
		m->number = number_of(length);
		net_between(s->id, i, m);
	}
}

/* Whether the session may write, through the server that passed the write on. */
static bool judge_session(struct server *s, struct transaction *x)
{
	struct track *t;

	if (x->session == HAND || x->type == TRANSACTION_OPEN)
		return true;
	t = find_track(s, x->session);
	if (!t || t->closing)
		return false;
	if (x->connection && t->owner != x->origin) {
		sim.figures.faults[FAULT_MOVED]++;
		x->moved = true;
		return false;
	}
	if (x->type == TRANSACTION_CLOSE)
		t->closing = true;
	return true;
}

void quorum_submit(struct server *s, struct transaction *x)
{
	if (!judge_session(s, x))
		x->code = STORE_UNKNOWN;
	else if (x->type == TRANSACTION_OPS)
		tree_judge(&s->prepared, x);
	else if (x->type == TRANSACTION_OPEN)
		add_track(s, x->session, x->timeout_ms, x->origin);
	x->wall_ms = EPOCH_MS + sim.now / MS + s->wall_ms;
	/*
	 * The proposals of a deposed leader are never committed, so only the leader's are judged.
	 */
	if (x->code == STORE_OK && servers_propose && servers_leader() == (int)s->id)
		servers_propose(x, &s->prepared);
	x->zxid = s->next_zxid++;
	log_append(s, x);
	tree_apply(&s->prepared, x, NULL, NULL);
	for (unsigned i = 0; i < sim.n_servers; i++) {
		if (i == s->id || !s->terms[i])
			continue;
		struct message *m = message_new(MESSAGE_PROPOSE);
		m->term = s->terms[i];
		m->transaction = x;
		x->refs++;
		net_between(s->id, i, m);
	}
	transaction_drop(x);
	commit(s);
}

/* Gives the follower the leader's log: what it has beyond was never committed. */
static void synchronise(struct server *leader, struct server *f)
{
	size_t same = 0;

	if (f->blank) {
		log_cut(f, 0);
		tree_copy(&f->tree, &leader->tree);
		f->applied = 0;
		for (size_t i = 0; i < leader->applied; i++)
			log_append(f, leader->log[i]);
		f->applied = leader->applied;
	}
	while (same < f->n_log && same < leader->n_log && f->log[same] == leader->log[same])
		same++;
	if (same < f->n_log)
		sim.figures.faults[FAULT_TRUNCATED]++;
	assert(same >= f->applied);
	log_cut(f, same);
	for (size_t i = same; i < leader->n_log; i++)
		log_append(f, leader->log[i]);
	f->role = ROLE_FOLLOWING;
	f->leader = leader->id;
	f->term = leader->terms[f->id] = ++last_term;
	f->epoch = leader->epoch;
	f->blank = false;
	f->n_touched = 0;
	f->heard_ms = server_ms(f);
	leader->acked[f->id] = f->n_log;
	leader->heard[f->id] = server_ms(leader);
	apply(f, leader->applied);
	TRACE("server %u follows %u", f->id, leader->id);
	commit(leader); /* it has what was proposed while it was away as well */
}

static void lead(struct server *s, int64_t epoch)
{
	s->role = ROLE_LEADING;
	s->epoch = epoch;
	s->next_zxid = (epoch << 32) + 1;
	s->blank = false;
	memset(s->terms, 0, sizeof(s->terms));
	apply(s, s->n_log); /* all that a quorum can have is in the longest log */
	tree_copy(&s->prepared, &s->tree);
	s->n_tracks = 0;
	for (size_t i = 0; i < s->tree.n_sessions; i++)
		add_track(s, s->tree.sessions[i].id, s->tree.sessions[i].timeout_ms, SERVERS_MAX);
	TRACE("server %u leads, epoch %lld", s->id, (long long)epoch);
}

static bool reaches(const struct server *a, const struct server *b)
{
	return b->alive && !b->inbox.paused && net_servers_linked(a->id, b->id);
}

static bool is_better(const struct server *a, const struct server *b)
{
	if (a->epoch != b->epoch)
		return a->epoch > b->epoch;
	if (last_zxid(a) != last_zxid(b))
		return last_zxid(a) > last_zxid(b);
	return a->id > b->id;
}

/* Whether a quorum would follow the server now; those that lost their data count if all did. */
static bool has_quorum(const struct server *s)
{
	unsigned votes = 0, blank_votes = 0, blank = 0;

	for (unsigned i = 0; i < sim.n_servers; i++) {
		const struct server *o = &servers[i];
		blank += o->blank;
		if (!reaches(s, o) || o->role != ROLE_LOOKING)
			continue;
		if (o->blank)
			blank_votes++;
		else
			votes++;
	}
	return (blank == sim.n_servers ? blank_votes : votes) > sim.n_servers / 2;
}

/* The best of those that look, as far as this one can see. */
static struct server *best_candidate(struct server *s)
{
	struct server *best = s;

	for (unsigned i = 0; i < sim.n_servers; i++) {
		struct server *o = &servers[i];
		if (reaches(s, o) && o->role == ROLE_LOOKING && !o->blank &&
		    (best->blank || is_better(o, best)))
			best = o;
	}
	return best;
}

/* Follows a leader if there is one; else a quorum of servers that look for one makes one. */
void server_look(struct server *s)
{
	int64_t epoch = 0;

	for (unsigned i = 0; i < sim.n_servers; i++) {
		struct server *o = &servers[i];
		if (o != s && reaches(s, o) && o->role == ROLE_LEADING && o->epoch >= s->epoch) {
			synchronise(o, s);
			return;
		}
	}
	/* The best has to be the best for those as well that are to follow it. */
	struct server *best = best_candidate(s);
	if (best_candidate(best) != best || !has_quorum(best))
		return;
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (servers[i].role == ROLE_LOOKING && reaches(best, &servers[i]) &&
		    servers[i].epoch > epoch)
			epoch = servers[i].epoch;
	lead(best, epoch + 1);
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (servers[i].role == ROLE_LOOKING && reaches(best, &servers[i]))
			synchronise(best, &servers[i]);
}

static void stop_following(struct server *s, const char *why)
{
	TRACE("server %u looks for a leader: %s", s->id, why);
	if (s->role == ROLE_LEADING) {
		int leader = servers_leader();
		if (leader >= 0 && leader != (int)s->id)
			sim.figures.faults[FAULT_DEPOSED]++;
	}
	s->role = ROLE_LOOKING;
	serve_close_all(s);
}

static void beat(struct server *s, unsigned *ret_followers)
{
	int64_t now = server_ms(s);

	for (unsigned i = 0; i < sim.n_servers; i++) {
		if (i == s->id || !s->terms[i])
			continue;
		if (now - s->heard[i] > sim.sync_ms) {
			s->terms[i] = 0;
			continue;
		}
		(*ret_followers)++;
		struct message *m = message_new(MESSAGE_BEAT);
		m->term = s->terms[i];
		net_between(s->id, i, m);
	}
}

/* Every half tick of the server's own clock. */
void quorum_tick(struct server *s)
{
	unsigned have = 1;

	switch (s->role) {
	case ROLE_LOOKING: server_look(s); break;
	case ROLE_FOLLOWING:
		if (server_ms(s) - s->heard_ms > sim.sync_ms ||
		    servers[s->leader].terms[s->id] != s->term)
			stop_following(s, "nothing heard");
		break;
	case ROLE_LEADING:
		trim();
		beat(s, &have);
		expire_sessions(s);
		if (have <= sim.n_servers / 2)
			stop_following(s, "no quorum follows");
		break;
	}
}

/* --- messages between servers --------------------------------------------------------------------- */

static void on_beat(struct server *s, unsigned from)
{
	struct message *m = message_new(MESSAGE_TOUCHED);

	m->term = s->term;
	if (s->n_touched > 0) {
		m->list = mem_calloc(s->n_touched, sizeof(*m->list));
		memcpy(m->list, s->touched, s->n_touched * sizeof(*m->list));
		m->n_list = s->n_touched;
		s->n_touched = 0;
	}
	net_between(s->id, from, m);
}

static void from_leader(struct server *s, struct message *m)
{
	if (s->role != ROLE_FOLLOWING || m->from != s->leader || m->term != s->term)
		return;
	s->heard_ms = server_ms(s);
	if (m->type == MESSAGE_PROPOSE) {
		struct message *ack = message_new(MESSAGE_ACK);
		log_append(s, m->transaction);
		ack->term = s->term;
		ack->number = number_of(s->n_log);
		net_between(s->id, m->from, ack);
	} else if (m->type == MESSAGE_COMMIT) {
		apply(s, length_of(m->number));
	} else if (m->type == MESSAGE_BEAT) {
		on_beat(s, m->from);
	} else if (m->connection->server_open) {
		serve_granted(s, m->connection, m->valid);
	}
}

static void from_follower(struct server *s, struct message *m)
{
	if (s->role != ROLE_LEADING || m->term != s->terms[m->from])
		return;
	if (m->type == MESSAGE_ACK) {
		s->acked[m->from] = length_of(m->number);
		commit(s);
	} else if (m->type == MESSAGE_TOUCHED) {
		s->heard[m->from] = server_ms(s);
		for (size_t i = 0; i < m->n_list; i++)
			quorum_touch(s, m->list[i].session, m->list[i].timeout_ms, -1);
	} else if (m->type == MESSAGE_REVALIDATE) {
		struct message *answer = message_new(MESSAGE_VALID);
		answer->term = m->term;
		answer->connection = connection_ref(m->connection);
		answer->valid = quorum_touch(s, m->number, m->timeout_ms, (int)m->from);
		net_between(s->id, m->from, answer);
	} else {
		m->transaction->refs++;
		quorum_submit(s, m->transaction);
	}
}

void quorum_receive(struct server *s, struct message *m)
{
	switch (m->type) {
	case MESSAGE_PROPOSE:
	case MESSAGE_COMMIT:
	case MESSAGE_BEAT:
	case MESSAGE_VALID: from_leader(s, m); break;
	case MESSAGE_FORWARD:
	case MESSAGE_ACK:
	case MESSAGE_TOUCHED:
	case MESSAGE_REVALIDATE: from_follower(s, m); break;
	case MESSAGE_REQUEST:
	case MESSAGE_HANG_UP:
	case MESSAGE_REPLY:
	case MESSAGE_WATCH: assert(false);
	}
}
