/* Processes and machines of the servers: what starts, stops and pauses them. */
#include "server.h"

#include <stdlib.h>
#include <string.h>

struct server servers[SERVERS_MAX];

int64_t server_ms(const struct server *s)
{
	return clock_us(&s->clock, sim.now) / MS;
}

/* A server that was deposed, and has not heard of it, leads no more, even where the newer epoch has no leader now. */
int servers_leader(void)
{
	int64_t epoch = 0;
	int leader = -1;

	for (unsigned i = 0; i < sim.n_servers; i++) {
		const struct server *s = &servers[i];
		if (s->epoch < epoch)
			continue;
		if (s->alive && s->role == ROLE_LEADING)
			leader = (int)i;
		else if (s->epoch > epoch)
			leader = -1;
		epoch = s->epoch;
	}
	return leader;
}

bool server_usable(unsigned s)
{
	return servers[s].alive && !servers[s].inbox.paused && servers[s].role != ROLE_LOOKING;
}

bool servers_agree(void)
{
	int leader = servers_leader();

	for (unsigned i = 0; leader >= 0 && i < sim.n_servers; i++)
		if (!server_usable(i) || servers[i].epoch != servers[leader].epoch)
			return false;
	return leader >= 0;
}

bool servers_whole(void)
{
	int leader = servers_leader();

	if (!servers_agree())
		return false;
	for (unsigned i = 0; i < sim.n_servers; i++) {
		for (unsigned j = 0; j < sim.n_servers; j++)
			if (!net_servers_linked(i, j))
				return false;
		if (servers[i].n_log < servers[leader].applied)
			return false;
	}
	return true;
}

const struct tree *servers_tree(void)
{
	int leader = servers_leader();

	return leader < 0 ? NULL : &servers[leader].prepared;
}

bool servers_by_hand(struct transaction *x)
{
	int leader = servers_leader();

	if (leader < 0 || servers[leader].inbox.paused) {
		transaction_drop(x);
		return false;
	}
	x->origin = (unsigned)leader;
	quorum_submit(&servers[leader], x);
	return true;
}

/* --- timers: at every half tick of the server's clock ------------------------------------------------- */

static void on_timer(void *arg, uint64_t life);

static void set_timer(struct server *s)
{
	int64_t half = sim.tick_ms * MS / 2;
	int64_t next = (clock_us(&s->clock, sim.now) / half + 1) * half;

	event_at(clock_when(&s->clock, next), on_timer, s, s->life);
}

static void on_timer(void *arg, uint64_t life)
{
	struct server *s = arg;

	if (life != s->life || !s->alive || s->inbox.paused)
		return;
	quorum_tick(s);
	set_timer(s);
}

static void on_look(void *arg, uint64_t life)
{
	struct server *s = arg;

	if (life != s->life || !s->alive || s->inbox.paused || s->role != ROLE_LOOKING)
		return;
	server_look(s);
	if (s->role == ROLE_LOOKING)
		event_at(sim.now + random_range(50 * MS, 400 * MS), on_look, s, life);
}

static void begin(struct server *s)
{
	s->life++;
	set_timer(s);
	event_at(sim.now + random_range(50 * MS, 400 * MS), on_look, s, s->life);
}

/* --- what happens to them -------------------------------------------------------------------------- */

static void forget(struct server *s)
{
	inbox_clear(&s->inbox);
	while (s->n_connections > 0)
		connection_unref(s->connections[--s->n_connections]);
	while (s->n_log > 0)
		transaction_drop(s->log[--s->n_log]);
	free(s->log);
	tree_done(&s->tree);
	tree_done(&s->prepared);
}

void servers_reset(void)
{
	for (unsigned i = 0; i < SERVERS_MAX; i++) {
		struct server *s = &servers[i];
		forget(s);
		memset(s, 0, sizeof(*s));
		inbox_init(&s->inbox);
		s->id = i;
	}
	paths_reset();
	quorum_reset();
	serve_reset();
	for (unsigned i = 0; i < sim.n_servers; i++) {
		struct server *s = &servers[i];
		clock_draw(&s->clock);
		s->least_ms = 2 * sim.tick_ms;
		s->most_ms = 20 * sim.tick_ms;
		server_start(i, false);
	}
}

static void on_message(void *arg, uint64_t number)
{
	(void)number;
	server_receive(arg);
}

void server_receive(struct message *m)
{
	bool from_client = m->type == MESSAGE_REQUEST || m->type == MESSAGE_HANG_UP;
	struct server *s = &servers[from_client ? m->connection->server : m->to];

	if (s->alive && inbox_holds(&s->inbox, m, on_message))
		return;
	if (from_client && s->alive)
		serve_receive(s, m);
	else if (s->alive)
		quorum_receive(s, m);
	else if (m->type == MESSAGE_REQUEST && m->request->type == REQUEST_CONNECT)
		net_to_client(m->connection, message_new(MESSAGE_HANG_UP));
	message_free(m);
}

static void on_overdue(void *arg, uint64_t life)
{
	struct server *s = arg;

	if (life == s->life && s->alive && !s->inbox.paused)
		quorum_tick(s);
}

void server_pause(unsigned i)
{
	TRACE("server %u is paused", i);
	servers[i].inbox.paused = true;
}

void server_resume(unsigned i)
{
	struct server *s = &servers[i];

	if (!s->alive || !s->inbox.paused)
		return;
	TRACE("server %u goes on", i);
	s->inbox.paused = false;
	begin(s);
	/* Ticks that came due meanwhile are done at once, before what was queued or after it. */
	bool first = random_chance(500);
	if (first)
		quorum_tick(s);
	inbox_resume(&s->inbox);
	if (!first)
		event_at(s->inbox.ready_at + 1 * MS, on_overdue, s, s->life);
}

void server_stop(unsigned i)
{
	struct server *s = &servers[i];

	TRACE("server %u stops", i);
	inbox_clear(&s->inbox);
	serve_close_all(s);
	s->alive = false;
	s->role = ROLE_LOOKING;
	s->life++;
	memset(s->terms, 0, sizeof(s->terms));
}

void server_start(unsigned i, bool with_data)
{
	struct server *s = &servers[i];

	TRACE("server %u starts %s data", i, with_data ? "with its" : "without");
	s->alive = true;
	s->role = ROLE_LOOKING;
	if (!with_data) {
		s->blank = true;
		s->epoch = 0;
		while (s->n_log > 0)
			transaction_drop(s->log[--s->n_log]);
		s->applied = 0;
		tree_init(&s->tree);
	}
	begin(s);
}

void server_reset_connection(struct connection *c)
{
	struct server *s = &servers[c->server];

	if (s->alive && !s->inbox.paused && c->server_open)
		serve_receive(s, &(struct message){.type = MESSAGE_HANG_UP, .connection = c});
}
