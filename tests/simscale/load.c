/* A server is a queue: what it is asked takes a time of its own there, and each byte that it sends its share. */
#include <string.h>

#include "net.h"
#include "scale.h"
#include "server.h"

/* Bytes of ZooKeeper's protocol around what is counted by itself. */
#define FRAME	20 /* of a reply: length, xid, zxid, error */
#define STAT	68
#define ASK	13 /* of a request: length, xid, type, flag */
#define CONNECT 45
#define OP	9 /* header of an operation, and of its result */

struct load load;
static int64_t busy_until[SERVERS_MAX];
static struct {
	int64_t second;
	uint64_t requests, out;
} now;

static void note(uint64_t requests, uint64_t out)
{
	int64_t second = sim.now / SECOND;

	if (second != now.second) {
		now.second = second;
		now.requests = now.out = 0;
	}
	now.requests += requests;
	now.out += out;
	if (now.requests > load.worst_requests)
		load.worst_requests = now.requests;
	if (now.out > load.worst_out)
		load.worst_out = now.out;
}

static size_t len_of(path_id p)
{
	return 4 + strlen(path_text(p));
}

static size_t request_bytes(const struct request *q)
{
	size_t bytes = ASK;

	if (q->type == REQUEST_CONNECT)
		return CONNECT;
	if (q->type == REQUEST_GET || q->type == REQUEST_EXISTS || q->type == REQUEST_CHILDREN)
		return ASK + len_of(q->path);
	for (size_t i = 0; i < q->n_ops; i++)
		bytes += OP + len_of(q->ops[i].path) + 8 +
			 (q->ops[i].data ? q->ops[i].data->len : 0);
	return bytes;
}

static bool is_write(const struct request *q)
{
	return q->type == REQUEST_CONNECT || q->type == REQUEST_CLOSE ||
	       q->type == REQUEST_CREATE || q->type == REQUEST_MULTI;
}

static void on_asked(const struct connection *c, const struct message *m)
{
	(void)c;
	if (m->type != MESSAGE_REQUEST)
		return;
	load.in += request_bytes(m->request);
	*(is_write(m->request) ? &load.writes : &load.reads) += 1;
	note(1, 0);
}

static size_t reply_bytes(const struct reply *r)
{
	size_t bytes = FRAME;

	if (r->session)
		return CONNECT;
	if (r->stat.czxid)
		bytes += STAT;
	if (r->data)
		bytes += 4 + r->data->len;
	for (size_t i = 0; i < r->n_names; i++)
		bytes += 4 + strlen(path_name(r->names[i]));
	return bytes;
}

/*
 * Delays a message: a server sends them in turn, and commits wait for the writes that their leader
 * has to make.
 */
static int64_t on_sent(unsigned server, const struct message *m)
{
	int64_t *busy = &busy_until[server];
	size_t bytes = 0;

	if (m->type != MESSAGE_REPLY && m->type != MESSAGE_WATCH && m->type != MESSAGE_COMMIT)
		return 0;
	if (*busy < sim.now)
		*busy = sim.now;
	if (m->type == MESSAGE_REPLY) {
		bytes = reply_bytes(&m->reply);
		*busy += plan.read_us;
	} else if (m->type == MESSAGE_WATCH) {
		bytes = FRAME + 8 + len_of(m->path);
		*busy += plan.event_us;
		load.events++;
	}
	*busy += (int64_t)((double)bytes / plan.bytes_per_us);
	load.out += bytes;
	note(0, bytes);
	if (*busy - sim.now > load.worst_wait)
		load.worst_wait = *busy - sim.now;
	return *busy - sim.now;
}

static void on_propose(const struct transaction *x, const struct tree *before)
{
	int leader = servers_leader();

	(void)x, (void)before;
	if (busy_until[leader] < sim.now)
		busy_until[leader] = sim.now;
	busy_until[leader] += plan.write_us;
}

void load_reset(void)
{
	load = (struct load){.reads = 0};
}

void load_begin(void)
{
	memset(busy_until, 0, sizeof(busy_until));
	memset(&now, 0, sizeof(now));
	load_reset();
	net_asked = on_asked;
	net_waits = on_sent;
	servers_propose = on_propose;
}

int64_t watches_set(void)
{
	int64_t n = 0;

	for (unsigned i = 0; i < sim.n_servers; i++)
		for (size_t j = 0; j < servers[i].n_connections; j++)
			n += (int64_t)(servers[i].connections[j]->data.n +
				       servers[i].connections[j]->child.n);
	return n;
}
