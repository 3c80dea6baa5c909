#include "net.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client.h"
#include "server.h"

struct link {
	bool cut;
	int64_t last; /* arrival */
	struct message *head, **tail;
};

static struct link up[HOSTS_MAX][SERVERS_MAX], down[HOSTS_MAX][SERVERS_MAX];
static struct link between[SERVERS_MAX][SERVERS_MAX];
static struct message *spare;
void (*net_asked)(const struct connection *c, const struct message *m);
int64_t (*net_waits)(unsigned server, const struct message *m);

/* --- sets of paths -------------------------------------------------------------------------------- */

bool path_set_add(struct path_set *s, path_id p)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i] == p)
			return false;
	if (s->n == s->capacity) {
		s->capacity = s->capacity ? 2 * s->capacity : 16;
		s->list = mem_resize(s->list, s->capacity, sizeof(*s->list));
	}
	s->list[s->n++] = p;
	return true;
}

bool path_set_take(struct path_set *s, path_id p)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->list[i] != p)
			continue;
		s->list[i] = s->list[--s->n];
		return true;
	}
	return false;
}

void path_set_copy(struct path_set *s, const struct path_set *from)
{
	for (size_t i = 0; i < from->n; i++)
		path_set_add(s, from->list[i]);
}

void path_set_done(struct path_set *s)
{
	free(s->list);
	*s = (struct path_set){.list = NULL};
}

/* --- requests and replies ------------------------------------------------------------------------- */

struct request *request_new(enum request_type type, size_t n_ops)
{
	struct request *q = mem_calloc(1, sizeof(*q) + n_ops * sizeof(q->ops[0]));

	q->refs = 1;
	q->type = type;
	q->n_ops = n_ops;
	return q;
}

struct request *request_keep(struct request *q)
{
	q->refs++;
	return q;
}

void request_drop(struct request *q)
{
	if (--q->refs > 0)
		return;
	for (size_t i = 0; i < q->n_ops; i++)
		blob_drop(q->ops[i].data);
	path_set_done(&q->data);
	path_set_done(&q->exist);
	path_set_done(&q->child);
	free(q);
}

void reply_done(struct reply *r)
{
	blob_drop(r->data);
	free(r->names);
	*r = (struct reply){.id = 0};
}

/* --- messages ------------------------------------------------------------------------------------- */

struct message *message_new(enum message_type type)
{
	struct message *m = spare;

	if (m)
		spare = m->next;
	else
		m = mem_alloc(sizeof(*m));
	memset(m, 0, sizeof(*m));
	m->type = type;
	return m;
}

void message_free(struct message *m)
{
	if (m->type == MESSAGE_REPLY)
		reply_done(&m->reply);
	else if (m->type == MESSAGE_TOUCHED)
		free(m->list);
	else if (m->type == MESSAGE_REQUEST)
		request_drop(m->request);
	else if (m->type == MESSAGE_FORWARD || m->type == MESSAGE_PROPOSE)
		transaction_drop(m->transaction);
	connection_unref(m->connection);
	m->next = spare;
	spare = m;
}

/* --- links ---------------------------------------------------------------------------------------- */

static void link_init(struct link *l)
{
	for (struct message *m = l->head, *next; m; m = next) {
		next = m->next;
		message_free(m);
	}
	*l = (struct link){.tail = &l->head};
}

void net_reset(void)
{
	for (unsigned i = 0; i < HOSTS_MAX; i++) {
		for (unsigned s = 0; s < SERVERS_MAX; s++) {
			link_init(&up[i][s]);
			link_init(&down[i][s]);
		}
	}
	for (unsigned a = 0; a < SERVERS_MAX; a++)
		for (unsigned b = 0; b < SERVERS_MAX; b++)
			link_init(&between[a][b]);
}

static void link_send(struct link *l, struct message *m, int64_t waits, int64_t typical,
		      event_fn fn)
{
	int64_t at = sim.now + waits + typical / 2 + random_exp(typical / 2) + 1;

	if (at <= l->last)
		at = l->last + 1;
	l->last = at;
	event_at(at, fn, m, 0);
}

/* True if the message stays in the link: it is cut. */
static bool link_holds(struct link *l, struct message *m)
{
	if (!l->cut)
		return false;
	m->next = NULL;
	*l->tail = m;
	l->tail = &m->next;
	return true;
}

/* Messages that the link has kept arrive now, before all that are on their way. */
static void link_heal(struct link *l, event_fn fn)
{
	struct message *kept = l->head;

	l->cut = false;
	l->head = NULL;
	l->tail = &l->head;
	for (struct message *next; kept; kept = next) {
		next = kept->next;
		fn(kept, 0);
	}
}

static void on_up(void *arg, uint64_t number)
{
	struct message *m = arg;

	(void)number;
	if (!link_holds(&up[m->connection->host][m->connection->server], m))
		server_receive(m);
}

static void on_down(void *arg, uint64_t number)
{
	struct message *m = arg;

	(void)number;
	if (!link_holds(&down[m->connection->host][m->connection->server], m))
		lib_receive(m);
}

static void on_between(void *arg, uint64_t number)
{
	struct message *m = arg;

	(void)number;
	if (!link_holds(&between[m->from][m->to], m))
		server_receive(m);
}

void net_dispose(event_fn fn, void *arg)
{
	if (fn == on_up || fn == on_down || fn == on_between)
		message_free(arg);
}

struct connection *net_connect(struct lib *lib, unsigned host, unsigned server)
{
	struct connection *c = mem_calloc(1, sizeof(*c));

	c->refs = 1;
	c->lib = lib;
	c->host = host;
	c->server = server;
	c->client_open = true;
	return c;
}

struct connection *connection_ref(struct connection *c)
{
	c->refs++;
	return c;
}

void connection_unref(struct connection *c)
{
	if (!c || --c->refs > 0)
		return;
	for (size_t i = 0; i < c->n_queue; i++) {
		request_drop(c->queue[i].request);
		reply_done(&c->queue[i].reply);
	}
	path_set_done(&c->data);
	path_set_done(&c->child);
	free(c->queue);
	free(c);
}

void net_to_server(struct connection *c, struct message *m)
{
	m->connection = connection_ref(c);
	if (net_asked)
		net_asked(c, m);
	link_send(&up[c->host][c->server], m, 0, sim.delay_us, on_up);
}

void net_to_client(struct connection *c, struct message *m)
{
	m->connection = connection_ref(c);
	link_send(&down[c->host][c->server], m, net_waits ? net_waits(c->server, m) : 0,
		  sim.delay_us, on_down);
}

void net_between(unsigned from, unsigned to, struct message *m)
{
	m->from = from;
	m->to = to;
	link_send(&between[from][to], m, net_waits ? net_waits(from, m) : 0, sim.server_delay_us,
		  on_between);
}

void net_cut_client(unsigned host, unsigned server, bool cut_up, bool cut_down)
{
	up[host][server].cut |= cut_up;
	down[host][server].cut |= cut_down;
}

void net_heal_client(unsigned host, unsigned server)
{
	link_heal(&up[host][server], on_up);
	link_heal(&down[host][server], on_down);
}

void net_cut_servers(unsigned a, unsigned b)
{
	between[a][b].cut = between[b][a].cut = true;
}

void net_heal_servers(unsigned a, unsigned b)
{
	link_heal(&between[a][b], on_between);
	link_heal(&between[b][a], on_between);
}

bool net_servers_linked(unsigned a, unsigned b)
{
	return a == b || !between[a][b].cut;
}

/* --- stopped processes ---------------------------------------------------------------------------- */

void inbox_init(struct inbox *in)
{
	*in = (struct inbox){.tail = &in->head, .wakes = in->wakes + 1};
}

bool inbox_holds(struct inbox *in, struct message *m, event_fn fn)
{
	if (!in->paused && !in->waking)
		return false;
	in->fn = fn;
	m->next = NULL;
	*in->tail = m;
	in->tail = &m->next;
	return true;
}

static void on_awake(void *arg, uint64_t wakes)
{
	struct inbox *in = arg;

	if (wakes != in->wakes || in->paused)
		return;
	in->waking = false;
	while (in->head && !in->paused) {
		struct message *m = in->head;
		in->head = m->next;
		if (!in->head)
			in->tail = &in->head;
		in->fn(m, 0);
	}
}

/* Queued messages come first, in their order, at one moment. */
void inbox_resume(struct inbox *in)
{
	in->paused = false;
	in->waking = true;
	in->ready_at = sim.now + random_range(0, 2 * MS);
	event_at(in->ready_at, on_awake, in, ++in->wakes);
}

void inbox_clear(struct inbox *in)
{
	for (struct message *m = in->head, *next; m; m = next) {
		next = m->next;
		message_free(m);
	}
	inbox_init(in);
}
