/*
 * The queue between the ZooKeeper library's threads and the loop, and the ways in which a handle ends,
 * under TSan: handles are opened, asked many things at once and closed, again and again.
 *
 *   tsan_zk SERVERS ROUNDS LEAST     SERVERS is numeric, host:port; nobody needs to listen there
 *
 * Every request has to be answered exactly once, and at least LEAST of them with success. Prints how many.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log/log.h"
#include "daemon/machine/host_uv.h"
#include "node/store.h"

#define HANDLES	     3
#define BATCHES	     20
#define BATCH	     6	 /* requests that ask() makes */
#define LIFE_MS	     400 /* of a handle without a server */
#define LIFE_LONG_MS 20000
#define PATH	     "/tsan"

struct client {
	struct store *store;
	uv_timer_t life;
	int rounds;
	int asked, answered, ok;
	bool closing;
};

static const char *servers;
static struct host host;
static int total, total_ok, open_handles;

static void start(struct client *c);

static void on_closed(void *arg)
{
	struct client *c = arg;

	total += c->answered;
	total_ok += c->ok;
	if (c->answered != c->asked) {
		fprintf(stderr, "%d requests, %d answers\n", c->asked, c->answered);
		exit(1);
	}
	open_handles--;
	if (--c->rounds > 0)
		start(c);
	else
		uv_close((uv_handle_t *)&c->life, NULL);
}

/* As the sidecar does at its end, while a farewell may take longer: timers are closed, whosever they are. */
static void on_walk(uv_handle_t *handle, void *store)
{
	if (handle->type == UV_TIMER && handle->data == store && !uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void end(struct client *c)
{
	if (c->closing)
		return;
	c->closing = true;
	uv_timer_stop(&c->life);
	store_close(c->store, on_closed, c);
	uv_walk(uv_default_loop(), on_walk, c->store);
}

static void on_life(uv_timer_t *timer)
{
	end(timer->data);
}

static void on_reply(void *arg, const struct store_reply *reply)
{
	struct client *c = arg;

	c->answered++;
	c->ok += reply->code == STORE_OK;
	/* The names in the reply are read too: they belong to the loop by now. */
	for (size_t i = 0; i < reply->n_names; i++)
		c->ok += reply->names[i][0] == '\0';
	/* Half of the handles end with requests on their way. */
	if (c->answered == (c->rounds % 2 ? c->asked : c->asked / 2) &&
	    reply->code != STORE_ABANDONED)
		end(c);
}

static void ask(struct client *c, int batch)
{
	char path[64];
	struct store_op ops[] = {
		{.type = STORE_OP_CREATE_EPHEMERAL, .path = path, .data = "data", .len = 4},
		{.type = STORE_OP_SET, .path = path, .data = "more", .len = 4, .version = -1},
		{.type = STORE_OP_CHECK, .path = PATH, .version = -1},
		{.type = STORE_OP_DELETE, .path = path, .version = -1},
	};

	snprintf(path, sizeof(path), PATH "/%p-%d-%d", (void *)c, c->rounds, batch);
	c->asked += BATCH;
	store_create(c->store, PATH, on_reply, c);
	store_get(c->store, PATH, true, on_reply, c);
	store_exists(c->store, path, true, on_reply, c);
	store_children(c->store, "/", true, on_reply, c);
	store_multi(c->store, ops, sizeof(ops) / sizeof(ops[0]), on_reply, c);
	store_multi(c->store, ops, 2, on_reply, c);
}

static void on_state(void *arg, enum store_state state)
{
	struct client *c = arg;

	if (state == STORE_CONNECTED && c->asked == 0) {
		for (int i = 0; i < BATCHES; i++)
			ask(c, i);
		uv_timer_start(&c->life, on_life, LIFE_LONG_MS, 0);
	}
}

static void on_watch(void *arg, enum store_watch type, const char *path)
{
	(void)arg, (void)type;
	if (path[0] != '/')
		exit(1);
}

static void on_heard(void *arg, int64_t sent_ms)
{
	struct client *c = arg;

	if (c->closing || sent_ms <= 0 || sent_ms > clock_boot_ms())
		exit(1);
}

static void start(struct client *c)
{
	struct store_options options = {.servers = servers, .timeout_ms = 4000};
	struct store_handlers handlers = {
		.state = on_state, .watch = on_watch, .heard = on_heard, .arg = c};

	c->asked = c->answered = c->ok = 0;
	c->closing = false;
	if (store_open(&c->store, &host, &options, &handlers) != 0)
		exit(1);
	open_handles++;
	uv_timer_start(&c->life, on_life, LIFE_MS, 0);
	/* A handle without a server answers each of its requests as well. */
	if (c->rounds % 3 == 0)
		ask(c, 0);
}

static void *nothing(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	struct client clients[HANDLES];
	pthread_t first;
	int rounds = argc == 4 ? atoi(argv[2]) : 0, least = argc == 4 ? atoi(argv[3]) : 0;

	if (rounds <= 0) {
		fprintf(stderr, "usage: tsan_zk SERVERS ROUNDS LEAST\n");
		return 2;
	}
	servers = argv[1];
	/* TSan starts a thread of its own with the first of ours: store_open() must not count it. */
	if (pthread_create(&first, NULL, nothing, NULL) == 0)
		pthread_join(first, NULL);
	log_setup(LOG_DEBUG, LOG_TEXT, false);
	host.loop = uv_default_loop();
	for (int i = 0; i < HANDLES; i++) {
		clients[i] = (struct client){.rounds = rounds + i};
		uv_timer_init(uv_default_loop(), &clients[i].life);
		clients[i].life.data = &clients[i];
		start(&clients[i]);
	}
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_library_shutdown();
	printf("%d requests answered once each, %d of them done\n", total, total_ok);
	return open_handles == 0 && total > 0 && total_ok >= least ? 0 : 1;
}
