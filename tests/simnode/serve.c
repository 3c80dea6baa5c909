/* The service of a server to its clients: reads of its own tree, writes passed on, and watches. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server.h"

static int64_t last_session;
struct hostage serve_hostage;

void serve_reset(void)
{
	last_session = 1000;
	serve_hostage = (struct hostage){HOSTAGE_NONE, 0};
}

static void hang_up(struct server *s, struct connection *c, bool tell)
{
	if (!c->server_open)
		return;
	c->server_open = false;
	if (tell)
		net_to_client(c, message_new(MESSAGE_HANG_UP));
	for (size_t i = s->n_connections; i-- > 0;)
		if (s->connections[i] == c)
			s->connections[i] = s->connections[--s->n_connections];
	connection_unref(c);
}

void serve_close_all(struct server *s)
{
	while (s->n_connections > 0)
		hang_up(s, s->connections[s->n_connections - 1], true);
}

/* --- answers -------------------------------------------------------------------------------------- */

/* The reply's contents go with it. */
static void send_reply(struct server *s, struct connection *c, struct reply *reply)
{
	struct message *m = message_new(MESSAGE_REPLY);

	m->reply = *reply;
	*reply = (struct reply){.id = 0};
	m->reply.zxid = s->tree.zxid;
	net_to_client(c, m);
}

/* Counts what a read hides: a transaction that is committed and not applied here. */
static void count_stale(const struct server *s)
{
	int leader = servers_leader();

	if (leader >= 0 && servers[leader].tree.zxid > s->tree.zxid)
		sim.figures.faults[FAULT_STALE]++;
}

static void answer_read(struct server *s, struct connection *c, const struct request *q)
{
	struct reply reply = {.id = q->id, .failed_op = -1};
	const struct znode *node = tree_get(&s->tree, q->path);

	count_stale(s);
	if (q->type != REQUEST_PING && !node)
		reply.code = STORE_NO_NODE;
	else if (q->type != REQUEST_PING)
		reply.stat = node->stat;
	if (q->type != REQUEST_PING && node)
		reply.stat.children = (int32_t)node->n_children;
	if (q->type == REQUEST_GET && node)
		reply.data = blob_keep(node->data);
	if (q->type == REQUEST_CHILDREN && node && node->n_children > 0) {
		reply.n_names = node->n_children;
		reply.names = mem_calloc(reply.n_names, sizeof(*reply.names));
		memcpy(reply.names, node->children, reply.n_names * sizeof(*reply.names));
	}
	/* Only exists sets a watch on what is not there. */
	if (q->watch && q->type == REQUEST_CHILDREN && node)
		path_set_add(&c->child, q->path);
	else if (q->watch && q->type != REQUEST_CHILDREN && (node || q->type == REQUEST_EXISTS))
		path_set_add(&c->data, q->path);
	send_reply(s, c, &reply);
}

static void unwatch(struct server *s, struct connection *c, const struct request *q)
{
	bool there = path_set_take(q->children ? &c->child : &c->data, q->path);
	struct reply reply = {
		.id = q->id, .failed_op = -1, .code = there ? STORE_OK : STORE_NO_NODE};

	send_reply(s, c, &reply);
}

static bool is_write(const struct request *q)
{
	return q->type == REQUEST_MULTI || q->type == REQUEST_CREATE;
}

/* Requests of one connection are answered in their order; a read waits for the writes before it. */
static void answer_queue(struct server *s, struct connection *c)
{
	connection_ref(c);
	while (c->server_open && c->n_queue > 0) {
		struct pending *p = &c->queue[0];
		if (is_write(p->request) && !p->done)
			break;
		if (is_write(p->request))
			send_reply(s, c, &p->reply);
		else if (p->request->type == REQUEST_UNWATCH)
			unwatch(s, c, p->request);
		else
			answer_read(s, c, p->request);
		request_drop(p->request);
		c->n_queue--;
		memmove(c->queue, c->queue + 1, c->n_queue * sizeof(c->queue[0]));
	}
	connection_unref(c);
}

/* --- watches -------------------------------------------------------------------------------------- */

static void send_watch(struct connection *c, path_id path, enum store_watch type)
{
	struct message *m = message_new(MESSAGE_WATCH);

	m->path = path;
	m->watch = type;
	net_to_client(c, m);
}

/* A session hears of a deletion once, whatever it watches there. */
void serve_watch(void *arg, path_id path, enum store_watch type)
{
	struct server *s = arg;

	for (size_t i = 0; i < s->n_connections; i++) {
		struct connection *c = s->connections[i];
		bool told = false;
		if (type != STORE_CHILDREN_CHANGED)
			told = path_set_take(&c->data, path);
		if (type == STORE_CHILDREN_CHANGED || type == STORE_NODE_DELETED)
			told |= path_set_take(&c->child, path);
		if (told)
			send_watch(c, path, type);
	}
}

static int64_t set_bytes(const struct path_set *set)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < set->n; i++)
		bytes += 4 + (int64_t)strlen(path_text(set->list[i]));
	return bytes;
}

int64_t watches_bytes(const struct request *q)
{
	return set_bytes(&q->data) + set_bytes(&q->exist) + set_bytes(&q->child);
}

/* The client's watches once more, as it had them when it last heard, at zxid. */
static void set_watches(struct server *s, struct connection *c, const struct request *q)
{
	for (size_t i = 0; i < q->data.n; i++) {
		const struct znode *node = tree_get(&s->tree, q->data.list[i]);
		if (!node)
			send_watch(c, q->data.list[i], STORE_NODE_DELETED);
		else if (node->stat.mzxid > q->zxid)
			send_watch(c, q->data.list[i], STORE_NODE_CHANGED);
		else
			path_set_add(&c->data, q->data.list[i]);
	}
	for (size_t i = 0; i < q->exist.n; i++) {
		if (tree_get(&s->tree, q->exist.list[i]))
			send_watch(c, q->exist.list[i], STORE_NODE_CREATED);
		else
			path_set_add(&c->data, q->exist.list[i]);
	}
	for (size_t i = 0; i < q->child.n; i++) {
		const struct znode *node = tree_get(&s->tree, q->child.list[i]);
		if (!node)
			send_watch(c, q->child.list[i], STORE_NODE_DELETED);
		else if (node->stat.pzxid > q->zxid)
			send_watch(c, q->child.list[i], STORE_CHILDREN_CHANGED);
		else
			path_set_add(&c->child, q->child.list[i]);
	}
}

/* --- hostages ------------------------------------------------------------------------------------- */

void (*serve_refused_packet)(const struct connection *c, int64_t bytes);

static bool is_hostage(const struct connection *c)
{
	const struct hostage *h = &serve_hostage;

	return h->how != HOSTAGE_NONE && c->session == h->session;
}

/* A hostage keeps its session, and gets nothing done. True: nothing more becomes of the request. */
static bool keep_hostage(struct server *s, struct connection *c, const struct request *q)
{
	if (!is_hostage(c) || q->type == REQUEST_PING)
		return false;
	switch (serve_hostage.how) {
	case HOSTAGE_SILENT: return true;
	case HOSTAGE_HUNG_UP: hang_up(s, c, true); return true;
	case HOSTAGE_REFUSED:
	case HOSTAGE_NONE: break;
	}
	return false;
}

/* --- connecting ----------------------------------------------------------------------------------- */

/* The client is told that its session goes on, or is none any more. */
void serve_granted(struct server *s, struct connection *c, bool valid)
{
	struct message *m = message_new(MESSAGE_REPLY);

	m->reply.session = valid ? c->session : 0;
	m->reply.timeout_ms = c->timeout_ms;
	c->granted = valid;
	net_to_client(c, m);
	if (!valid || (is_hostage(c) && serve_hostage.how == HOSTAGE_HUNG_UP))
		hang_up(s, c, true);
}

static void pass_on(struct server *s, struct transaction *x)
{
	x->origin = s->id;
	if (s->role == ROLE_LEADING) {
		quorum_submit(s, x);
	} else {
		struct message *m = message_new(MESSAGE_FORWARD);
		m->term = s->term;
		m->transaction = x;
		net_between(s->id, s->leader, m);
	}
}

static int64_t grant(const struct server *s, int64_t asked_ms)
{
	if (asked_ms < s->least_ms)
		return s->least_ms;
	return asked_ms > s->most_ms ? s->most_ms : asked_ms;
}

/* The password of a session follows from its number, as in ZooKeeper. */
void serve_password(int64_t session, uint8_t password[STORE_PASSWORD_SIZE])
{
	for (int i = 0; i < STORE_PASSWORD_SIZE; i++)
		password[i] = (uint8_t)((session * 2654435761 + i * 40503) >> 7);
}

static void revalidate(struct server *s, struct connection *c, const struct request *q)
{
	uint8_t password[STORE_PASSWORD_SIZE];

	serve_password(q->session, password);
	if (memcmp(password, q->password, sizeof(password)) != 0) {
		serve_granted(s, c, false);
	} else if (s->role == ROLE_LEADING) {
		serve_granted(s, c, quorum_touch(s, q->session, c->timeout_ms, (int)s->id));
	} else {
		struct message *m = message_new(MESSAGE_REVALIDATE);
		m->term = s->term;
		m->connection = connection_ref(c);
		m->number = q->session;
		m->timeout_ms = c->timeout_ms;
		net_between(s->id, s->leader, m);
	}
}

static void on_connect(struct server *s, struct connection *c, const struct request *q)
{
	/* Another connection of the same session ends with this. */
	for (size_t i = s->n_connections; i-- > 0;) {
		struct connection *o = s->connections[i];
		if (o != c && q->session && o->session == q->session)
			hang_up(s, o, true);
	}
	if (s->role == ROLE_LOOKING || q->zxid > s->tree.zxid ||
	    s->n_connections == CONNECTIONS_MAX) {
		net_to_client(c, message_new(MESSAGE_HANG_UP));
		return;
	}
	c->server_open = true;
	s->connections[s->n_connections++] = connection_ref(c);
	c->session = q->session;
	c->timeout_ms = grant(s, q->timeout_ms);
	if (q->session != 0) {
		revalidate(s, c, q);
		return;
	}
	c->session = ++last_session;
	struct transaction *x = transaction_new(TRANSACTION_OPEN, c->session, 0);
	x->timeout_ms = c->timeout_ms;
	x->connection = connection_ref(c);
	pass_on(s, x);
}

static void mark_done(struct connection *c, const struct transaction *x, const struct tree *t)
{
	for (size_t i = 0; i < c->n_queue; i++) {
		struct pending *p = &c->queue[i];
		if (p->request->id != x->request || !is_write(p->request))
			continue;
		p->done = true;
		p->reply = (struct reply){.id = x->request, .code = x->code, .failed_op = -1};
		if (p->request->type == REQUEST_MULTI)
			p->reply.failed_op = x->failed_op;
		if (t->set.mzxid == x->zxid)
			p->reply.stat = t->set;
	}
}

void serve_committed(struct server *s, const struct transaction *x)
{
	struct connection *c = x->connection;

	if (x->type == TRANSACTION_CLOSE && x->code == STORE_OK) {
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
	if (x->moved || x->code == STORE_UNKNOWN) {
		hang_up(s, c, true);
		return;
	}
	mark_done(c, x, &s->tree);
	answer_queue(s, c);
}

/* --- requests ------------------------------------------------------------------------------------- */

static void touch_session(struct server *s, struct connection *c)
{
	if (s->role == ROLE_LEADING) {
		quorum_touch(s, c->session, c->timeout_ms, -1);
		return;
	}
	for (size_t i = 0; i < s->n_touched; i++) {
		if (s->touched[i].session == c->session) {
			s->touched[i].timeout_ms = c->timeout_ms;
			return;
		}
	}
	if (s->n_touched < SESSIONS_MAX)
		s->touched[s->n_touched++] = (struct touched){c->session, c->timeout_ms};
}

static void on_request(struct server *s, struct connection *c, struct request *q)
{
	touch_session(s, c);
	if (keep_hostage(s, c, q))
		return;
	if (q->type == REQUEST_WATCHES) {
		if (watches_bytes(q) > (sim.packet_max ? sim.packet_max : SERVER_PACKET_MAX)) {
			TRACE("server %u: a packet of %lld bytes with the watches of host %u",
			      s->id, (long long)watches_bytes(q), c->host);
			hang_up(s, c, true);
			if (serve_refused_packet)
				serve_refused_packet(c, watches_bytes(q));
		} else {
			set_watches(s, c, q);
		}
		return;
	}
	if (c->n_queue == c->capacity) {
		c->capacity = c->capacity ? 2 * c->capacity : 8;
		c->queue = mem_resize(c->queue, c->capacity, sizeof(*c->queue));
	}
	c->queue[c->n_queue++] = (struct pending){.request = request_keep(q)};
	if (is_write(q) && is_hostage(c)) { /* its reads are answered, and in their order */
		struct pending *p = &c->queue[c->n_queue - 1];
		p->done = true;
		p->reply = (struct reply){.id = q->id, .code = STORE_NO_AUTH};
	} else if (is_write(q)) {
		struct transaction *x = transaction_new(TRANSACTION_OPS, c->session, q->n_ops);
		for (size_t i = 0; i < q->n_ops; i++) {
			x->ops[i] = q->ops[i];
			blob_keep(q->ops[i].data);
		}
		x->connection = connection_ref(c);
		x->request = q->id;
		pass_on(s, x);
	}
	answer_queue(s, c);
}

void serve_receive(struct server *s, struct message *m)
{
	struct connection *c = m->connection;

	if (m->type == MESSAGE_HANG_UP) {
		hang_up(s, c, false);
	} else if (m->request->type == REQUEST_CONNECT) {
		on_connect(s, c, m->request);
	} else if (c->server_open && is_hostage(c) && serve_hostage.how == HOSTAGE_SILENT &&
		   m->request->type == REQUEST_CLOSE) {
		return; /* it is not even read */
	} else if (c->server_open && c->granted && m->request->type == REQUEST_CLOSE) {
		struct transaction *x = transaction_new(TRANSACTION_CLOSE, c->session, 0);
		x->connection = connection_ref(c);
		pass_on(s, x);
	} else if (c->server_open && c->granted) {
		on_request(s, c, m->request);
	}
}
