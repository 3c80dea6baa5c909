/*
 * usage: compare SERVERS OTHER SEED STEPS. OTHER is another way to the same server, for the first of a few
 * sessions: store_hang_up() ends all connections of a process to one address. They ask for random things, several
 * at once, of a folder that has to be empty. One line for each reply and each watch, in their order for each
 * session; numbers of transactions count from the first one. The model and a real server have to say the same.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "node/store.h"

#define CLIENTS	  3
#define BATCH_MAX 4
#define OPS_MAX	  4
#define LINES_MAX 512
#define LINE_SIZE 4000
#define NAMES_MAX 256
#define PATH_SIZE 16

struct client {
	unsigned id;
	struct store *store;
	int64_t session;
	bool connected, closed;
	unsigned losses; /* of connections */
	unsigned outstanding;
	char lines[LINES_MAX][LINE_SIZE];
	size_t n_lines;
};

static struct client clients[CLIENTS];
static int64_t base_zxid;
static uint64_t state;

/* --- random numbers of its own: the model draws others ----------------------------------------------- */

static unsigned draw(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(state >> 33) % n;
}

static void draw_path(char path[PATH_SIZE])
{
	static const char *const paths[] = {"/t/a", "/t/b", "/t/a/x", "/t/a/y", "/t/b/x", "/t/c"};

	strcpy(path, paths[draw(sizeof(paths) / sizeof(paths[0]))]);
}

/* --- what is said ------------------------------------------------------------------------------------ */

static void say(struct client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct client *c, const char *format, ...)
{
	va_list args;

	if (c->n_lines == LINES_MAX)
		abort();
	va_start(args, format);
	vsnprintf(c->lines[c->n_lines++], LINE_SIZE, format, args);
	va_end(args);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* sorted: where the order of what comes is not promised. */
static void print_all(bool sorted)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *c = &clients[i];
		if (sorted)
			qsort(c->lines, c->n_lines, LINE_SIZE, compare_lines);
		for (size_t k = 0; k < c->n_lines; k++)
			printf("client %u: %s\n", c->id, c->lines[k]);
		c->n_lines = 0;
	}
}

static const char *code_name(enum store_code code)
{
	static const char *const names[] = {"ok",      "no node", "node exists", "bad version",
					    "no auth", "failed",  "unknown",	 "abandoned"};

	return names[code];
}

static const char *owner_name(int64_t owner)
{
	static const char *const names[CLIENTS] = {"client 0", "client 1", "client 2"};

	for (unsigned i = 0; i < CLIENTS; i++)
		if (owner != 0 && clients[i].session == owner)
			return names[i];
	return owner == 0 ? "nobody" : "somebody";
}

static void format_stat(char *text, size_t size, const struct store_stat *s)
{
	snprintf(text, size, "created %lld, written %lld, children %lld: %d, version %d, owner %s",
		 (long long)(s->czxid - base_zxid), (long long)(s->mzxid - base_zxid),
		 (long long)(s->pzxid - base_zxid), (int)s->children, (int)s->version,
		 owner_name(s->owner));
}

/* --- requests ---------------------------------------------------------------------------------------- */

struct asked {
	struct client *client;
	enum {
		ASKED_GET,
		ASKED_EXISTS,
		ASKED_CHILDREN,
		ASKED_MULTI,
		ASKED_CREATE,
		ASKED_UNWATCH
	} type;
	char path[PATH_SIZE];
	bool sets;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void say_names(struct client *c, const struct asked *a, const struct store_reply *reply)
{
	const char *names[NAMES_MAX];
	char text[LINE_SIZE - 100] = "";

	if (reply->n_names > NAMES_MAX)
		abort();
	for (size_t i = 0; i < reply->n_names; i++)
		names[i] = reply->names[i];
	qsort(names, reply->n_names, sizeof(names[0]), compare_names);
	for (size_t i = 0; i < reply->n_names; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", names[i]);
	say(c, "children %s: %s,%s", a->path, code_name(reply->code), text);
}

static void on_reply(void *arg, const struct store_reply *reply)
{
	static const char *const words[] = {"get",   "exists", "children",
					    "multi", "create", "unwatch"};
	struct asked *a = arg;
	struct client *c = a->client;
	char stat[200] = "";

	c->outstanding--;
	if (reply->code == STORE_OK && a->type != ASKED_CREATE && a->type != ASKED_UNWATCH &&
	    (a->type != ASKED_MULTI || a->sets))
		format_stat(stat, sizeof(stat), &reply->stat);
	if (a->type == ASKED_CHILDREN)
		say_names(c, a, reply);
	else
		say(c, "%s %s: %s, operation %d, %s, data \"%.*s\"", words[a->type], a->path,
		    code_name(reply->code), reply->failed_op, stat, (int)reply->len,
		    reply->data ? (const char *)reply->data : "");
	free(a);
}

static void ask_read(struct client *c, struct asked *a)
{
	bool watch = draw(2);

	draw_path(a->path);
	a->type = draw(3);
	if (a->type == ASKED_GET)
		store_get(c->store, a->path, watch, on_reply, a);
	else if (a->type == ASKED_EXISTS)
		store_exists(c->store, a->path, watch, on_reply, a);
	else
		store_children(c->store, a->path, watch, on_reply, a);
}

static void ask_multi(struct client *c, struct asked *a, unsigned most)
{
	static const enum store_op_type types[] = {
		STORE_OP_CREATE,
		STORE_OP_CREATE,
		STORE_OP_CREATE_EPHEMERAL,
		STORE_OP_CREATE_EPHEMERAL,
		STORE_OP_SET,
		STORE_OP_SET,
		STORE_OP_DELETE,
		STORE_OP_CHECK,
		STORE_OP_DELETE,
		STORE_OP_CREATE_SEQUENTIAL,
	};
	struct store_op ops[OPS_MAX];
	char paths[OPS_MAX][PATH_SIZE], data[OPS_MAX][8];
	size_t n = draw(3) ? 1 : 1 + draw(most);

	a->type = ASKED_MULTI;
	for (size_t i = 0; i < n; i++) {
		draw_path(paths[i]);
		snprintf(data[i], sizeof(data[i]), "%u", draw(1000));
		ops[i] = (struct store_op){.type = types[draw(10)],
					   .path = paths[i],
					   .data = data[i],
					   .len = draw(4) ? strlen(data[i]) : 0,
					   .version = draw(3) ? -1 : (int32_t)draw(3)};
		a->sets |= ops[i].type == STORE_OP_SET;
	}
	strcpy(a->path, n == 1 ? paths[0] : "several");
	store_multi(c->store, ops, n, on_reply, a);
}

static void ask(struct client *c, unsigned most_ops)
{
	struct asked *a = calloc(1, sizeof(*a));

	a->client = c;
	c->outstanding++;
	/* Only where no request is outstanding that may set the watch. */
	if (c->outstanding == 1 && draw(6) == 0) {
		a->type = ASKED_UNWATCH;
		draw_path(a->path);
		store_unwatch(c->store, a->path, draw(2), on_reply, a);
	} else if (draw(2)) {
		ask_read(c, a);
	} else if (draw(5)) {
		ask_multi(c, a, most_ops);
	} else {
		a->type = ASKED_CREATE;
		draw_path(a->path);
		store_create(c->store, a->path, on_reply, a);
	}
}

/* --- sessions ---------------------------------------------------------------------------------------- */

static void on_state(void *arg, enum store_state s)
{
	struct client *c = arg;

	c->connected = s == STORE_CONNECTED;
	c->losses += s == STORE_CONNECTING;
	if (c->connected)
		c->session = store_session(c->store);
}

static void on_watch(void *arg, enum store_watch type, const char *path)
{
	static const char *const names[] = {"created", "changed", "deleted", "children"};

	say(arg, "watch %s %s", names[type], path);
}

static void on_heard(void *arg, int64_t sent_ms)
{
	(void)arg, (void)sent_ms;
}

static void on_closed(void *arg)
{
	((struct client *)arg)->closed = true;
}

static void open_client(struct host *host, struct client *c, const char *servers)
{
	struct store_handlers handlers = {
		.state = on_state, .watch = on_watch, .heard = on_heard, .arg = c};
	struct store_options options = {.servers = servers, .timeout_ms = 4000};

	c->connected = false;
	if (store_open(&c->store, host, &options, &handlers) != 0)
		abort();
	while (!c->connected)
		world_step();
}

static void close_client(struct client *c)
{
	c->closed = false;
	store_close(c->store, on_closed, c);
	while (!c->closed)
		world_step();
}

static void wait_for(struct client *c)
{
	while (c->outstanding > 0)
		world_step();
}

static void on_barrier(void *arg, const struct store_reply *reply)
{
	(void)reply;
	((struct client *)arg)->outstanding--;
}

/*
 * Whatever a server had to tell before has come once it has answered this. What one has asked for is done before
 * another is asked: it may watch that.
 */
static void wait_all(void)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		wait_for(&clients[i]);
	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i].outstanding++;
		store_exists(clients[i].store, "/", false, on_barrier, &clients[i]);
		wait_for(&clients[i]);
	}
}

static void on_first(void *arg, const struct store_reply *reply)
{
	struct client *c = arg;

	c->outstanding--;
	if (reply->code == STORE_OK && reply->stat.czxid != 0)
		base_zxid = reply->stat.czxid;
}

/* All but the first lose their connection, and something changes before or after they have another. */
static void reconnect(void)
{
	unsigned before[CLIENTS];

	for (unsigned i = 1; i < CLIENTS; i++)
		before[i] = clients[i].losses;
	world_hang_up(clients[1].store, clients[2].store);
	for (unsigned i = 1; i < CLIENTS; i++)
		while (clients[i].losses == before[i])
			world_step();
	ask(&clients[0], 1);
	wait_for(&clients[0]);
	for (unsigned i = 1; i < CLIENTS; i++)
		while (!clients[i].connected)
			world_step();
}

int main(int argc, char **argv)
{
	struct host *host;

	if (argc != 5) {
		fputs("usage: compare SERVERS OTHER SEED STEPS\n", stderr);
		return 2;
	}
	host = world_open();
	state = strtoull(argv[3], NULL, 10);
	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i].id = i;
		open_client(host, &clients[i], argv[i == 0 ? 2 : 1]);
	}
	clients[0].outstanding += 2;
	store_create(clients[0].store, "/t", on_first, &clients[0]);
	store_exists(clients[0].store, "/t", false, on_first, &clients[0]);
	wait_all();
	for (long step = 0; step < strtol(argv[4], NULL, 10); step++) {
		struct client *c = &clients[draw(CLIENTS)];
		unsigned what = draw(40);
		printf("step %ld\n", step);
		if (what == 0) {
			close_client(c);
			open_client(host, c, argv[c->id == 0 ? 2 : 1]);
		} else if (what == 1) {
			reconnect();
		} else {
			for (unsigned n = 1 + draw(BATCH_MAX); n > 0; n--)
				ask(c, OPS_MAX);
		}
		wait_all();
		print_all(what <= 1);
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		close_client(&clients[i]);
	return 0;
}
