/* One sidecar, as src/daemon has it, with the elections that something may happen to. */
#include "scale.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LIST_EVERY_MS	  100 /* as in src/node/folder.h, likewise the next */
#define READS_MAX	  100
#define BATCH_WAIT_MS	  10
#define LIST_NAMES_PER_MS 5
#define AUDIT_MS	  60000
#define WALL_MS		  10000 /* the wall clock is so much ahead of the boot clock */

struct sidecar *sidecars;

static int64_t now_ms(void)
{
	return sim.now / MS;
}

static struct election_time now(const struct sidecar *s)
{
	return (struct election_time){.boot_ms = now_ms(),
				      .wall_ms = now_ms() + WALL_MS,
				      .leased = lease_left(&s->lease, now_ms()) > 0};
}

void sidecars_reset(void)
{
	sidecars = mem_calloc(plan.workers, sizeof(*sidecars));
	for (unsigned i = 0; i < plan.workers; i++) {
		struct sidecar *s = &sidecars[i];
		s->id = i;
		s->server = i % plan.servers;
		s->group = i % groups;
		s->delay = random_range(100, 400);
		s->number = NOBODY;
		s->claims = mem_calloc(plan.tasks, sizeof(*s->claims));
		s->reads = mem_calloc(plan.tasks, sizeof(*s->reads));
		s->exists = mem_calloc(plan.tasks, sizeof(*s->exists));
		s->releases = mem_calloc(plan.tasks, sizeof(*s->releases));
	}
}

/* --- what goes out at the end of a turn of the loop --------------------------------------------------- */

static void send_reads(struct sidecar *s, enum call_kind kind, const unsigned *tasks, size_t n)
{
	for (size_t i = 0; i < n;) {
		struct call *c = server_call(s, kind);
		while (c->n < BATCH_MAX && i < n)
			c->tasks[c->n++] = tasks[i++];
		if (kind == CALL_GET)
			s->reads_out += c->n;
		server_send(c);
	}
}

static void send_claims(struct sidecar *s, const unsigned *tasks, size_t n)
{
	struct call *c = server_call(s, CALL_CLAIM);

	memcpy(c->tasks, tasks, n * sizeof(*tasks));
	c->n = (unsigned)n;
	server_send(c);
	send_reads(s, CALL_GET, tasks, n);
}

static void flush(struct sidecar *s)
{
	send_reads(s, CALL_GET, s->reads, s->n_reads);
	send_reads(s, CALL_EXISTS, s->exists, s->n_exists);
	s->n_reads = s->n_exists = 0;
	/* Those that go to the same worker go together. */
	while (s->n_releases > 0) {
		struct call *c = server_call(s, CALL_RELEASE);
		size_t kept = 0;
		c->number = s->releases[0].heir;
		for (size_t i = 0; i < s->n_releases; i++) {
			if (s->releases[i].heir != c->number || c->n == BATCH_MAX) {
				s->releases[kept++] = s->releases[i];
				continue;
			}
			c->nodes[c->n].version = s->releases[i].version;
			c->tasks[c->n++] = s->releases[i].task;
		}
		s->n_releases = kept;
		server_send(c);
	}
	bool wait = s->reads_out > 0 && now_ms() - s->claims_since < BATCH_WAIT_MS;
	size_t ripe = wait ? s->n_claims / BATCH_MAX * BATCH_MAX : s->n_claims;
	for (size_t i = 0; i < ripe; i += BATCH_MAX)
		send_claims(s, s->claims + i, ripe - i < BATCH_MAX ? ripe - i : BATCH_MAX);
	s->n_claims -= ripe;
	memmove(s->claims, s->claims + ripe, s->n_claims * sizeof(*s->claims));
}

static void add_claim(struct sidecar *s, struct active *a)
{
	if (s->n_claims == 0)
		s->claims_since = now_ms();
	s->claims[s->n_claims++] = a->task;
	a->pending += 2;
}

/* --- elections ------------------------------------------------------------------------------------------ */

static struct active *find(struct sidecar *s, unsigned task, bool make)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->actives[middle].task < task)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < s->n && s->actives[low].task == task)
		return &s->actives[low];
	if (!make)
		return NULL;
	if (s->n == s->capacity) {
		s->capacity = s->capacity ? 2 * s->capacity : 4;
		s->actives = mem_resize(s->actives, s->capacity, sizeof(*s->actives));
	}
	struct active *a = &s->actives[low];
	memmove(a + 1, a, (s->n - low) * sizeof(*a));
	s->n++;
	memset(a, 0, sizeof(*a));
	a->task = task;
	election_init(&a->election, &(struct election_config){.yield = ELECTION_YIELD_RANK,
							      .yield_delay_ms = plan.yield_delay_ms,
							      .tick_guard_ms = 5000});
	return a;
}

/* Nothing will happen to it before it is one of the two best. */
static bool is_idle(const struct active *a)
{
	const struct election *e = &a->election;

	return e->state == ELECTION_FOLLOWING && !e->watched && e->reads == 0 && a->pending == 0 &&
	       e->view.place > 1;
}

static void drop_idle(struct sidecar *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!is_idle(&s->actives[i]))
			s->actives[kept++] = s->actives[i];
	s->n = kept;
}

static void set_leading(struct sidecar *s, bool leading);
static void on_due(void *arg, uint64_t number);

static void schedule(struct sidecar *s, int64_t due)
{
	if (due >= s->next_due)
		return;
	s->next_due = due;
	event_at(due * MS, on_due, s, ++s->due_life);
}

static bool settled(const struct sidecar *s)
{
	return s->ready && !s->listing && !s->again && !s->due;
}

static uint32_t owner_of(const struct sidecar *s, int64_t session)
{
	/* Sessions are given in the order in which members join. */
	uint32_t number = (uint32_t)(session - 1);

	return session > 0 && (number == s->known_number || ranking_there(number, s->at)) ? number
											  : NOBODY;
}

static void perform(struct sidecar *s, struct active *a, const struct election_actions *actions)
{
	for (size_t i = 0; i < actions->n; i++) {
		const struct election_action *x = &actions->list[i];
		switch (x->type) {
		case ELECTION_CLAIM: add_claim(s, a); break;
		case ELECTION_RELEASE:
			s->releases[s->n_releases].task = a->task;
			s->releases[s->n_releases].version = x->version;
			s->releases[s->n_releases++].heir = x->to ? a->best : NOBODY;
			a->pending++;
			break;
		case ELECTION_READ:
			s->reads[s->n_reads++] = a->task;
			a->pending++;
			break;
		case ELECTION_TELL: {
			enum election_state to = a->election.state;
			for (size_t j = i + 1; j < actions->n && to == a->election.state; j++)
				if (actions->list[j].type == ELECTION_TELL)
					to = actions->list[j].from;
			bool led = x->from == ELECTION_LEADING, leads = to == ELECTION_LEADING;
			if (led != leads)
				s->n_leading += leads ? 1U : -1U;
			set_leading(s, s->n_leading > 0);
			break;
		}
		}
	}
}

static void step(struct sidecar *s, struct active *a, struct election_event event)
{
	struct election_actions actions;
	bool read = event.type == ELECTION_NODE && event.node.exists;
	int64_t owner = read ? event.node.owner : a->election.node.owner;

	event.now = now(s);
	if (event.type == ELECTION_VIEW || event.type == ELECTION_WATCH ||
	    event.type == ELECTION_NODE)
		event.owner_ms = owner_of(s, owner) != NOBODY ? plan.timeout_ms : 0;
	event.owner_unsure = !settled(s);
	election_step(&a->election, &event, &actions);
	perform(s, a, &actions);
	schedule(s, election_deadline(&a->election, event.now));
}

static void on_due(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	if (number != s->due_life || !s->running)
		return;
	s->next_due = ELECTION_NEVER;
	for (size_t i = 0; i < s->n; i++) {
		int64_t due = election_deadline(&s->actives[i].election, now(s));
		if (due <= now_ms())
			step(s, &s->actives[i], (struct election_event){.type = ELECTION_DEADLINE});
		else
			schedule(s, due);
	}
	flush(s);
}

/* --- the session ---------------------------------------------------------------------------------------- */

static void on_confirm(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	if (number != s->confirm_life || !s->running)
		return;
	server_send(server_call(s, s->leading ? CALL_CONFIRM : CALL_TOUCH));
	event_at(sim.now + lease_next(&s->lease, now_ms(), s->leading) * MS, on_confirm, s,
		 ++s->confirm_life);
}

static void set_leading(struct sidecar *s, bool leading)
{
	bool before = s->leading;

	s->leading = leading;
	if (leading && !before)
		event_at(sim.now, on_confirm, s, ++s->confirm_life);
}

/* --- the fleet ------------------------------------------------------------------------------------------ */

static void list(struct sidecar *s);

static void on_list_timer(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	if (number == s->list_life && s->running)
		list(s);
}

static int64_t list_every(const struct sidecar *s)
{
	int64_t grown = s->ready ? ranking_count() / LIST_NAMES_PER_MS : 0;

	if (plan.list_every_ms >= 0)
		return plan.list_every_ms;
	return grown > LIST_EVERY_MS ? grown : LIST_EVERY_MS;
}

static void list(struct sidecar *s)
{
	int64_t due = s->listed_ms + list_every(s);

	if (s->listing) {
		s->again = true;
		return;
	}
	if (now_ms() < due) {
		event_at(due * MS, on_list_timer, s, ++s->list_life);
		s->due = true;
		return;
	}
	s->again = s->due = false;
	s->listed_ms = now_ms();
	s->listing = true;
	server_send(server_call(s, CALL_LIST));
}

static int64_t seen_at(const struct sidecar *s, uint32_t number)
{
	size_t low = 0, high = s->n_seen;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->seen[middle].at < members[number].joined)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->n_seen ? s->seen[low].ms : now_ms();
}

static void view(struct sidecar *s, unsigned task)
{
	struct top top = *ranking_top(task, s->at);
	bool first = top.best == s->known_number, second = top.second == s->known_number;
	struct active *a = find(s, task, first || second);

	if (!a)
		return;
	if (a->election.state == ELECTION_DOWN)
		step(s, a,
		     (struct election_event){.type = ELECTION_UP,
					     .up_timeout_ms = plan.timeout_ms});
	struct election_event event = {.type = ELECTION_VIEW};
	event.view.candidate = true;
	event.view.place = first ? 0 : second ? 1 : 2;
	a->best = first ? NOBODY : top.best;
	if (!first && top.best != NOBODY) {
		event.view.best = top.best + 1;
		event.view.best_seen_ms = seen_at(s, top.best);
		event.view.newer = members[top.best].version > s->version;
	}
	step(s, a, event);
}

/* What was listed and read has come: it is so at this position. */
static void look(struct sidecar *s, uint32_t at)
{
	bool first = !s->ready;
	unsigned task;

	s->at = at;
	s->ready = true;
	if (s->n_seen == s->seen_capacity) {
		s->seen_capacity = s->seen_capacity ? 2 * s->seen_capacity : 16;
		s->seen = mem_resize(s->seen, s->seen_capacity, sizeof(*s->seen));
	}
	s->seen[s->n_seen++] = (struct seen){at, now_ms()};
	if (first) {
		for (unsigned k = s->group; k < plan.tasks; k += groups)
			view(s, k);
		s->changes = ranking_changes_at(at);
	} else {
		while (ranking_changed(at, &s->changes, &task))
			if (ranking_lists(s->group, task))
				view(s, task);
		/* Whether the owner of a leader node is there may be another now. */
		for (size_t i = 0; i < s->n; i++) {
			struct election_event event = {.type = ELECTION_VIEW,
						       .view = s->actives[i].election.view};
			if (s->actives[i].election.state != ELECTION_LEADING &&
			    s->actives[i].election.viewed)
				step(s, &s->actives[i], event);
		}
	}
	drop_idle(s);
}

/* Some at a time; meanwhile it is not listed anew. */
static void read_records(struct sidecar *s, uint32_t at)
{
	struct call *c = server_call(s, CALL_RECORDS);

	c->n = s->records_left < READS_MAX ? s->records_left : READS_MAX;
	c->at = at;
	s->records_left -= c->n;
	s->listing = true;
	server_send(c);
}

static void on_list(struct sidecar *s, const struct call *c)
{
	unsigned n = ranking_new(s->ready ? s->at : 0, c->at);

	s->listing = false;
	/* Our own is known, but when a list is the first and shows it. */
	if (!s->ready && n > 0)
		n--;
	s->records_left = n;
	if (n > 0)
		read_records(s, c->at);
	else
		look(s, c->at);
	if (!s->listing && s->again)
		list(s);
}

/* --- what comes back -------------------------------------------------------------------------------------- */

static void on_node(struct sidecar *s, const struct call *c, unsigned i)
{
	struct active *a = find(s, c->tasks[i], false);
	const struct node *node = &c->nodes[i];
	struct election_event event = {.type = ELECTION_NODE, .node = {.known = true}};

	assert(a);
	a->pending--;
	const struct election *e = &a->election;
	if (a->left_out) {
		a->left_out = false;
		if (!node->exists) {
			add_claim(s, a);
			return;
		}
		step(s, a,
		     (struct election_event){.type = ELECTION_CLAIMED,
					     .outcome = ELECTION_REFUSED});
	}
	if (c->kind == CALL_EXISTS && node->exists) {
		s->reads[s->n_reads++] = a->task;
		a->pending++;
		return;
	}
	if (node->exists) {
		event.node.exists = true;
		event.node.mine = node->mine;
		event.node.owner = node->owner;
		event.node.token = node->czxid;
		event.node.version = node->version;
	} else if (c->kind == CALL_GET && e->state == ELECTION_FOLLOWING && e->view.candidate &&
		   e->view.place == 0) {
		event.unwatched = true;
	} else if (c->kind == CALL_GET) {
		s->exists[s->n_exists++] = a->task;
		a->pending++;
		return;
	}
	step(s, a, event);
}

static void on_claim(struct sidecar *s, const struct call *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		struct active *a = find(s, c->tasks[i], false);
		if (!c->done && c->failed != i && c->failed < c->n) {
			a->left_out = true;
			a->pending--;
			continue;
		}
		a->pending--;
		step(s, a,
		     (struct election_event){.type = ELECTION_CLAIMED,
					     .outcome = c->done ? ELECTION_DONE : ELECTION_REFUSED,
					     .token = c->done ? c->zxid : 0,
					     .owner = s->session});
	}
	if (c->done)
		lease_committed(&s->lease, c->sent_ms, now_ms());
}

static void on_release(struct sidecar *s, const struct call *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		struct active *a = find(s, c->tasks[i], false);
		if (!c->done && c->failed != i && c->failed < c->n) {
			struct call *alone = server_call(s, CALL_RELEASE);
			alone->n = 1;
			alone->tasks[0] = c->tasks[i];
			alone->nodes[0] = c->nodes[i];
			alone->number = c->number;
			server_send(alone);
			continue;
		}
		a->pending--;
		step(s, a,
		     (struct election_event){.type = ELECTION_RELEASED,
					     .outcome =
						     c->done ? ELECTION_DONE : ELECTION_REFUSED});
	}
}

static void on_audit(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	if (number != s->life || !s->running)
		return;
	server_send(server_call(s, CALL_AUDIT));
	event_at(sim.now + AUDIT_MS * MS, on_audit, s, number);
}

static void on_opened(struct sidecar *s, const struct call *c)
{
	s->up = true;
	s->known_number = c->number;
	lease_begin(&s->lease, plan.timeout_ms, c->sent_ms);
	lease_committed(&s->lease, c->sent_ms, now_ms());
	event_at(sim.now + lease_next(&s->lease, now_ms(), false) * MS, on_confirm, s,
		 ++s->confirm_life);
	event_at(sim.now + AUDIT_MS * MS, on_audit, s, s->life);
	list(s);
}

void sidecar_answer(struct call *c)
{
	struct sidecar *s = c->s;

	if (s->up)
		lease_heard(&s->lease, c->sent_ms, now_ms());
	switch (c->kind) {
	case CALL_OPEN: on_opened(s, c); break;
	case CALL_CONFIRM:
		if (c->done)
			lease_committed(&s->lease, c->sent_ms, now_ms());
		break;
	case CALL_LIST: on_list(s, c); break;
	case CALL_RECORDS:
		if (s->records_left > 0) {
			read_records(s, c->at);
			break;
		}
		s->listing = false;
		look(s, c->at);
		if (s->again)
			list(s);
		break;
	case CALL_GET:
		s->reads_out -= c->n;
		for (unsigned i = 0; i < c->n; i++)
			on_node(s, c, i);
		break;
	case CALL_EXISTS:
		for (unsigned i = 0; i < c->n; i++)
			on_node(s, c, i);
		break;
	case CALL_CLAIM: on_claim(s, c); break;
	case CALL_RELEASE: on_release(s, c); break;
	case CALL_TOUCH:
	case CALL_AUDIT:
	case CALL_CLOSE:
	case CALL_KINDS: break;
	}
	flush(s);
}

void sidecar_child_event(struct sidecar *s)
{
	list(s);
}

void sidecar_event(struct sidecar *s, unsigned task, enum election_watch what)
{
	struct active *a = find(s, task, false);

	assert(a); /* it is kept while it watches */
	step(s, a, (struct election_event){.type = ELECTION_WATCH, .watch = what});
	if (is_idle(a))
		drop_idle(s);
	flush(s);
}

/* --- life ------------------------------------------------------------------------------------------------- */

void sidecar_start(struct sidecar *s)
{
	s->life++;
	s->running = true;
	s->up = s->leading = s->ready = s->listing = s->again = s->due = false;
	s->n = s->n_seen = 0;
	s->n_leading = 0;
	s->n_claims = s->n_reads = s->n_exists = s->n_releases = s->reads_out = 0;
	s->at = 0;
	s->known_number = NOBODY;
	s->listed_ms = -1000000;
	s->next_due = ELECTION_NEVER;
	s->heard = sim.now;
	for (int i = 0; i < 5; i++)
		s->random_ints[i] = (int32_t)random_bits();
	struct call *c = server_call(s, CALL_OPEN);
	server_send(c);
}

static void end(struct sidecar *s)
{
	s->running = false;
	s->due_life++;
	s->confirm_life++;
	s->list_life++;
}

void sidecar_stop(struct sidecar *s)
{
	server_send(server_call(s, CALL_CLOSE));
	end(s);
}

static void on_expired(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	if (s->session == (int64_t)number && s->session)
		server_expire(s);
}

/* The session ends with the tick after T of silence. */
void sidecar_kill(struct sidecar *s)
{
	int64_t tick = 2 * SECOND, at = s->heard + plan.timeout_ms * MS;

	end(s);
	s->life++;
	event_at((at + tick - 1) / tick * tick, on_expired, s, (uint64_t)s->session);
}
