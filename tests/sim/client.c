#include "client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "oracle.h"
#include "server.h"

#define REFUSED_MIN (50 * MS)
#define REFUSED_MAX (300 * MS)

static void set_timer(struct lib *l, int64_t in);
static void try_next(struct lib *l);

/* The library's clock does not count the time for which the machine is suspended. */
static int64_t lib_now(const struct lib *l)
{
	return sim.now - sidecars[l->sidecar].suspended_us;
}

static void give(struct lib *l, const struct item *item)
{
	l->fn(l->arg, item);
}

/* --- losing and finding a connection ------------------------------------------------------------------ */

/* All that was asked is answered: nobody knows. */
static void fail_all(struct lib *l)
{
	size_t n = l->n_queue;
	uint64_t life = l->life;

	for (size_t i = 0; i < n && l->life == life; i++) {
		struct item item = {.kind = ITEM_REPLY, .asked = l->queue[0]};
		l->n_queue--;
		memmove(l->queue, l->queue + 1, l->n_queue * sizeof(l->queue[0]));
		item.reply.code = CODE_UNKNOWN;
		if (item.asked.request.type == REQUEST_MULTI)
			oracle_unknown(&item.asked.request, l->session);
		give(l, &item);
	}
}

/* What was sent may still arrive after the socket was closed. */
static void drop_connection(struct lib *l)
{
	struct connection *c = l->connection;

	if (!c)
		return;
	l->connection = NULL;
	l->granted = false;
	c->client_open = false;
	if (random_chance(700))
		net_to_server(c, message_new(MESSAGE_HANG_UP));
}

void lib_lose(struct lib *l)
{
	bool was_connected = l->state == LIB_CONNECTED;
	uint64_t life = l->life;

	if (l->state != LIB_CONNECTED && l->state != LIB_CONNECTING)
		return;
	drop_connection(l);
	l->state = LIB_CONNECTING;
	if (was_connected)
		give(l, &(struct item){.kind = ITEM_CONNECTING});
	if (l->life == life)
		fail_all(l);
	if (l->life == life)
		set_timer(l, was_connected ? random_range(0, 10 * MS)
					   : random_range(REFUSED_MIN, REFUSED_MAX));
}

static void try_next(struct lib *l)
{
	unsigned server = l->order[l->next_server++ % sim.n_servers];
	struct message *m = message_new(MESSAGE_REQUEST);

	TRACE("sidecar %u: the library tries server %u", l->sidecar, server);
	l->connection = net_connect(l, l->sidecar, server);
	l->granted = false;
	m->request = (struct request){.type = REQUEST_CONNECT,
				      .session = l->session,
				      .zxid = l->last_zxid,
				      .timeout_ms = sim.timeout_ms};
	l->last_sent = l->last_received = lib_now(l);
	net_to_server(l->connection, m);
	set_timer(l, l->timeout_ms * MS / 3);
}

/* --- timers ------------------------------------------------------------------------------------------- */

static void on_timer(void *arg, uint64_t life)
{
	struct lib *l = arg;

	if (life != l->timer_life)
		return;
	if (sidecars[l->sidecar].inbox.paused || l->state == LIB_CLOSED || l->state == LIB_EXPIRED)
		return;
	if (!l->connection) {
		try_next(l);
		return;
	}
	int64_t silent = lib_now(l) - l->last_received;
	int64_t limit = l->timeout_ms * MS * (l->state == LIB_CONNECTED ? 2 : 1) / 3;
	if (silent >= limit) {
		TRACE("sidecar %u: the library gives its connection up", l->sidecar);
		lib_lose(l);
		return;
	}
	int64_t wait = limit - silent;
	if (l->state == LIB_CONNECTED) {
		int64_t idle = lib_now(l) - l->last_sent, third = l->timeout_ms * MS / 3;
		if (idle >= third) {
			struct message *m = message_new(MESSAGE_REQUEST);
			m->request.type = REQUEST_PING;
			l->last_sent = lib_now(l);
			net_to_server(l->connection, m);
			idle = 0;
		}
		if (third - idle < wait)
			wait = third - idle;
	}
	set_timer(l, wait);
}

static void set_timer(struct lib *l, int64_t in)
{
	l->timer_life++; /* the one that was set is void */
	event_at(sim.now + in, on_timer, l, l->timer_life);
}

void lib_resume(struct lib *l, bool timers_first)
{
	if (l->state == LIB_CLOSED || l->state == LIB_EXPIRED)
		return;
	set_timer(l, timers_first ? 0 : 3 * MS);
}

/* --- requests ------------------------------------------------------------------------------------------ */

static void send_request(struct lib *l, struct asked *a)
{
	struct message *m = message_new(MESSAGE_REQUEST);

	m->request = a->request;
	a->sent = true;
	l->last_sent = lib_now(l);
	net_to_server(l->connection, m);
}

void lib_ask(struct lib *l, const struct request *request, int64_t sent_ms, unsigned what)
{
	assert(l->n_queue < LIB_QUEUE_MAX && l->state != LIB_CLOSED);
	struct asked *a = &l->queue[l->n_queue++];

	*a = (struct asked){.request = *request, .sent_ms = sent_ms, .what = what};
	a->request.id = l->next_id++;
	if (l->state == LIB_CONNECTED)
		send_request(l, a);
}

static void set_watches_again(struct lib *l)
{
	struct message *m;

	if (!l->data_watches && !l->exist_watches && !l->child_watch && l->n_ticks == 0)
		return;
	m = message_new(MESSAGE_REQUEST);
	m->request = (struct request){.type = REQUEST_WATCHES,
				      .zxid = l->last_zxid,
				      .data_watches = l->data_watches,
				      .exist_watches = l->exist_watches,
				      .child_watch = l->child_watch};
	if (l->n_ticks > 0) {
		m->request.ticks = mem_calloc(l->n_ticks, sizeof(*l->ticks));
		memcpy(m->request.ticks, l->ticks, l->n_ticks * sizeof(*l->ticks));
		m->request.n_ticks = l->n_ticks;
	}
	net_to_server(l->connection, m);
}

static void on_granted(struct lib *l, const struct reply *reply)
{
	if (reply->session == 0) {
		l->state = LIB_EXPIRED;
		drop_connection(l);
		give(l, &(struct item){.kind = ITEM_EXPIRED});
		return;
	}
	TRACE("sidecar %u: the library is connected to server %u", l->sidecar,
	      l->connection->server);
	l->granted = true;
	l->session = reply->session;
	l->timeout_ms = reply->timeout_ms;
	l->state = LIB_CONNECTED;
	set_watches_again(l);
	for (size_t i = 0; i < l->n_queue; i++)
		send_request(l, &l->queue[i]);
	set_timer(l, l->timeout_ms * MS / 3);
	give(l, &(struct item){.kind = ITEM_CONNECTED});
}

static void forget_tick(struct lib *l, unsigned task, uint32_t tick)
{
	for (size_t i = l->n_ticks; i-- > 0;)
		if (l->ticks[i].task == task && l->ticks[i].tick == tick)
			l->ticks[i] = l->ticks[--l->n_ticks];
}

static void watch_tick(struct lib *l, unsigned task, uint32_t tick, bool exists)
{
	forget_tick(l, task, tick);
	if (l->n_ticks == l->ticks_capacity) {
		l->ticks_capacity = l->ticks_capacity ? 2 * l->ticks_capacity : 16;
		l->ticks = mem_resize(l->ticks, l->ticks_capacity, sizeof(*l->ticks));
	}
	l->ticks[l->n_ticks++] = (struct tick_watch){task, tick, exists};
}

static void register_watch(struct lib *l, const struct asked *a, const struct reply *reply)
{
	const struct request *q = &a->request;

	if (!q->watch)
		return;
	if (q->type == REQUEST_TICK)
		watch_tick(l, q->target, q->tick, reply->code == CODE_OK);
	else if (q->type == REQUEST_LIST)
		l->child_watch |= reply->code == CODE_OK;
	else if (reply->code == CODE_OK)
		l->data_watches |= UINT64_C(1) << q->target;
	else if (q->type == REQUEST_EXISTS && reply->code == CODE_NO_NODE)
		l->exist_watches |= UINT64_C(1) << q->target;
}

static void on_reply(struct lib *l, const struct reply *reply)
{
	struct item item = {.kind = ITEM_REPLY, .reply = *reply};

	if (l->n_queue == 0 || l->queue[0].request.id != reply->id)
		return; /* of a ping */
	item.asked = l->queue[0];
	l->n_queue--;
	memmove(l->queue, l->queue + 1, l->n_queue * sizeof(l->queue[0]));
	register_watch(l, &item.asked, reply);
	give(l, &item);
}

static void on_watch(struct lib *l, unsigned task, uint32_t tick, enum watch_type type)
{
	if (tick != 0) {
		forget_tick(l, task, tick);
	} else if (task == WATCH_WORKERS) {
		l->child_watch = false;
	} else {
		l->data_watches &= ~(UINT64_C(1) << task);
		l->exist_watches &= ~(UINT64_C(1) << task);
	}
	give(l, &(struct item){.kind = ITEM_WATCH, .task = task, .tick = tick, .watch = type});
}

void lib_on_message(void *arg, uint64_t number)
{
	(void)number;
	lib_receive(arg);
}

void lib_receive(struct message *m)
{
	struct connection *c = m->connection;
	struct lib *l = c->lib;

	if (c->client_open && inbox_holds(&sidecars[c->sidecar].inbox, m, lib_on_message))
		return;
	if (!c->client_open || l->connection != c) {
		message_free(m);
		return;
	}
	l->last_received = lib_now(l);
	if (m->type == MESSAGE_HANG_UP) {
		lib_lose(l);
	} else if (m->type == MESSAGE_WATCH) {
		on_watch(l, m->task, m->tick, m->watch);
	} else {
		if (m->reply.zxid > l->last_zxid)
			l->last_zxid = m->reply.zxid;
		if (l->granted)
			on_reply(l, &m->reply);
		else
			on_granted(l, &m->reply);
	}
	message_free(m);
}

/* --- handles ------------------------------------------------------------------------------------------- */

void lib_open(struct lib *l, unsigned sidecar, item_fn fn, void *arg, int64_t session)
{
	uint64_t life = l->life + 1, timer_life = l->timer_life + 1, id = l->next_id + 1;

	free(l->ticks);
	memset(l, 0, sizeof(*l));
	l->life = life;
	l->timer_life = timer_life;
	l->next_id = id;
	l->sidecar = sidecar;
	l->fn = fn;
	l->arg = arg;
	l->state = LIB_CONNECTING;
	l->timeout_ms = sim.timeout_ms;
	l->session = session;
	for (unsigned i = 0; i < sim.n_servers; i++) {
		unsigned j = (unsigned)random_range(0, i);
		l->order[i] = l->order[j];
		l->order[j] = i;
	}
	try_next(l);
}

void lib_close(struct lib *l, bool farewell)
{
	if (l->state == LIB_CLOSED)
		return;
	if (farewell && l->state == LIB_CONNECTED) {
		struct message *m = message_new(MESSAGE_REQUEST);
		m->request.type = REQUEST_CLOSE;
		net_to_server(l->connection, m);
	}
	if (l->connection) {
		l->connection->client_open = false;
		net_to_server(l->connection, message_new(MESSAGE_HANG_UP));
		l->connection = NULL;
	}
	l->state = LIB_CLOSED;
	l->n_queue = l->n_ticks = 0;
	l->life++;
	l->timer_life++;
}
