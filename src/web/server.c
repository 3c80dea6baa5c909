#include "web/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "web/events.h"
#include "web/exchange.h"

#define CLIENTS_MAX   500
#define CLIENT_MEMORY (32 * 1024) /* bytes for a request and its headers */
#define IDLE_S	      30
#define REQUEST_MS    10000 /* the longest time for sending a request */
#define LOOK_MS	      1000
#define SUBSCRIBE_MS  4000
#define PATIENCE_MS   5

/* A client's connection, in a list without an order. */
struct client {
	LIST_ENTRY(client) link;
	int fd;
	int64_t since_ms; /* when waiting for its request began; 0: one is being handled */
};

struct server {
	uv_loop_t *loop;
	struct MHD_Daemon *http;
	uv_poll_t poll;	      /* libmicrohttpd's epoll descriptor */
	uv_timer_t due, look; /* next run of the library; checks for slow clients */
	uv_timer_t patience;  /* runs while requests wait for answers that may be missing */
	struct sidecar sidecar;
	struct shared shared;
	struct events events;
	struct exchange_world world;
	LIST_HEAD(client_list, client) clients;
	bool subscribed;
};

/* --- turns of libmicrohttpd ----------------------------------------------- */

static void on_due(uv_timer_t *timer);

static void run(struct server *s)
{
	MHD_UNSIGNED_LONG_LONG left_ms;

	MHD_run(s->http);
	if (MHD_get_timeout(s->http, &left_ms) == MHD_YES)
		uv_timer_start(&s->due, on_due, left_ms, 0);
	else
		uv_timer_stop(&s->due);
}

static void on_due(uv_timer_t *timer)
{
	run(timer->data);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	run(poll->data);
}

/*
 * Runs libmicrohttpd soon, for connections that were resumed. It cannot run at once, as this may be
 * called from within such a run.
 */
static void wake(struct server *s)
{
	uv_timer_start(&s->due, on_due, 0, 0);
}

static void on_patience(uv_timer_t *timer)
{
	struct server *s = timer->data;

	if (!exchange_look(&s->world))
		uv_timer_stop(timer);
}

static void on_waits(void *arg)
{
	struct server *s = arg;

	uv_timer_start(&s->patience, on_patience, PATIENCE_MS, PATIENCE_MS);
}

static void on_ready(void *arg)
{
	wake(arg);
}

/* --- requests ------------------------------------------------------------- */

static struct client *client_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **context)
{
	struct server *s = arg;
	struct client *c = client_of(connection);

	(void)version;
	(void)upload;
	/* The first call for a request comes before its body. Bodies are read and dropped. */
	if (!*context) {
		*context = exchange_new(&s->world);
		return MHD_YES;
	}
	if (*upload_size > 0) {
		*upload_size = 0;
		return MHD_YES;
	}
	if (c)
		c->since_ms = 0;
	return exchange_step(*context, connection, url, method);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
			 enum MHD_RequestTerminationCode code)
{
	struct client *c = client_of(connection);

	(void)arg;
	(void)code;
	if (c)
		c->since_ms = clock_boot_ms();
	exchange_free(*context);
	*context = NULL;
}

static void on_client(void *arg, struct MHD_Connection *connection, void **context,
		      enum MHD_ConnectionNotificationCode code)
{
	struct server *s = arg;
	struct client *c = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		c = mem_calloc(1, sizeof(*c));
		c->fd = info->connect_fd;
		c->since_ms = clock_boot_ms();
		LIST_INSERT_HEAD(&s->clients, c, link);
		*context = c;
		return;
	}
	LIST_REMOVE(c, link);
	free(c);
}

/*
 * Ends connections whose request takes too long. A client that sends byte by byte is never idle for
 * libmicrohttpd, but occupies one of the connections.
 */
static void on_look(uv_timer_t *timer)
{
	struct server *s = timer->data;
	int64_t now = clock_boot_ms();

	for (struct client *c = LIST_FIRST(&s->clients); c; c = LIST_NEXT(c, link))
		if (c->since_ms > 0 && now - c->since_ms > REQUEST_MS)
			shutdown(c->fd, SHUT_RDWR);
	events_look(&s->events, now);
	shared_look(&s->shared, now);
	log_catch_up();
	wake(s);
}

/* --- the sidecar ---------------------------------------------------------- */

static void on_subscribed(void *arg, int code, const char *why, struct reader result)
{
	struct server *s = arg;

	(void)result;
	if (code == 0)
		return;
	s->subscribed = false;
	log_warning("the sidecar tells nothing of changes", LOG_STR("why", why));
}

/* Subscribes at the sidecar only once a client listens for events. */
static void on_listens(void *arg)
{
	struct server *s = arg;

	if (!s->subscribed)
		s->subscribed =
			sidecar_ask(&s->sidecar, &(struct sidecar_request){.method = "subscribe"},
				    SUBSCRIBE_MS, on_subscribed, s) == 0;
}

static void on_told(void *arg, const char *method, struct reader param)
{
	struct server *s = arg;
	json_auto_t *data = NULL;

	if (json_from_msgpack(param.p, (size_t)(param.end - param.p), &data) < 0)
		return;
	events_tell(&s->events, method, data);
	wake(s);
}

static void on_connected(void *arg, bool connected)
{
	struct server *s = arg;

	s->subscribed = false;
	if (connected) {
		log_info("connected to the sidecar",
			 LOG_STR("socket", s->sidecar.link.address.sun_path));
		if (s->events.n > 0)
			on_listens(s);
		return;
	}
	log_warning("the sidecar has gone: trying again",
		    LOG_STR("socket", s->sidecar.link.address.sun_path));
	json_auto_t *data = json_pack("{s:b,s:b}", "confirmed", 0, "sidecar", 0);
	events_tell(&s->events, "connection", data);
	wake(s);
}

/* --- start and end -------------------------------------------------------- */

static void on_panic(void *arg, const char *file, unsigned line, const char *reason)
{
	(void)arg;
	(void)file;
	log_error("libmicrohttpd gives up", LOG_STR("reason", reason), LOG_INT("line", line));
	abort();
}

static int start_http(struct server *s, const struct server_options *options)
{
	MHD_set_panic_func(on_panic, NULL);
	s->http = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, s,
		MHD_OPTION_LISTEN_SOCKET, options->fd, MHD_OPTION_CONNECTION_LIMIT, CLIENTS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CLIENT_MEMORY, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
		MHD_OPTION_NOTIFY_CONNECTION, on_client, s, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_END);
	if (!s->http)
		return -ENOMEM;
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->http, MHD_DAEMON_INFO_EPOLL_FD);
	int e = uv_poll_init(s->loop, &s->poll, info->epoll_fd);
	if (e < 0)
		return e;
	s->poll.data = s;
	return uv_poll_start(&s->poll, UV_READABLE, on_readable);
}

int server_new(struct server **ret, uv_loop_t *loop, const struct server_options *options)
{
	struct server *s = mem_calloc(1, sizeof(*s));
	const struct sidecar_handlers handlers = {
		.told = on_told, .connected = on_connected, .arg = s};

	s->loop = loop;
	s->world = (struct exchange_world){.access = options->access,
					   .sidecar = &s->sidecar,
					   .shared = &s->shared,
					   .events = &s->events,
					   .listens = on_listens,
					   .waits = on_waits,
					   .ready = on_ready,
					   .arg = s};
	events_init(&s->events);
	shared_init(&s->shared, &s->sidecar);
	uv_timer_init(loop, &s->due);
	uv_timer_init(loop, &s->look);
	uv_timer_init(loop, &s->patience);
	s->due.data = s->look.data = s->patience.data = s;
	int e = start_http(s, options);
	if (e == 0)
		e = sidecar_init(&s->sidecar, loop, options->socket, &handlers);
	if (e < 0)
		return e; /* nothing is freed, as the process ends */
	uv_timer_start(&s->look, on_look, LOOK_MS, LOOK_MS);
	*ret = s;
	return 0;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	uv_timer_stop(&s->look);
	uv_timer_stop(&s->due);
	uv_timer_stop(&s->patience);
	uv_poll_stop(&s->poll);
	sidecar_done(&s->sidecar);
	events_done(&s->events);
	/* Sends the answers to requests that still wait. */
	MHD_run(s->http);
	MHD_stop_daemon(s->http);
	shared_done(&s->shared);
	free(s);
}
