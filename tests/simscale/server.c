/* What the servers do and what it costs: one tree, and a queue for each server and for the writes. */
#include "scale.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define TICK	     (2 * SECOND)
#define COMMIT	     MS /* from a write's turn to its being applied everywhere */
#define LEADERS_PATH 25 /* bytes of a path below ROOT/leaders */
#define WORKERS_PATH 52
#define LEADER_BYTES 110 /* of a leader's record */
#define STAT	     68

const char *const call_names[CALL_KINDS] = {
	[CALL_OPEN] = "register", [CALL_CONFIRM] = "confirm", [CALL_TOUCH] = "alive",
	[CALL_LIST] = "list",	  [CALL_RECORDS] = "record",  [CALL_GET] = "leader node",
	[CALL_EXISTS] = "exists", [CALL_CLAIM] = "claim",     [CALL_RELEASE] = "release",
	[CALL_AUDIT] = "audit",	  [CALL_CLOSE] = "close",
};

struct watcher {
	struct sidecar *s;
	int64_t session;
};
static struct leader_node {
	struct node node;
	uint32_t owner; /* member */
	struct watcher *watchers;
	size_t n, capacity;
	uint64_t claims;
	bool right;
} * leaders;

struct load load;
unsigned n_wrong;
int64_t right_since, changed_at, n_watches;
size_t record_bytes;
static int64_t *busy; /* of each server, until then */
static int64_t write_busy, last_zxid, last_session;
static struct call *free_calls;
static int64_t second; /* the one that is counted */
static uint64_t second_requests, second_out;

void server_reset(void)
{
	for (unsigned k = 0; leaders && k < plan.tasks; k++)
		free(leaders[k].watchers);
	free(leaders);
	free(busy);
	leaders = mem_calloc(plan.tasks, sizeof(*leaders));
	busy = mem_calloc(plan.servers, sizeof(*busy));
	n_wrong = 0;
	for (unsigned k = 0; k < plan.tasks; k++)
		leaders[k].right = true; /* by nobody, as nobody is there */
	right_since = changed_at = n_watches = 0;
	write_busy = last_zxid = last_session = 0;
	load_reset();
}

void load_reset(void)
{
	memset(&load, 0, sizeof(load));
	second_requests = second_out = 0;
	for (unsigned k = 0; k < plan.tasks; k++)
		leaders[k].claims = 0;
}

static void count(unsigned reads, unsigned writes, unsigned events, size_t in, size_t out)
{
	if (second != sim.now / SECOND) {
		second = sim.now / SECOND;
		second_requests = second_out = 0;
	}
	load.reads += reads;
	load.writes += writes;
	load.events += events;
	load.in += in;
	load.out += out;
	second_requests += reads + writes;
	second_out += out;
	if (second_requests > load.worst_requests)
		load.worst_requests = second_requests;
	if (second_out > load.worst_out)
		load.worst_out = second_out;
}

/* --- who leads, and whether rightly -------------------------------------------------------------- */

void server_judge(unsigned task)
{
	struct leader_node *l = &leaders[task];
	uint32_t best = ranking_top(task, position)->best;
	bool right = best == NOBODY ? !l->node.exists : l->node.exists && l->owner == best;

	if (right != l->right)
		n_wrong += right ? -1U : 1U;
	l->right = right;
	if (n_wrong == 0)
		right_since = sim.now;
}

/* --- watches --------------------------------------------------------------------------------------- */

static void on_event(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	if (number >> 34 != (s->life & 0x3fffffff) || !s->running)
		return;
	sidecar_event(s, (unsigned)(number & 0xffffffff), (enum election_watch)(number >> 32 & 3));
}

static void on_child_event(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	if (number == s->life && s->running)
		sidecar_child_event(s);
}

static void notify(struct sidecar *s, event_fn fn, uint64_t number, size_t path)
{
	int64_t *until = &busy[s->server];

	count(0, 0, 1, 0, 32 + path);
	s->watches--;
	n_watches--;
	*until = (*until > sim.now ? *until : sim.now) + plan.event_us;
	event_at(sim.now + s->delay, fn, s, number);
}

static void fire(unsigned task, enum election_watch what)
{
	struct leader_node *l = &leaders[task];

	for (size_t i = 0; i < l->n; i++) {
		struct sidecar *s = l->watchers[i].s;
		if (s->session == l->watchers[i].session)
			notify(s, on_event,
			       (s->life & 0x3fffffff) << 34 | (uint64_t)what << 32 | task,
			       LEADERS_PATH);
	}
	l->n = 0;
}

static void fire_children(void)
{
	changed_at = sim.now;
	for (unsigned i = 0; i < plan.workers; i++) {
		struct sidecar *s = &sidecars[i];
		if (!s->child_watch || !s->session)
			continue;
		s->child_watch = false;
		notify(s, on_child_event, s->life, 16);
	}
}

static void watch(struct leader_node *l, struct sidecar *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->watchers[i].s == s && l->watchers[i].session == s->session)
			return;
	if (l->n == l->capacity) {
		l->capacity = l->capacity ? 2 * l->capacity : 4;
		l->watchers = mem_resize(l->watchers, l->capacity, sizeof(*l->watchers));
	}
	l->watchers[l->n++] = (struct watcher){s, s->session};
	s->watches++;
	n_watches++;
}

/* --- writes ---------------------------------------------------------------------------------------- */

static void set_node(unsigned task, bool exists, struct sidecar *s, enum election_watch what)
{
	struct leader_node *l = &leaders[task];

	l->node = (struct node){.exists = exists};
	if (exists) {
		l->node.owner = s->session;
		l->node.czxid = last_zxid;
		l->owner = s->number;
		l->claims++;
		load.claims++;
		if (l->claims > load.worst_claims)
			load.worst_claims = l->claims;
	}
	fire(task, what);
	server_judge(task);
}

void server_expire(struct sidecar *s)
{
	if (!s->session)
		return;
	last_zxid++;
	int64_t session = s->session;
	n_watches -= s->watches;
	s->watches = 0;
	s->session = 0;
	s->child_watch = false;
	if (s->number != NOBODY)
		ranking_leave(s->number);
	s->number = NOBODY;
	for (unsigned k = s->group; k < plan.tasks; k += groups)
		if (leaders[k].node.exists && leaders[k].node.owner == session)
			set_node(k, false, NULL, ELECTION_DELETED);
	fire_children();
}

static void do_claim(struct call *c)
{
	c->failed = c->n;
	c->done = c->s->number != NOBODY;
	for (unsigned i = 0; c->done && i < c->n; i++) {
		if (!leaders[c->tasks[i]].node.exists)
			continue;
		c->done = false;
		c->failed = i;
	}
	if (!c->done)
		return;
	c->zxid = ++last_zxid;
	for (unsigned i = 0; i < c->n; i++)
		set_node(c->tasks[i], true, c->s, ELECTION_CREATED);
}

static void do_release(struct call *c)
{
	c->failed = c->n;
	c->done = c->number == NOBODY || members[c->number].left == NOBODY;
	for (unsigned i = 0; c->done && i < c->n; i++) {
		const struct node *node = &leaders[c->tasks[i]].node;
		if (node->exists && node->version == c->nodes[i].version)
			continue;
		c->done = false;
		c->failed = i;
	}
	if (!c->done)
		return;
	last_zxid++;
	for (unsigned i = 0; i < c->n; i++)
		set_node(c->tasks[i], false, NULL, ELECTION_CHANGED);
}

static void do_open(struct call *c)
{
	c->s->session = ++last_session;
	last_zxid++;
	ranking_join(c->s->id, c->s->version, c->s->random_ints, c->s->session, &c->s->number);
	c->number = c->s->number;
	c->done = true;
	c->s->watches++; /* on the policy */
	n_watches++;
	fire_children();
}

/* --- carrying a call out ---------------------------------------------------------------------------- */

static bool is_write(enum call_kind kind)
{
	return kind == CALL_OPEN || kind == CALL_CONFIRM || kind == CALL_CLAIM ||
	       kind == CALL_RELEASE || kind == CALL_CLOSE;
}

/* As requests are counted by a server. */
static unsigned requests_of(const struct call *c)
{
	if (c->kind == CALL_OPEN)
		return 3;
	return c->kind == CALL_RECORDS || c->kind == CALL_GET || c->kind == CALL_EXISTS ? c->n : 1;
}

static void measure(struct call *c)
{
	size_t n = c->n;

	switch (c->kind) {
	case CALL_OPEN:
		c->bytes_in = 45 + 120 + record_bytes + 35;
		c->bytes_out = 40 + 90 + 30;
		break;
	case CALL_CONFIRM:
		c->bytes_in = 40 + WORKERS_PATH;
		c->bytes_out = 50;
		break;
	case CALL_TOUCH:
		c->bytes_in = 17 + WORKERS_PATH;
		c->bytes_out = 20 + STAT;
		break;
	case CALL_LIST:
		c->bytes_in = 33;
		c->bytes_out = 24 + 40 * (size_t)ranking_count();
		break;
	case CALL_RECORDS:
		c->bytes_in = n * (17 + WORKERS_PATH);
		c->bytes_out = n * (24 + STAT + record_bytes);
		break;
	case CALL_GET:
	case CALL_EXISTS:
		c->bytes_in = n * (17 + LEADERS_PATH);
		c->bytes_out = n * (20 + STAT + (c->kind == CALL_GET ? (size_t)LEADER_BYTES : 0));
		break;
	case CALL_CLAIM:
		c->bytes_in = 90 + WORKERS_PATH + n * (48 + LEADERS_PATH + LEADER_BYTES);
		c->bytes_out = 60 + STAT + n * (13 + LEADERS_PATH);
		break;
	case CALL_RELEASE:
		c->bytes_in = 40 + WORKERS_PATH + n * (40 + 2 * LEADERS_PATH);
		c->bytes_out = 40 + n * (18 + STAT);
		break;
	case CALL_AUDIT:
		c->bytes_in = 33;
		c->bytes_out = 24 + 13 * (size_t)plan.tasks;
		break;
	case CALL_CLOSE:
		c->bytes_in = 12;
		c->bytes_out = 20;
		break;
	case CALL_KINDS: break;
	}
}

static void on_answer(void *arg, uint64_t number)
{
	struct call *c = arg;

	(void)number;
	if (c->s->running && c->life == c->s->life) {
		if (sim.now - c->sent_ms * MS > load.worst_answer)
			load.worst_answer = sim.now - c->sent_ms * MS;
		sidecar_answer(c);
	}
	c->next = free_calls;
	free_calls = c;
}

static void on_execute(void *arg, uint64_t number)
{
	struct call *c = arg;
	struct sidecar *s = c->s;
	bool dead = c->life != s->life && c->kind != CALL_CLOSE;

	(void)number;
	measure(c);
	unsigned n = requests_of(c);
	unsigned writes = is_write(c->kind) ? (c->kind == CALL_OPEN ? 2 : 1) : 0;
	count(n - writes, writes, 0, c->bytes_in, c->bytes_out);
	load.calls[c->kind] += n;
	if (!dead) {
		s->heard = sim.now;
		switch (c->kind) {
		case CALL_OPEN: do_open(c); break;
		case CALL_LIST:
			c->at = position;
			if (!s->child_watch)
				s->watches++, n_watches++;
			s->child_watch = true;
			break;
		case CALL_GET:
		case CALL_EXISTS:
			for (unsigned i = 0; i < c->n; i++) {
				struct leader_node *l = &leaders[c->tasks[i]];
				c->nodes[i] = l->node;
				c->nodes[i].mine = l->node.exists && l->node.owner == s->session;
				if (l->node.exists || c->kind == CALL_EXISTS)
					watch(l, s);
			}
			break;
		case CALL_CLAIM: do_claim(c); break;
		case CALL_RELEASE: do_release(c); break;
		case CALL_CLOSE: server_expire(s); break;
		case CALL_CONFIRM: c->done = s->number != NOBODY; break;
		case CALL_TOUCH:
		case CALL_RECORDS:
		case CALL_AUDIT:
		case CALL_KINDS: break;
		}
	}
	event_at(sim.now + s->delay, on_answer, c, 0);
}

static void on_arrival(void *arg, uint64_t number)
{
	struct call *c = arg;
	struct sidecar *s = c->s;
	unsigned n = requests_of(c);
	int64_t *until = &busy[s->server];
	int64_t begin = *until > sim.now ? *until : sim.now;

	(void)number;
	measure(c);
	int64_t done =
		begin + plan.read_us * n + (int64_t)((double)c->bytes_out / plan.bytes_per_us);
	*until = done;
	if (is_write(c->kind)) {
		int64_t turn = write_busy > done ? write_busy : done;
		write_busy =
			turn + plan.write_us * (c->kind == CALL_OPEN ? 2 : 1) +
			(int64_t)(c->kind == CALL_CLAIM || c->kind == CALL_RELEASE ? 5 * c->n : 0);
		done = write_busy + COMMIT;
	}
	if (done < s->last_done)
		done = s->last_done;
	s->last_done = done;
	event_at(done, on_execute, c, 0);
}

struct call *server_call(struct sidecar *s, enum call_kind kind)
{
	struct call *c = free_calls;

	if (c)
		free_calls = c->next;
	else
		c = mem_calloc(1, sizeof(*c));
	c->kind = kind;
	c->s = s;
	c->life = s->life;
	c->sent_ms = sim.now / MS;
	c->n = 0;
	c->number = NOBODY;
	c->done = false;
	return c;
}

void server_send(struct call *c)
{
	event_at(sim.now + c->s->delay, on_arrival, c, 0);
}
