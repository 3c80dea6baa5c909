#include "client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "machine.h"
#include "server.h"

#define REFUSED_MIN (50 * MS)
#define REFUSED_MAX (300 * MS)
#define CLOSE_MAX   (3 * SECOND) /* for the server's answer to a farewell */

static void set_timer(struct lib *l, int64_t in);

/* The library's clock does not count the time for which the machine is suspended. */
static int64_t lib_now(const struct lib *l)
{
	return sim.now - l->machine->suspended_us;
}

static void give(struct lib *l, const struct item *item)
{
	if (l->state != LIB_CLOSING || item->kind == ITEM_CLOSED)
		l->fn(l->arg, item);
}

void asked_free(struct asked *a)
{
	request_drop(a->request);
	free(a);
}

static struct asked *pop(struct lib *l)
{
	struct asked *a = l->head;

	l->head = a->next;
	if (!l->head)
		l->tail = &l->head;
	return a;
}

/* --- losing and finding a connection -------------------------------------------------------------- */

static bool is_write(const struct request *q)
{
	return q->type == REQUEST_MULTI || q->type == REQUEST_CREATE;
}

/* For the figures: whether what nobody knows the outcome of has been done. */
static void count_unknown(const struct lib *l, const struct request *q)
{
	const struct tree *t = servers_tree();

	for (size_t i = 0; t && i < q->n_ops; i++) {
		const struct znode *node = tree_get(t, q->ops[i].path);
		if (q->ops[i].type != STORE_OP_CREATE_EPHEMERAL &&
		    q->ops[i].type != STORE_OP_DELETE)
			continue;
		bool there = node && (node->stat.owner == l->session);
		bool done = q->ops[i].type == STORE_OP_DELETE ? !node : there;
		sim.figures.faults[done ? FAULT_UNKNOWN_DONE : FAULT_UNKNOWN_NOT]++;
		return;
	}
}

/* All that was asked is answered: nobody knows. */
static void fail_all(struct lib *l)
{
	while (l->head) {
		struct item item = {.kind = ITEM_REPLY, .asked = pop(l)};
		item.reply.code = STORE_UNKNOWN;
		item.reply.failed_op = -1;
		if (is_write(item.asked->request))
			count_unknown(l, item.asked->request);
		if (l->state == LIB_CLOSING)
			asked_free(item.asked);
		else
			give(l, &item);
	}
}

/* Closes the connection; what was sent before may still arrive. */
static void drop_connection(struct lib *l, bool tell)
{
	struct connection *c = l->connection;

	if (!c)
		return;
	l->connection = NULL;
	l->granted = false;
	l->doomed = 0;
	c->client_open = false;
	if (tell)
		net_to_server(c, message_new(MESSAGE_HANG_UP));
	connection_unref(c);
}

static void closed(struct lib *l)
{
	drop_connection(l, true);
	fail_all(l);
	give(l, &(struct item){.kind = ITEM_CLOSED});
}

void lib_lose(struct lib *l)
{
	bool was_connected = l->state == LIB_CONNECTED;

	if (l->state == LIB_CLOSING) {
		closed(l);
		return;
	}
	if (!was_connected && l->state != LIB_CONNECTING)
		return;
	drop_connection(l, random_chance(700));
	l->state = LIB_CONNECTING;
	if (was_connected) {
		sim.cuts++;
		give(l, &(struct item){.kind = ITEM_CONNECTING});
	}
	fail_all(l);
	set_timer(l, was_connected ? random_range(0, 10 * MS)
				   : random_range(REFUSED_MIN, REFUSED_MAX));
}

static void try_next(struct lib *l)
{
	unsigned server = l->order[l->next_server++ % sim.n_servers];
	struct message *m = message_new(MESSAGE_REQUEST);

	TRACE("host %u: the library tries server %u", l->machine->id, server);
	l->connection = net_connect(l, l->machine->id, server);
	l->granted = false;
	m->request = request_new(REQUEST_CONNECT, 0);
	m->request->session = l->session;
	m->request->zxid = l->last_zxid;
	m->request->timeout_ms = l->timeout_ms;
	memcpy(m->request->password, l->password, sizeof(l->password));
	l->last_sent = l->last_received = lib_now(l);
	net_to_server(l->connection, m);
	set_timer(l, l->timeout_ms * MS / 3);
}

/* --- timers --------------------------------------------------------------------------------------- */

static void ping(struct lib *l)
{
	struct message *m = message_new(MESSAGE_REQUEST);

	m->request = request_new(REQUEST_PING, 0);
	l->last_sent = lib_now(l);
	net_to_server(l->connection, m);
}

static void on_time(struct lib *l)
{
	if (l->state == LIB_CLOSING) {
		closed(l);
		return;
	}
	if (!l->connection) {
		try_next(l);
		return;
	}
	int64_t silent = lib_now(l) - l->last_received;
	int64_t limit = l->timeout_ms * MS * (l->state == LIB_CONNECTED ? 2 : 1) / 3;
	if (silent >= limit) {
		TRACE("host %u: the library gives its connection up", l->machine->id);
		lib_lose(l);
		return;
	}
	int64_t wait = limit - silent;
	if (l->state == LIB_CONNECTED) {
		int64_t third = l->timeout_ms * MS / 3;
		if (lib_now(l) - l->last_sent >= third)
			ping(l);
		int64_t left = third - (lib_now(l) - l->last_sent);
		if (left < wait)
			wait = left;
	}
	set_timer(l, wait);
}

/* The event names machine and number: the library may be gone by then. */
static void on_timer(void *arg, uint64_t number)
{
	struct machine *m = arg;

	for (struct lib *l = m->libs; l; l = l->next) {
		if (l->timer != number)
			continue;
		if (!m->inbox.paused && l->state != LIB_EXPIRED && l->state != LIB_CLOSED)
			on_time(l);
		return;
	}
}

static void set_timer(struct lib *l, int64_t in)
{
	static uint64_t last; /* over all runs: nothing but equality is asked of it */

	l->timer = ++last; /* the one that was set is void */
	event_at(sim.now + in, on_timer, l->machine, l->timer);
}

void lib_resume(struct lib *l, bool timers_first)
{
	if (l->state != LIB_EXPIRED && l->state != LIB_CLOSED)
		set_timer(l, timers_first ? 0 : 3 * MS);
}

/* --- requests ------------------------------------------------------------------------------------- */

/* The connection goes a moment after the request that was lost. */
static void on_doomed(void *arg, uint64_t number)
{
	struct machine *m = arg;

	for (struct lib *l = m->libs; l; l = l->next) {
		if (l->doomed != number)
			continue;
		if (m->inbox.paused)
			event_at(sim.now + 100 * MS, on_doomed, m, number);
		else
			lib_lose(l);
		return;
	}
}

static void send_request(struct lib *l, struct asked *a)
{
	struct message *m = message_new(MESSAGE_REQUEST);

	m->request = request_keep(a->request);
	l->last_sent = lib_now(l);
	if (l->doom != DOOM_NONE && is_write(a->request)) {
		bool lost = l->doom == DOOM_REQUEST;
		l->doom = DOOM_NONE;
		sim.figures.faults[lost ? FAULT_LOST_REQUEST : FAULT_LOST_ANSWER]++;
		l->doomed = a->request->id;
		if (lost) {
			message_free(m);
			event_at(sim.now + random_exp(sim.delay_us), on_doomed, l->machine,
				 l->doomed);
			return;
		}
	}
	net_to_server(l->connection, m);
}

void lib_ask(struct lib *l, struct request *q, int64_t sent_ms, store_reply_fn fn, void *arg)
{
	struct asked *a = mem_calloc(1, sizeof(*a));

	a->request = q;
	a->sent_ms = sent_ms;
	a->fn = fn;
	a->arg = arg;
	q->id = l->next_id++;
	*l->tail = a;
	l->tail = &a->next;
	sim.figures.requests++;
	if (l->state == LIB_EXPIRED || (l->state != LIB_CONNECTED && q->type == REQUEST_MULTI)) {
		/* Not even sent: zk.c refuses what the library would take for later. */
		struct item item = {.kind = ITEM_REPLY, .asked = a};
		item.reply.code = STORE_UNKNOWN;
		item.reply.failed_op = -1;
		struct asked **at = &l->head;
		while (*at != a)
			at = &(*at)->next;
		*at = NULL;
		l->tail = at;
		give(l, &item);
	} else if (l->state == LIB_CONNECTED) {
		send_request(l, a);
	}
}

static void set_watches_again(struct lib *l)
{
	struct message *m;

	if (l->data.n + l->exist.n + l->child.n == 0)
		return;
	m = message_new(MESSAGE_REQUEST);
	m->request = request_new(REQUEST_WATCHES, 0);
	m->request->zxid = l->last_zxid;
	path_set_copy(&m->request->data, &l->data);
	path_set_copy(&m->request->exist, &l->exist);
	path_set_copy(&m->request->child, &l->child);
	net_to_server(l->connection, m);
}

static void on_granted(struct lib *l, const struct reply *reply)
{
	if (reply->session == 0) {
		l->state = LIB_EXPIRED;
		drop_connection(l, true);
		give(l, &(struct item){.kind = ITEM_EXPIRED});
		fail_all(l);
		return;
	}
	TRACE("host %u: connected to server %u, session %lld, T %lld ms", l->machine->id,
	      l->connection->server, (long long)reply->session, (long long)reply->timeout_ms);
	l->granted = true;
	l->session = reply->session;
	serve_password(l->session, l->password);
	l->timeout_ms = reply->timeout_ms;
	l->state = LIB_CONNECTED;
	set_watches_again(l);
	give(l, &(struct item){.kind = ITEM_CONNECTED,
			       .session = l->session,
			       .timeout_ms = (int)l->timeout_ms,
			       .server = l->connection->server});
	for (struct asked *a = l->head; a; a = a->next)
		send_request(l, a);
	set_timer(l, l->timeout_ms * MS / 3);
}

static void register_watch(struct lib *l, const struct request *q, enum store_code code)
{
	if (!q->watch)
		return;
	if (q->type == REQUEST_EXISTS && code == STORE_NO_NODE)
		path_set_add(&l->exist, q->path);
	else if (code == STORE_OK)
		path_set_add(q->type == REQUEST_CHILDREN ? &l->child : &l->data, q->path);
}

/* The library forgets what the server has forgotten. */
static void forget_watch(struct lib *l, const struct request *q, enum store_code code)
{
	if (q->type != REQUEST_UNWATCH || code != STORE_OK)
		return;
	if (q->children) {
		path_set_take(&l->child, q->path);
	} else {
		path_set_take(&l->data, q->path);
		path_set_take(&l->exist, q->path);
	}
}

/* Takes what the reply holds. */
static void on_reply(struct lib *l, struct reply *reply)
{
	struct item item = {.kind = ITEM_REPLY};

	if (!l->head || l->head->request->id != reply->id || reply->id == 0)
		return; /* of a ping */
	item.asked = pop(l);
	item.reply = *reply;
	*reply = (struct reply){.id = 0};
	register_watch(l, item.asked->request, item.reply.code);
	forget_watch(l, item.asked->request, item.reply.code);
	give(l, &item);
}

static void on_watch(struct lib *l, path_id path, enum store_watch type)
{
	bool watched = false;

	if (type != STORE_CHILDREN_CHANGED) {
		watched |= path_set_take(&l->data, path);
		watched |= path_set_take(&l->exist, path);
	}
	if (type == STORE_CHILDREN_CHANGED || type == STORE_NODE_DELETED)
		watched |= path_set_take(&l->child, path);
	/* Set again, a node that is gone is told of once for each kind of watch; but one is left. */
	if (!watched)
		return;
	give(l, &(struct item){.kind = ITEM_WATCH, .path = path, .watch = type});
}

void lib_on_message(void *arg, uint64_t number)
{
	(void)number;
	lib_receive(arg);
}

static void take_message(struct lib *l, struct message *m)
{
	l->last_received = lib_now(l);
	if (m->type == MESSAGE_HANG_UP) {
		lib_lose(l);
		return;
	}
	if (l->state == LIB_CLOSING)
		return;
	if (m->type == MESSAGE_WATCH) {
		on_watch(l, m->path, m->watch);
		return;
	}
	if (!l->granted) {
		on_granted(l, &m->reply);
		return;
	}
	if (l->doomed != 0 && m->reply.id == l->doomed) {
		TRACE("host %u: an answer is lost", l->machine->id);
		lib_lose(l);
		return;
	}
	if (m->reply.zxid > l->last_zxid)
		l->last_zxid = m->reply.zxid;
	on_reply(l, &m->reply);
}

void lib_receive(struct message *m)
{
	struct connection *c = m->connection;

	if (c->client_open && inbox_holds(&machines[c->host].inbox, m, lib_on_message))
		return;
	if (c->client_open && c->lib->connection == c)
		take_message(c->lib, m);
	message_free(m);
}

/* --- handles -------------------------------------------------------------------------------------- */

struct lib *lib_open(struct machine *machine, int64_t timeout_ms, int64_t session,
		     const uint8_t *password, item_fn fn, void *arg)
{
	struct lib *l = mem_calloc(1, sizeof(*l));

	l->machine = machine;
	l->next = machine->libs;
	machine->libs = l;
	l->fn = fn;
	l->arg = arg;
	l->state = LIB_CONNECTING;
	l->timeout_ms = timeout_ms;
	l->session = session;
	if (session)
		memcpy(l->password, password, sizeof(l->password));
	l->tail = &l->head;
	l->next_id = 1;
	for (unsigned i = 0; i < sim.n_servers; i++) {
		unsigned j = (unsigned)random_range(0, i);
		l->order[i] = l->order[j];
		l->order[j] = i;
	}
	try_next(l);
	return l;
}

void lib_close(struct lib *l)
{
	bool was_connected = l->state == LIB_CONNECTED;

	l->state = LIB_CLOSING;
	while (l->head)
		asked_free(pop(l));
	if (was_connected) {
		struct message *m = message_new(MESSAGE_REQUEST);
		m->request = request_new(REQUEST_CLOSE, 0);
		net_to_server(l->connection, m);
		set_timer(l, CLOSE_MAX);
	} else {
		drop_connection(l, true);
		set_timer(l, 0);
	}
}

void lib_free(struct lib *l)
{
	struct lib **at = &l->machine->libs;

	drop_connection(l, true);
	while (l->head)
		asked_free(pop(l));
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	path_set_done(&l->data);
	path_set_done(&l->exist);
	path_set_done(&l->child);
	free(l);
}
