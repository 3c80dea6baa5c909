/*
 * The sidecar, whole, from its start to its end by TERM: clients that send anything on its socket, a
 * ZooKeeper whose nodes hold anything, cuts and ended sessions. The loop, ZooKeeper, files and clocks
 * are in memory (fake_loop.h, fake_zookeeper.h, and below), all else is as it ships.
 *
 * The input is a list of steps, each a few bytes: see step().
 */
#include "fake_zookeeper.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/log.h"
#include "node/id.h"
#include "daemon/handoff_file.h"
#include "daemon/sidecar.h"
#include "config/textfile.h"
#include "wire/record.h"

#define CONFIG	    "/fuzz/zkleader.conf"
#define RELOADS_MAX 3
#define ASKED_MAX   64
#define STATUS_UID  1002
#define QUIET_MS    20000 /* after which all is answered that does not wait */
#define STOP_MAX_MS 80000 /* jobs may take a minute, and the lease */

/* --- files ----------------------------------------------------------------------------------------- */

#define SERVER "zookeeper=\"127.0.0.1:2181\"\nsocket=\"/fuzz/s\"\n"

static const char *const configs[] = {
	SERVER "version=\"1.0\"\n",
	SERVER "version=\"1.1\"\nyield-delay=\"0s\"\ntick-guard=\"1s\"\n",
	SERVER "version=\n",
};

/* The sidecar's task file, as long as the configuration of that number is in force. */
#define FIRST_TASKS                                             \
	"task \"daily\" {history=2}\n"                          \
	"task \"late\" {on-crash=\"rerun\" users={\"ann\"} }\n" \
	"task \"other\" {yield=\"never\"}\n"
#define OTHER_TASKS                                                            \
	"task \"late\" {on-crash=\"rerun\" users={\"ann\"} hold-max=\"1s\"}\n" \
	"task \"fresh\" {min-version=\"1.1\"}\n"

static const char *const task_texts[] = {FIRST_TASKS, OTHER_TASKS, "task \"late\" {on-crash=}\n"};
#define N_TEXTS (sizeof(task_texts) / sizeof(task_texts[0]))

static size_t text_now; /* of both */
static unsigned reloads;

int __wrap_textfile_read(const char *path, size_t limit, char **ret_text, size_t *ret_len,
			 struct stat *ret_stat);
size_t __wrap_taskdir_load(const struct config *config, struct task_files *ret_files,
			   struct problems *problems);
int __wrap_config_load(const char *path, const struct config *running, struct config **ret_config,
		       struct problems *problems);
int __real_config_load(const char *path, const struct config *running, struct config **ret_config,
		       struct problems *problems);

int __wrap_textfile_read(const char *path, size_t limit, char **ret_text, size_t *ret_len,
			 struct stat *ret_stat)
{
	const char *text = strcmp(path, CONFIG) == 0 ? configs[text_now] : task_texts[text_now];

	(void)limit, (void)ret_stat;
	*ret_text = mem_strdup(text);
	*ret_len = strlen(text);
	return 0;
}

static char *copy_of(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static struct config *copy_config(const struct config *c)
{
	struct config *copy = mem_alloc(sizeof(*copy));

	*copy = *c;
	copy->file = copy_of(c->file);
	copy->zookeeper = copy_of(c->zookeeper);
	for (size_t i = 0; i < c->n_hosts; i++)
		copy->hosts[i].host = copy_of(c->hosts[i].host);
	copy->root = copy_of(c->root);
	copy->version = copy_of(c->version);
	copy->socket = copy_of(c->socket);
	copy->task_dir = copy_of(c->task_dir);
	copy->recipe_users = mem_calloc(c->n_recipe_users + 1, sizeof(*copy->recipe_users));
	for (size_t i = 0; i < c->n_recipe_users; i++)
		copy->recipe_users[i] = copy_of(c->recipe_users[i]);
	zone_file_ref(copy->timezone);
	FUZZ_CHECK(!c->chroot && !c->version_file && !c->address && !c->socket_group &&
		   !c->auth_file && !c->health.command && !c->health.file);
	return copy;
}

/* Its form is the business of another target, so what is good is read once and copied from then on. */
int __wrap_config_load(const char *path, const struct config *running, struct config **ret_config,
		       struct problems *problems)
{
	static const struct config *all[N_TEXTS];
	struct config *loaded = NULL;

	if (!all[text_now]) {
		int r = __real_config_load(path, running, &loaded, problems);
		if (r < 0)
			return r;
		all[text_now] = loaded;
	}
	*ret_config = copy_config(all[text_now]);
	return 0;
}

/* One file, as the configuration. */
size_t __wrap_taskdir_load(const struct config *config, struct task_files *ret_files,
			   struct problems *problems)
{
	static struct loaded {
		bool done;
		int result;
		struct task_config **tasks;
		size_t n;
	} all[N_TEXTS];
	struct loaded *l = &all[text_now];
	struct task_file *file = mem_calloc(1, sizeof(*file));

	(void)config;
	if (!l->done) {
		struct problems ignored;
		problems_init(&ignored);
		l->result = taskfile_load("a.conf", "a.conf", &l->tasks, &l->n, &ignored);
		l->done = true;
		problems_done(&ignored);
	}
	task_files_init(ret_files);
	ret_files->list = file;
	ret_files->n = 1;
	file->name = mem_strdup("a.conf");
	file->path = mem_strdup("a.conf");
	file->refused = l->result < 0;
	file->tasks = mem_calloc(l->n + 1, sizeof(struct task_config *));
	for (; file->n_tasks < l->n; file->n_tasks++)
		file->tasks[file->n_tasks] = task_config_copy(l->tasks[file->n_tasks]);
	if (l->result < 0)
		problems_add(problems, "a.conf", 1, "the value of on-crash is missing");
	return l->result < 0;
}

void files_init(struct files *f, uv_loop_t *l, void (*tasks_changed)(void *arg),
		void (*version_changed)(void *arg), void *arg)
{
	(void)f, (void)l, (void)tasks_changed, (void)version_changed, (void)arg;
}

void files_watch(struct files *f, const char *task_dir, const char *version_file)
{
	(void)f, (void)task_dir, (void)version_file;
}

void files_done(struct files *f)
{
	(void)f;
}

int handoff_file_read(const char *socket, struct kept *ret_kept, const char **ret_why)
{
	(void)socket, (void)ret_kept, (void)ret_why;
	return -ENOENT;
}

int handoff_file_write(const char *socket, const struct kept *kept, const char **ret_why)
{
	(void)socket, (void)kept, (void)ret_why;
	return 0;
}

int handoff_file_write_runs(const char *socket, const struct handoff_run *runs, size_t n)
{
	(void)socket;
	for (size_t i = 0; i < n; i++)
		FUZZ_CHECK(name_is_task(runs[i].task, strlen(runs[i].task)) &&
			   name_is_id(runs[i].id, strlen(runs[i].id)));
	return 0;
}

int handoff_file_read_runs(const char *socket, struct handoff_run **ret_runs, size_t *ret_n,
			   bool *ret_all)
{
	(void)socket, (void)ret_runs, (void)ret_n, (void)ret_all;
	return -ENOENT;
}

void handoff_file_remove(const char *socket)
{
	(void)socket;
}

/* --- the system ------------------------------------------------------------------------------------ */

int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
int __wrap_flock(int fd, int operation);
int __wrap_lstat(const char *path, struct stat *st);
int __wrap_chmod(const char *path, mode_t mode);
int __wrap_unlink(const char *path);
mode_t __wrap_umask(mode_t mask);
uid_t __wrap_geteuid(void);
int __wrap_getpwnam_r(const char *name, struct passwd *user, char *buffer, size_t size,
		      struct passwd **ret);
int __wrap_getpwuid_r(uid_t uid, struct passwd *user, char *buffer, size_t size,
		      struct passwd **ret);
int __wrap_gethostname(char *name, size_t size);
ssize_t __wrap_getrandom(void *data, size_t size, unsigned flags);
void __wrap_log_write(enum log_level level, const char *message, const struct log_field *fields);

int __wrap_open(const char *path, int flags, ...)
{
	FUZZ_CHECK(strcmp(path, "/fuzz/s.lock") == 0 && (flags & O_CREAT));
	return 3000;
}

int __wrap_close(int fd)
{
	FUZZ_CHECK(fd == 3000);
	return 0;
}

int __wrap_flock(int fd, int operation)
{
	(void)fd, (void)operation;
	return 0;
}

int __wrap_lstat(const char *path, struct stat *st)
{
	(void)path, (void)st;
	errno = ENOENT;
	return -1;
}

int __wrap_chmod(const char *path, mode_t mode)
{
	(void)path, (void)mode;
	return 0;
}

int __wrap_unlink(const char *path)
{
	(void)path;
	return 0;
}

mode_t __wrap_umask(mode_t mask)
{
	(void)mask;
	return 0;
}

/* The sidecar's own user; 1001 is ann. */
uid_t __wrap_geteuid(void)
{
	return 1000;
}

int __wrap_getpwnam_r(const char *name, struct passwd *user, char *buffer, size_t size,
		      struct passwd **ret)
{
	(void)buffer, (void)size;
	*user = (struct passwd){.pw_uid = 1001};
	*ret = strcmp(name, "ann") == 0 ? user : NULL;
	return 0;
}

int __wrap_getpwuid_r(uid_t uid, struct passwd *user, char *buffer, size_t size,
		      struct passwd **ret)
{
	(void)buffer, (void)size;
	*user = (struct passwd){.pw_name = uid == 0 ? (char[]){"root"} : (char[]){"somebody"}};
	*ret = uid == 1002 ? NULL : user;
	return 0;
}

int __wrap_gethostname(char *name, size_t size)
{
	snprintf(name, size, "app1");
	return 0;
}

ssize_t __wrap_getrandom(void *data, size_t size, unsigned flags)
{
	(void)flags;
	memset(data, 0x55, size);
	return (ssize_t)size;
}

void __wrap_log_write(enum log_level level, const char *message, const struct log_field *fields)
{
	(void)level, (void)message, (void)fields;
}

void id_new(struct host *h, char id[NAME_ID_MAX + 1])
{
	static unsigned number;

	(void)h;
	snprintf(id, NAME_ID_MAX + 1, "00000000-0000-4000-8000-%012x", ++number);
}

/* Never called: no task has a health check. */
int uv_spawn(uv_loop_t *l, uv_process_t *handle, const uv_process_options_t *options)
{
	(void)l, (void)handle, (void)options;
	abort();
}

unsigned uv_available_parallelism(void)
{
	return 2;
}

const char *uv_strerror(int error)
{
	(void)error;
	return "error";
}

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

static bool hands; /* have touched what is led */

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
	znode_create(path, data.data, data.len, session);
	buffer_done(&data);
	worker_free(w);
}

/* One as old as we are that could lead all, and a newer one that leads one of them. */
static void make_fleet(void)
{
	static const char *const tasks[] = {"daily", "late", "other"};
	struct leader_record leader = {
		.id = "b", .ip = "10.0.0.2", .hostname = "host-b", .version = "2.0"};
	struct buffer data;

	znode_create("/myapps", NULL, 0, 0);
	znode_create("/myapps/workers", NULL, 0, 0);
	znode_create("/myapps/leaders", NULL, 0, 0);
	znode_create("/myapps/policy", NULL, 0, 0);
	add_worker("a", "1.0", tasks, 3, 0x501);
	add_worker("b", "2.0", tasks + 2, 1, 0x502);
	buffer_init(&data, RECORD_LEADER_MAX);
	FUZZ_CHECK(record_pack_leader(&data, &leader) == 0);
	znode_create("/myapps/leaders/other", data.data, data.len, 0x502);
	buffer_done(&data);
}

static bool has_children(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < zoo.n; i++)
		if (zoo.nodes[i].path_len > len && zoo.nodes[i].path[len] == '/' &&
		    memcmp(zoo.nodes[i].path, path, len) == 0)
			return true;
	return false;
}

/* Somebody else writes, makes or deletes a node. */
static void touch_node(struct feed *f)
{
	uint8_t which = feed_byte(f);
	const char *path = nodes[which % N_NODES];
	const uint8_t *data;
	size_t len = feed_bytes(f, feed_byte(f), &data);
	struct znode *node = znode_find(path);

	hands |= which % N_NODES < 3;
	zoo.zxid++;
	if (!node && has_parent(path))
		znode_create(path, data, len, which & 0x80 ? 0 : 0x503);
	else if (node && len > 0)
		znode_set(node, data, len);
	else if (node && !has_children(path))
		znode_delete(node);
}

/* --- clients --------------------------------------------------------------------------------------- */

/* What a client has asked, and what it must hear. */
static struct client_state {
	struct buffer said; /* of what it has sent, the part that is no whole frame */
	struct asked {
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
static bool privileged; /* somebody who may change something was there */

static void connect_client(size_t i, uid_t uid)
{
	buffer_clear(&clients[i].said);
	clients[i].n = 0;
	clients[i].failed = clients[i].told = clients[i].too_many = false;
	privileged |= uid != STATUS_UID;
	peer_connect(&loop.peers[i], uid);
}

static void note_request(struct client_state *c, const struct rpc_message *m)
{
	bool check = reader_text_is(m->method, "check");

	if (c->n == ASKED_MAX) {
		c->too_many = true;
		return;
	}
	c->asked[c->n++] = (struct asked){
		.msgid = m->msgid,
		.waits = (check && m->n_params > 1) || reader_text_is(m->method, "claim") ||
			 reader_text_is(m->method, "attach"),
		.check = check,
	};
}

static void say(size_t i, const void *data, size_t len)
{
	struct client_state *c = &clients[i];
	struct caller *p = &loop.peers[i];
	int state = 1;
	size_t frame;

	if (!p->stream || p->hung_up || c->failed || p->in.len + len > RPC_REQUEST_MAX ||
	    buffer_append(&c->said, data, len) != 0)
		return;
	FUZZ_CHECK(buffer_append(&p->in, data, len) == 0);
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
	FUZZ_CHECK(leader == (lease_ms > 0) && lease_ms < ZK_TIMEOUT_MS);
	if (!leader || hands)
		return;
	snprintf(path, sizeof(path), "/myapps/leaders/%.*s", (int)task.len, task.data);
	const struct znode *node = znode_find(path);
	FUZZ_CHECK(node && node->stat.czxid == token && node->stat.owner > 0x1000);
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
	/* Where a number was used twice, whichever was meant. */
	for (size_t j = i + 1; j < c->n; j++)
		c->asked[i].waits &= c->asked[j].msgid != m->msgid;
	if (c->asked[i].check && !m->failed && !late)
		check_leads(m->result);
	c->asked[i] = c->asked[--c->n];
}

static void peer_hear(struct caller *p, bool late)
{
	struct client_state *c = &clients[p - loop.peers];

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

/* Who was refused has been told why, and is closed, unless it does not read. */
static void settle(void)
{
	loop_settle();
	for (size_t i = 0; i < PEERS_MAX; i++) {
		const struct caller *p = &loop.peers[i];
		if (clients[i].failed && !p->stalled && !p->hung_up && !p->read)
			FUZZ_CHECK(!p->stream && clients[i].told);
	}
}

/* The connection to ZooKeeper goes, and comes back, with a session that lived on or has ended. */
static void trouble(uint8_t how)
{
	zoo_cut();
	settle();
	if (how & 1)
		loop_pass((how & 2 ? ZK_TIMEOUT_MS : 100) + how);
	/* Only once nothing is promised any more. */
	zoo_heal((how & 3) == 3);
	settle();
}

static void step(struct feed *f)
{
	static const uid_t uids[] = {0, 1000, 1001, 1002};
	uint8_t kind = feed_byte(f);
	size_t i = kind >> 4 & 3;
	struct caller *p = &loop.peers[i];
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
	case 5: p->hung_up = true; break;
	case 6: p->stalled = !p->stalled; break;
	case 7: return; /* not yet: the next comes in the same turn */
	case 8:
	case 9: loop_pass(feed_byte(f) * INT64_C(40)); break;
	case 10:
	case 11: touch_node(f); break;
	case 12: trouble(feed_byte(f)); break;
	case 13:
		text_now = feed_byte(f) % N_TEXTS;
		if (reloads++ < RELOADS_MAX) /* many of them only take time */
			loop_signal(SIGHUP);
		break;
	default: break;
	}
	if (!(kind & 0x80))
		settle();
}

/* Whether somebody has asked what is to be answered at once, or soon. */
static bool is_owed(void)
{
	for (size_t i = 0; i < PEERS_MAX; i++)
		for (size_t j = 0; j < clients[i].n && loop.peers[i].stream; j++)
			if (!clients[i].asked[j].waits && !clients[i].failed)
				return true;
	return false;
}

/* All is answered that does not wait; others still get answers; and it ends when it is told to. */
static void finish_story(void)
{
	for (size_t i = 0; i < PEERS_MAX; i++)
		loop.peers[i].stalled = false;
	settle();
	for (int64_t ms = 0; is_owed(); ms += 1000) {
		FUZZ_CHECK(ms < QUIET_MS);
		loop_pass(1000);
		settle();
	}
	FUZZ_CHECK(privileged || zoo.decided == 0);
	connect_client(PEERS_MAX - 1, STATUS_UID);
	static const uint8_t status[] = {0x94, 0, 7, 0xa6, 's', 't', 'a', 't', 'u', 's', 0x90};
	say(PEERS_MAX - 1, status, sizeof(status));
	settle();
	FUZZ_CHECK(clients[PEERS_MAX - 1].n == 0);
	loop_signal(SIGTERM);
	for (int64_t ms = 0; !loop.stopped; ms += 1000) {
		loop_pass(1000);
		FUZZ_CHECK(ms < STOP_MAX_MS);
	}
}

static struct feed story;

int uv_run(uv_loop_t *l, uv_run_mode mode)
{
	(void)l;
	if (mode == UV_RUN_NOWAIT)
		return loop_turn();
	loop_pass(3000); /* it registers, and comes to lead */
	while (story.left > 0)
		step(&story);
	finish_story();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config *config = NULL;
	struct problems problems;

	story = (struct feed){data, size};
	text_now = 0;
	reloads = 0;
	last_msgid = 0;
	privileged = hands = false;
	loop_begin();
	zoo_begin();
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
	zoo_end();
	loop_end();
	return 0;
}
