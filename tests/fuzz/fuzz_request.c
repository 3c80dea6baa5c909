/*
 * The sidecar, whole, from its start to its end by TERM: clients that send anything on its socket, a
 * ZooKeeper whose nodes hold anything, cuts and ended sessions. ZooKeeper, time and timers are the
 * simulator's (tests/simnode), one server and one machine; the socket (fake_uv.h), files and the system
 * (fake_system.h) are in memory; all else is as it ships.
 *
 * The input is a list of steps, each a few bytes: see step().
 */
#include "fake_uv.h"

#include <signal.h>

#include "fake_system.h"
#include "server.h"
#include "wire/records/record.h"

#define RELOADS_MAX 3
#define ASKED_MAX   64
#define STATUS_UID  1002
#define T_MS	    10000
#define TICK_MS	    2000
#define WALL_MS	    INT64_C(1790000000000)
#define BOOT_US	    (1000 * SECOND)
#define SETTLE_US   (10 * MS) /* for what follows of a step */
#define FOUND_MS    400	      /* for a server to be found again */
#define QUIET_MS    20000     /* after which all is answered that does not wait */
#define STOP_MAX_MS 80000     /* jobs may take a minute, and the lease */
#define OTHERS_T_MS (100 * HOUR / MS)
#define OTHERS_MAX  1000 /* sessions above are those that a server has made */

/* --- the fleet ------------------------------------------------------------------------------------- */

static const char *const nodes[] = {
	"/myapps/leaders/daily",
	"/myapps/leaders/late",
	"/myapps/leaders/other",
	"/myapps/leaders/unknown",
	"/myapps/workers/odd",
	"/myapps/policy/odd",
	"/myapps/runs",
	"/myapps/runs/daily",
	"/myapps/runs/late",
	"/myapps/runs/daily/2026-09-21T14:13:00Z",
	"/myapps/runs/late/2026-09-21T14:13:00Z",
	"/myapps/workers/b",
	"/myapps/policy/c",
};
#define N_NODES (sizeof(nodes) / sizeof(nodes[0]))

static bool hands;	 /* have touched what is led */
static unsigned decided; /* nodes that the sidecar has made under policy and runs */
static path_id policy, runs;

static const struct znode *znode(const char *path)
{
	return tree_get(&servers[0].tree, path_intern(path));
}

/* Writes a node as another client would; sessions of other clients never end. */
static void write_node(enum store_op_type type, const char *path, const void *data, size_t len,
		       int64_t session)
{
	struct transaction *x = transaction_new(TRANSACTION_OPS, session, 1);

	x->ops[0] = (struct op){.type = type,
				.path = path_intern(path),
				.data = blob_new(data, len),
				.version = -1};
	FUZZ_CHECK(servers_by_hand(x));
}

static void open_session(int64_t session)
{
	struct transaction *x = transaction_new(TRANSACTION_OPEN, session, 0);

	x->timeout_ms = OTHERS_T_MS;
	FUZZ_CHECK(servers_by_hand(x));
}

static void on_propose(const struct transaction *x, const struct tree *before)
{
	(void)before;
	for (size_t i = 0; i < x->n_ops && x->connection; i++) {
		path_id folder = path_parent(x->ops[i].path);
		if (x->ops[i].type == STORE_OP_CREATE)
			decided += folder == policy || path_parent(folder) == runs;
	}
}

static void add_worker(const char *id, const char *version, const char *const *tasks, size_t n,
		       int64_t session)
{
	struct worker *w = worker_new();
	struct buffer data;
	char path[64];

	snprintf(w->id, sizeof(w->id), "%s", id);
	snprintf(w->version, sizeof(w->version), "%s", version);
	snprintf(w->ip, sizeof(w->ip), "10.0.0.2");
	snprintf(w->hostname, sizeof(w->hostname), "host-%s", id);
	snprintf(w->node, sizeof(w->node), "host-%s:/fuzz/s", id);
	worker_set_tasks(w, tasks, n);
	buffer_init(&data, RECORD_WORKER_MAX);
	FUZZ_CHECK(record_pack_worker(&data, w) == 0);
	snprintf(path, sizeof(path), "/myapps/workers/%s", id);
	write_node(STORE_OP_CREATE_EPHEMERAL, path, data.data, data.len, session);
	buffer_done(&data);
	worker_free(w);
}

/*
 * Adds a worker of our version that could lead all tasks, and a newer one that leads one of them.
 */
static void make_fleet(void)
{
	static const char *const folders[] = {"/myapps", "/myapps/workers", "/myapps/leaders",
					      "/myapps/policy"};
	static const char *const tasks[] = {"daily", "late", "other"};
	struct leader_record leader = {
		.id = "b", .ip = "10.0.0.2", .hostname = "host-b", .version = "2.0"};
	struct buffer data;

	policy = path_intern("/myapps/policy");
	runs = path_intern("/myapps/runs");
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		write_node(STORE_OP_CREATE, folders[i], NULL, 0, HAND);
	for (int64_t session = 501; session <= 503; session++)
		open_session(session);
	add_worker("a", "1.0", tasks, 3, 501);
	add_worker("b", "2.0", tasks + 2, 1, 502);
	buffer_init(&data, RECORD_LEADER_MAX);
	FUZZ_CHECK(record_pack_leader(&data, &leader) == 0);
	write_node(STORE_OP_CREATE_EPHEMERAL, "/myapps/leaders/other", data.data, data.len, 502);
	buffer_done(&data);
}

/* Somebody else writes, makes or deletes a node; the server refuses what cannot be. */
static void touch_node(struct feed *f)
{
	uint8_t which = feed_byte(f);
	const char *path = nodes[which % N_NODES];
	const uint8_t *data;
	size_t len = feed_bytes(f, feed_byte(f), &data);
	bool stays = which & 0x80;

	hands |= which % N_NODES < 3;
	if (!znode(path))
		write_node(stays ? STORE_OP_CREATE : STORE_OP_CREATE_EPHEMERAL, path, data, len,
			   stays ? HAND : 503);
	else
		write_node(len > 0 ? STORE_OP_SET : STORE_OP_DELETE, path, data, len, HAND);
}

/* --- clients --------------------------------------------------------------------------------------- */

/* A client's questions, and what it must be told. */
static struct client_state {
	struct buffer said; /* of what it has sent, the part that is no whole frame */
	struct question {
		uint32_t msgid;
		bool waits; /* possibly for long */
		bool check;
	} asked[ASKED_MAX];
	size_t n;
	bool failed;   /* it has said something that cannot be understood */
	bool told;     /* and has heard so */
	bool too_many; /* for us to remember */
} clients[PEERS_MAX];
static uint32_t last_msgid;
static unsigned reloads;
static bool privileged; /* somebody who may change something was there */

static void connect_client(size_t i, uid_t uid)
{
	buffer_clear(&clients[i].said);
	clients[i].n = 0;
	clients[i].failed = clients[i].told = clients[i].too_many = false;
	privileged |= uid != STATUS_UID;
	peer_connect(&fake.peers[i], uid);
}

static void note_request(struct client_state *c, const struct rpc_message *m)
{
	bool check = reader_text_is(m->method, "check");

	if (c->n == ASKED_MAX) {
		c->too_many = true;
		return;
	}
	c->asked[c->n++] = (struct question){
		.msgid = m->msgid,
		.waits = (check && m->n_params > 1) || reader_text_is(m->method, "claim") ||
			 reader_text_is(m->method, "attach"),
		.check = check,
	};
}

static void say(size_t i, const void *data, size_t len)
{
	struct client_state *c = &clients[i];
	struct caller *p = &fake.peers[i];
	int state = 1;
	size_t frame;

	if (!p->stream || p->hung_up || c->failed || p->in.len + len > RPC_REQUEST_MAX ||
	    buffer_append(&c->said, data, len) != 0)
		return;
	FUZZ_CHECK(buffer_append(&p->in, data, len) == 0);
	peers_move();
	while (!c->failed && c->said.len > 0 &&
	       (state = reader_measure(c->said.data, c->said.len, RPC_REQUEST_MAX, &frame)) == 1) {
		struct rpc_message m;
		c->failed = rpc_parse(c->said.data, frame, &m) != 0 || m.type == RPC_RESPONSE;
		if (!c->failed && m.type == RPC_REQUEST)
			note_request(c, &m);
		buffer_consume(&c->said, frame);
	}
	c->failed |= state < 0;
}

/* "Leads" is true: by the tree, the leader node is of our session and has that token. */
static void check_leads(struct reader r)
{
	struct reader_text key, task = {NULL, 0};
	bool leader = false;
	int64_t token = 0, lease_ms = 0;
	char path[128];
	size_t n;

	FUZZ_CHECK(reader_map(&r, &n) == 0);
	for (; n > 0; n--) {
		FUZZ_CHECK(reader_str(&r, &key) == 0);
		int e = reader_text_is(key, "leader")	  ? reader_bool(&r, &leader)
			: reader_text_is(key, "lease_ms") ? reader_int(&r, &lease_ms)
			: reader_text_is(key, "task")	  ? reader_str(&r, &task)
			: reader_text_is(key, "token") && reader_nil(&r) != 0
				? reader_int(&r, &token)
			: reader_text_is(key, "token") ? 0
						       : reader_skip(&r);
		FUZZ_CHECK(e == 0);
	}
	FUZZ_CHECK(leader == (lease_ms > 0) && lease_ms < T_MS);
	if (!leader || hands)
		return;
	snprintf(path, sizeof(path), "/myapps/leaders/%.*s", (int)task.len, task.data);
	const struct znode *node = znode(path);
	FUZZ_CHECK(node && node->stat.czxid == token && node->stat.owner > OTHERS_MAX);
}

static void take_response(struct client_state *c, const struct rpc_message *m, bool late)
{
	struct reader_text message;
	size_t i = 0;
	int code = 0;

	if (m->failed) {
		FUZZ_CHECK(rpc_parse_error(m->error, &code, &message) == 0);
		FUZZ_CHECK(code >= 1 && code <= 4 && message.len > 0);
	}
	while (i < c->n && c->asked[i].msgid != m->msgid)
		i++;
	if (i == c->n) {
		FUZZ_CHECK(c->too_many || (c->failed && !c->told && m->failed && m->msgid == 0));
		c->told = true;
		return;
	}
	/* If a number was used twice, the answer may be to either question. */
	for (size_t j = i + 1; j < c->n; j++)
		c->asked[i].waits &= c->asked[j].msgid != m->msgid;
	if (c->asked[i].check && !m->failed && !late)
		check_leads(m->result);
	c->asked[i] = c->asked[--c->n];
}

static void peer_hear(struct caller *p, bool late)
{
	struct client_state *c = &clients[p - fake.peers];

	while (p->out.len > 0) {
		struct rpc_message m;
		size_t len;

		FUZZ_CHECK(reader_measure(p->out.data, p->out.len, RPC_RESPONSE_MAX, &len) == 1);
		FUZZ_CHECK(rpc_parse(p->out.data, len, &m) == 0);
		FUZZ_CHECK(m.type == RPC_RESPONSE || m.type == RPC_NOTIFY);
		if (m.type == RPC_RESPONSE)
			take_response(c, &m, late);
		else
			FUZZ_CHECK(m.n_params == 1);
		buffer_consume(&p->out, len);
	}
}

/* A good frame whose parameters are the input's: an array, if they are good. */
static void call(size_t i, struct feed *f)
{
	static const char *const methods[] = {
		"check",  "tasks",  "workers", "status",  "explain", "subscribe", "reload",
		"claim",  "renew",  "finish",  "history", "drain",   "undrain",	  "pause",
		"resume", "resign", "pin",     "unpin",	  "attach",  "none",	  "unresign",
	};
	size_t which = feed_byte(f) % (sizeof(methods) / sizeof(methods[0]));
	const uint8_t *params;
	size_t len = feed_bytes(f, feed_byte(f), &params);
	struct buffer b;
	struct pack p;

	buffer_init(&b, RPC_REQUEST_MAX);
	pack_init(&p, &b);
	rpc_pack_request(&p, ++last_msgid, methods[which], 0);
	buffer_truncate(&b, b.len - 1); /* the empty array */
	buffer_append(&b, params, len);
	say(i, b.data, b.len);
	buffer_done(&b);
}

/* --- the story ------------------------------------------------------------------------------------- */

/* A client that was refused has been told why and is closed, unless it does not read. */
static void settle(void)
{
	pass(SETTLE_US);
	for (size_t i = 0; i < PEERS_MAX; i++) {
		const struct caller *p = &fake.peers[i];
		if (clients[i].failed && !p->stalled && !p->hung_up && !p->read)
			FUZZ_CHECK(!p->stream && clients[i].told);
	}
}

/*
 * The connection to ZooKeeper goes, with what is on its way, and comes back: at once, or after the session has
 * ended. Or the server starts again.
 */
static void trouble(uint8_t how)
{
	if (how & 4) {
		server_stop(0);
		settle();
		server_start(0, true);
	} else {
		net_cut_client(0, 0, true, true);
		for (struct lib *l = machines[0].libs; l; l = l->next)
			lib_lose(l);
		settle();
	}
	if (how & 1)
		pass(((how & 2 ? T_MS + 2 * TICK_MS : 100) + how) * MS);
	net_heal_client(0, 0);
	pass(FOUND_MS * MS);
	settle();
}

/* The next transaction is lost on its way, or its answer. */
static void doom(uint8_t how)
{
	for (struct lib *l = machines[0].libs; l; l = l->next)
		l->doom = how & 1 ? DOOM_ANSWER : DOOM_REQUEST;
}

static void step(struct feed *f)
{
	static const uid_t uids[] = {0, 1000, 1001, 1002};
	uint8_t kind = feed_byte(f);
	size_t i = kind >> 4 & 3;
	struct caller *p = &fake.peers[i];
	const uint8_t *data;
	size_t len;

	if (!p->stream && (kind & 15) < 8)
		connect_client(i, uids[i]);
	switch (kind & 15) {
	case 0:
	case 1:
	case 2:
	case 3: call(i, f); break;
	case 4:
		len = feed_bytes(f, feed_byte(f), &data);
		say(i, data, len);
		break;
	case 5:
		p->hung_up = true;
		peers_move();
		break;
	case 6:
		p->stalled = !p->stalled;
		peers_move();
		break;
	case 7: return; /* not yet: the next comes in the same turn */
	case 8:
	case 9: pass(feed_byte(f) * 40 * MS); break;
	case 10:
	case 11: touch_node(f); break;
	case 12: trouble(feed_byte(f)); break;
	case 13:
		text_now = feed_byte(f) % N_TEXTS;
		if (reloads++ < RELOADS_MAX) /* many of them only take time */
			send_signal(SIGHUP);
		break;
	case 14: doom(feed_byte(f)); break;
	default: break;
	}
	if (!(kind & 0x80))
		settle();
}

/* Whether somebody has asked what is to be answered at once, or soon. */
static bool is_owed(void)
{
	for (size_t i = 0; i < PEERS_MAX; i++)
		for (size_t j = 0; j < clients[i].n && fake.peers[i].stream; j++)
			if (!clients[i].asked[j].waits && !clients[i].failed)
				return true;
	return false;
}

/* All is answered that does not wait; others still get answers; and it ends when it is told to. */
static void finish_story(void)
{
	for (size_t i = 0; i < PEERS_MAX; i++)
		fake.peers[i].stalled = false;
	peers_move();
	settle();
	for (int64_t ms = 0; is_owed(); ms += 1000) {
		FUZZ_CHECK(ms < QUIET_MS);
		pass(SECOND);
		settle();
	}
	FUZZ_CHECK(privileged || decided == 0);
	connect_client(PEERS_MAX - 1, STATUS_UID);
	static const uint8_t status[] = {0x94, 0, 7, 0xa6, 's', 't', 'a', 't', 'u', 's', 0x90};
	say(PEERS_MAX - 1, status, sizeof(status));
	settle();
	FUZZ_CHECK(clients[PEERS_MAX - 1].n == 0);
	send_signal(SIGTERM);
	for (int64_t ms = 0; !fake.stopped; ms += 1000) {
		pass(SECOND);
		FUZZ_CHECK(ms < STOP_MAX_MS);
	}
}

static struct feed story;

int uv_run(uv_loop_t *l, uv_run_mode mode)
{
	(void)l;
	if (mode == UV_RUN_NOWAIT) {
		pass(SECOND); /* the session's end may still be on its way */
		return 0;
	}
	pass(3 * SECOND); /* it registers, and comes to lead */
	while (story.left > 0)
		step(&story);
	finish_story();
	return 0;
}

/* Sets up a server, near, with clocks that are right: the same for each input. */
static void begin_world(void)
{
	memset(&sim, 0, sizeof(sim));
	sim.random = 1;
	sim.n_servers = sim.n_hosts = 1;
	sim.tick_ms = TICK_MS;
	sim.timeout_ms = T_MS;
	sim.sync_ms = 5 * TICK_MS;
	sim.delay_us = 20;
	events_reset(net_dispose);
	net_reset();
	servers_reset();
	machines_reset();
	machines[0].clock = (struct clock){.start = BOOT_US};
	machines[0].wall_ms = servers[0].wall_ms = WALL_MS - EPOCH_MS;
	servers_propose = on_propose;
	while (servers_leader() < 0)
		FUZZ_CHECK(event_next(INT64_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config *config = NULL;
	struct problems problems;

	story = (struct feed){data, size};
	text_now = 0;
	reloads = 0;
	last_msgid = 0;
	decided = 0;
	privileged = hands = false;
	begin_world();
	fake_begin();
	make_fleet();
	for (size_t i = 0; i < PEERS_MAX; i++) {
		clients[i] = (struct client_state){.n = 0};
		buffer_init(&clients[i].said, RPC_REQUEST_MAX);
	}
	problems_init(&problems);
	FUZZ_CHECK(config_load(CONFIG, NULL, &config, &problems) == 0);
	FUZZ_CHECK(sidecar_run(CONFIG, config, &problems) == 0);
	for (size_t i = 0; i < PEERS_MAX; i++)
		buffer_done(&clients[i].said);
	fake_end();
	return 0;
}
