/* What a server does for its clients: reads from its own tree, writes passed on to the leader, watches. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server.h"

static void hang_up(struct server *s, struct connection *c, bool tell)
{
	if (!c->server_open)
		return;
	c->server_open = false;
	c->n_queue = 0;
	for (size_t i = s->n_connections; i-- > 0;)
		if (s->connections[i] == c)
			s->connections[i] = s->connections[--s->n_connections];
	if (tell)
		net_to_client(c, message_new(MESSAGE_HANG_UP));
}

void serve_close_all(struct server *s)
{
	while (s->n_connections > 0)
		hang_up(s, s->connections[s->n_connections - 1], true);
}

/* --- answers ---------------------------------------------------------------------------------------- */

static void send_reply(struct server *s, struct connection *c, const struct reply *reply)
{
	struct message *m = message_new(MESSAGE_REPLY);

	m->reply = *reply;
	/* The answer to a connection says nothing of the data, so what watches tell is not lost. */
	m->reply.zxid = reply->session_only ? 0 : s->tree.zxid;
	net_to_client(c, m);
}

/* Counts what a read hides: a transaction that is committed and not applied here. */
static void count_stale(const struct server *s)
{
	int leader = servers_leader();

	if (leader >= 0 && servers[leader].tree.zxid > s->tree.zxid)
		sim.figures.faults[FAULT_STALE]++;
}

static void read_leader(struct server *s, struct connection *c, const struct request *q,
			struct reply *reply)
{
	reply->node = s->tree.leaders[q->target];
	if (!reply->node.exists)
		reply->code = CODE_NO_NODE;
	/* A get sets a watch on what is there only. */
	if (q->watch && (reply->node.exists || q->type == REQUEST_EXISTS))
		c->watches |= UINT64_C(1) << q->target;
}

static void read_worker(struct server *s, const struct request *q, struct reply *reply)
{
	reply->code = CODE_NO_NODE;
	for (size_t i = 0; i < s->tree.n_workers; i++) {
		if (s->tree.workers[i].record != q->record)
			continue;
		reply->code = CODE_OK;
		reply->session = s->tree.workers[i].session;
	}
}

static void add_tick_watch(struct connection *c, unsigned task, uint32_t tick)
{
	for (size_t i = 0; i < c->n_ticks; i++)
		if (c->ticks[i].task == task && c->ticks[i].tick == tick)
			return;
	if (c->n_ticks == c->ticks_capacity) {
		c->ticks_capacity = c->ticks_capacity ? 2 * c->ticks_capacity : 16;
		c->ticks = mem_resize(c->ticks, c->ticks_capacity, sizeof(*c->ticks));
	}
	c->ticks[c->n_ticks++] = (struct tick_watch){task, tick, false};
}

static void read_ledger(struct server *s, struct connection *c, const struct request *q,
			struct reply *reply)
{
	const struct ledger_node *l = &s->tree.ledgers[q->target];
	const struct tick_node *node;

	reply->ledger_version = l->version;
	reply->ledger_floor = l->floor;
	if (q->type == REQUEST_TICKS) {
		reply->list = mem_calloc(l->n + 1, sizeof(*reply->list));
		for (size_t i = 0; i < l->n; i++)
			reply->list[reply->n_list++] = l->ticks[i].tick;
	} else if (q->type == REQUEST_TICK) {
		node = tree_tick(&s->tree, q->target, q->tick);
		if (node)
			reply->tick = *node;
		else
			reply->code = CODE_NO_NODE;
		add_tick_watch(c, q->target, q->tick);
	}
}

static void answer_read(struct server *s, struct connection *c, const struct request *q)
{
	struct reply reply = {.id = q->id, .failed_op = -1};

	count_stale(s);
	switch (q->type) {
	case REQUEST_GET:
	case REQUEST_EXISTS:
		if (q->target == WATCH_WORKERS)
			read_worker(s, q, &reply);
		else
			read_leader(s, c, q, &reply);
		break;
	case REQUEST_LIST:
		reply.list = mem_calloc(s->tree.n_workers + 1, sizeof(*reply.list));
		for (size_t i = 0; i < s->tree.n_workers; i++)
			reply.list[reply.n_list++] = s->tree.workers[i].record;
		c->child_watch |= q->watch;
		break;
	case REQUEST_LEADERS:
		for (unsigned k = 0; k < sim.n_tasks; k++)
			reply.leaders |= (uint64_t)s->tree.leaders[k].exists << k;
		break;
	case REQUEST_TICK:
	case REQUEST_LEDGER:
	case REQUEST_TICKS: read_ledger(s, c, q, &reply); break;
	case REQUEST_PING:
	case REQUEST_CONNECT:
	case REQUEST_CLOSE:
	case REQUEST_WATCHES:
	case REQUEST_MULTI: break;
	}
	send_reply(s, c, &reply);
}

static void pop(struct connection *c)
{
	c->n_queue--;
	memmove(c->queue, c->queue + 1, c->n_queue * sizeof(c->queue[0]));
}

/* Requests of one connection are answered in their order; a read waits for the writes before it. */
static void answer_queue(struct server *s, struct connection *c)
{
	while (c->server_open && c->n_queue > 0) {
		struct pending *p = &c->queue[0];
		if (p->request.type == REQUEST_MULTI) {
			if (!p->done)
				return;
			send_reply(s, c, &p->reply);
		} else {
			answer_read(s, c, &p->request);
		}
		pop(c);
	}
}

/* --- watches ---------------------------------------------------------------------------------------- */

static void send_watch(struct connection *c, unsigned task, uint32_t tick, enum watch_type type)
{
	struct message *m = message_new(MESSAGE_WATCH);

	m->task = task;
	m->tick = tick;
	m->watch = type;
	net_to_client(c, m);
}

/* Whether the connection watched it: it does no longer. */
static bool take_tick_watch(struct connection *c, unsigned task, uint32_t tick)
{
	for (size_t i = 0; i < c->n_ticks; i++) {
		if (c->ticks[i].task != task || c->ticks[i].tick != tick)
			continue;
		c->ticks[i] = c->ticks[--c->n_ticks];
		return true;
	}
	return false;
}

void serve_watch(void *arg, unsigned task, uint32_t tick, enum watch_type type)
{
	struct server *s = arg;

	for (size_t i = 0; i < s->n_connections; i++) {
		struct connection *c = s->connections[i];
		if (tick != 0) {
			if (take_tick_watch(c, task, tick))
				send_watch(c, task, tick, type);
		} else if (task == WATCH_WORKERS && c->child_watch) {
			c->child_watch = false;
			send_watch(c, task, 0, type);
		} else if (task != WATCH_WORKERS && (c->watches >> task & 1)) {
			c->watches &= ~(UINT64_C(1) << task);
			send_watch(c, task, 0, type);
		}
	}
}

/* The client's watches once more, as it had them when it last heard, at zxid. */
static void set_watches(struct server *s, struct connection *c, const struct request *q)
{
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		const struct leader_node *node = &s->tree.leaders[k];
		uint64_t bit = UINT64_C(1) << k;
		if (q->data_watches & bit) {
			if (!node->exists)
				send_watch(c, k, 0, WATCH_DELETED);
			else if (node->mzxid > q->zxid)
				send_watch(c, k, 0, WATCH_CHANGED);
			else
				c->watches |= bit;
		}
		if (q->exist_watches & bit) {
			if (node->exists)
				send_watch(c, k, 0, WATCH_CREATED);
			else
				c->watches |= bit;
		}
	}
	for (size_t i = 0; i < q->n_ticks; i++) {
		const struct tick_watch *w = &q->ticks[i];
		const struct tick_node *node = tree_tick(&s->tree, w->task, w->tick);
		if (w->exists && !node)
			send_watch(c, w->task, w->tick, WATCH_DELETED);
		else if (w->exists && node->mzxid > q->zxid)
			send_watch(c, w->task, w->tick, WATCH_CHANGED);
		else if (!w->exists && node)
			send_watch(c, w->task, w->tick, WATCH_CREATED);
		else
			add_tick_watch(c, w->task, w->tick);
	}
	if (q->child_watch && s->tree.workers_pzxid > q->zxid)
		send_watch(c, WATCH_WORKERS, 0, WATCH_CHILDREN);
	else
		c->child_watch |= q->child_watch;
}

/* --- connecting ------------------------------------------------------------------------------------- */

/* The client is told that its session goes on, or is none any more. */
void serve_granted(struct server *s, struct connection *c, bool valid)
{
	struct reply reply = {.session = valid ? c->session : 0, .session_only = true};
	const struct session_node *node = tree_session(&s->tree, c->session);

	reply.timeout_ms = node ? node->timeout_ms : sim.timeout_ms;
	c->granted = valid;
	send_reply(s, c, &reply);
	if (!valid)
		hang_up(s, c, true);
}

static int64_t last_session;

void serve_reset(void)
{
	last_session = 1000;
}

static void on_connect(struct server *s, struct connection *c, const struct request *q)
{
	/* Another connection of the same session ends with this. */
	for (size_t i = s->n_connections; i-- > 0;) {
		struct connection *o = s->connections[i];
		if (o != c && q->session && o->session == q->session)
			hang_up(s, o, false);
	}
	if (s->role == ROLE_LOOKING || q->zxid > s->tree.zxid ||
	    s->n_connections == sizeof(s->connections) / sizeof(s->connections[0])) {
		net_to_client(c, message_new(MESSAGE_HANG_UP));
		return;
	}
	c->server_open = true;
	s->connections[s->n_connections++] = c;
	c->session = q->session;
	if (q->session == 0) {
		c->session = ++last_session;
		serve_pass_on(s, &(struct transaction){.type = TRANSACTION_OPEN,
						       .session = c->session,
						       .timeout_ms = q->timeout_ms,
						       .connection = c});
	} else if (s->role == ROLE_LEADING) {
		serve_granted(s, c, quorum_touch(s, q->session, (int)s->id));
	} else {
		struct message *m = message_new(MESSAGE_REVALIDATE);
		m->term = s->term;
		m->connection = c;
		m->number = q->session;
		net_between(s->id, s->leader, m);
	}
}

void serve_pass_on(struct server *s, struct transaction *x)
{
	x->origin = s->id;
	if (s->role == ROLE_LEADING) {
		quorum_submit(s, x);
	} else {
		struct message *m = message_new(MESSAGE_FORWARD);
		m->term = s->term;
		m->transaction = *x;
		net_between(s->id, s->leader, m);
	}
}

void serve_committed(struct server *s, const struct transaction *x)
{
	struct connection *c = x->connection;

	if (x->type == TRANSACTION_CLOSE) {
		for (size_t i = s->n_connections; i-- > 0;)
			if (s->connections[i]->session == x->session)
				hang_up(s, s->connections[i], true);
		return;
	}
	if (!c || x->origin != s->id || !c->server_open || c->session != x->session)
		return;
	if (x->type == TRANSACTION_OPEN) {
		serve_granted(s, c, true);
		return;
	}
	/* Client and leader disagree about where the client is: it must connect again. */
	if (x->code == CODE_MOVED) {
		hang_up(s, c, true);
		return;
	}
	for (size_t i = 0; i < c->n_queue; i++) {
		struct pending *p = &c->queue[i];
		if (p->request.type != REQUEST_MULTI || p->request.id != x->request)
			continue;
		p->done = true;
		p->reply = (struct reply){
			.id = x->request, .code = x->code, .failed_op = x->failed_op};
	}
	answer_queue(s, c);
}

/* --- requests --------------------------------------------------------------------------------------- */

static void touch_session(struct server *s, struct connection *c)
{
	if (s->role == ROLE_LEADING) {
		quorum_touch(s, c->session, -1);
		return;
	}
	for (size_t i = 0; i < s->n_touched; i++)
		if (s->touched[i] == c->session)
			return;
	if (s->n_touched < SESSIONS_MAX)
		s->touched[s->n_touched++] = c->session;
}

static void on_request(struct server *s, struct connection *c, const struct request *q)
{
	touch_session(s, c);
	if (q->type == REQUEST_WATCHES) {
		set_watches(s, c, q);
		return;
	}
	if (c->n_queue == c->capacity) {
		c->capacity = c->capacity ? 2 * c->capacity : 8;
		c->queue = mem_resize(c->queue, c->capacity, sizeof(*c->queue));
	}
	c->queue[c->n_queue++] = (struct pending){.request = *q};
	if (q->type == REQUEST_MULTI) {
		struct transaction x = {.session = c->session,
					.n_ops = q->n_ops,
					.heir = q->heir,
					.ledger = q->ledger,
					.connection = c,
					.request = q->id};
		memcpy(x.ops, q->ops, sizeof(x.ops));
		serve_pass_on(s, &x);
	}
	answer_queue(s, c);
}

void serve_receive(struct server *s, struct message *m)
{
	struct connection *c = m->connection;

	if (m->type == MESSAGE_HANG_UP) {
		hang_up(s, c, false);
	} else if (m->request.type == REQUEST_CONNECT) {
		on_connect(s, c, &m->request);
	} else if (c->server_open && m->request.type == REQUEST_CLOSE) {
		serve_pass_on(s, &(struct transaction){.type = TRANSACTION_CLOSE,
						       .session = c->session,
						       .connection = c});
	} else if (c->server_open && c->granted) {
		on_request(s, c, &m->request);
	}
}
