#include "node/session.h"

#include <assert.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/aside.h"

#define LOOKUP_RETRY_MS 2000  /* after a lookup that found nothing */
#define RELOOKUP_MS	10000 /* while no server answers */
#define GRACE_MIN_MS	1000  /* for ours to connect after all, once the probe has */
#define GRACE_MAX_MS	3000
#define REOPEN_MS	1000 /* after a session that ended; the first time at once */
#define REFUSED_MIN_MS	2000
#define REFUSED_MAX_MS	60000

static void open_handle(struct session *s);
static void retry_in(struct session *s, int64_t ms);
static void look_again_in(struct session *s, int64_t ms);
static void look_up(struct session *s);

const char *session_state_name(const struct session *s)
{
	static const char *const names[] = {
		[SESSION_LOOKUP] = "lookup",	     [SESSION_CONNECTING] = "connecting",
		[SESSION_CONNECTED] = "unconfirmed", [SESSION_UP] = "connected",
		[SESSION_REFUSED] = "refused",	     [SESSION_CLOSED] = "closed",
	};
	return names[s->state];
}

bool session_is_up(const struct session *s)
{
	return s->state == SESSION_UP;
}

int64_t session_lease_left(const struct session *s)
{
	return s->state == SESSION_CLOSED ? 0 : lease_left(&s->lease, clock_boot_ms());
}

bool session_set_problem(struct session *s, const char *problem)
{
	if (strcmp(problem, s->problem) == 0)
		return false;
	snprintf(s->problem, sizeof(s->problem), "%s", problem);
	return true;
}

static void set_state(struct session *s, enum session_state state, const char *problem)
{
	session_set_problem(s, problem ? problem : "");
	if (s->state == state)
		return;
	const char *from = session_state_name(s);
	s->state = state;
	log_info("session", LOG_STR("from", from), LOG_STR("to", session_state_name(s)),
		 LOG_STR("problem", s->problem[0] ? s->problem : NULL),
		 LOG_STR("server", s->zk && zk_server(s->zk)[0] ? zk_server(s->zk) : NULL),
		 LOG_HEX("session", s->id), LOG_INT("timeout_ms", s->lease.timeout_ms));
}

/* --- the lease ---------------------------------------------------------------------------------
 */

/* It was asked for, unless we have registered anew meanwhile. */
static void on_missing(struct session *s, const struct zk_reply *reply)
{
	if (reply->sent_ms > s->registered_ms)
		session_unregistered(s);
}

static void on_confirm_reply(void *arg, const struct zk_reply *reply)
{
	struct session *s = arg;

	switch (reply->code) {
	case ZK_OK: session_confirmed(s, reply->sent_ms); break;
	case ZK_NO_NODE: on_missing(s, reply); break;
	case ZK_UNKNOWN:
	case ZK_ABANDONED: break;
	case ZK_NODE_EXISTS:
	case ZK_BAD_VERSION:
	case ZK_NO_AUTH:
	case ZK_FAILED: log_warning("confirmation refused", LOG_STR("why", reply->text)); break;
	}
}

static void on_patience(uv_timer_t *timer);

static void be_patient(struct session *s)
{
	s->patience_ms = clock_boot_ms() + s->lease.timeout_ms / 4;
	uv_timer_start(&s->patience, on_patience, (uint64_t)s->lease.timeout_ms / 4, 0);
}

/*
 * A server that is cut off, hangs or has lost its host is noticed by the library after 2T/3 of silence;
 * by then the lease is over. Another server may still confirm it in time.
 */
static void on_patience(uv_timer_t *timer)
{
	struct session *s = timer->data;

	if (s->hung_up || !strchr(s->servers, ',') ||
	    (s->state != SESSION_CONNECTED && s->state != SESSION_UP))
		return;
	/* It was us who stood still: the answer may be there. */
	if (clock_boot_ms() > s->patience_ms + s->lease.timeout_ms / 8) {
		be_patient(s);
		return;
	}
	log_warning("no confirmation, trying another server", LOG_STR("server", zk_server(s->zk)));
	s->hung_up = true;
	zk_hang_up(s->zk);
}

void session_confirm(struct session *s)
{
	struct zk_op check = {.type = ZK_OP_CHECK, .path = s->registration, .version = -1};

	if (!s->registration[0] || (s->state != SESSION_CONNECTED && s->state != SESSION_UP))
		return;
	zk_multi(s->zk, &check, 1, on_confirm_reply, s);
	if (!uv_is_active((uv_handle_t *)&s->patience))
		be_patient(s);
}

static void on_sign_reply(void *arg, const struct zk_reply *reply)
{
	if (reply->code == ZK_NO_NODE)
		on_missing(arg, reply);
}

static void set_confirm_timer(struct session *s);

static void on_confirm_timer(uv_timer_t *timer)
{
	struct session *s = timer->data;

	if (s->state != SESSION_CONNECTED && s->state != SESSION_UP)
		return;
	set_confirm_timer(s);
	/* On a fresh connection a confirmation is owed in any case. */
	if (s->leading || s->state == SESSION_CONNECTED)
		session_confirm(s);
	/* A read is a sign of life, which a lease that begins with the next claim counts from. */
	else if (s->registration[0])
		zk_exists(s->zk, s->registration, false, on_sign_reply, s);
}

static void set_confirm_timer(struct session *s)
{
	int64_t next = lease_next(&s->lease, clock_boot_ms(), s->leading);

	/* Not by the time at which this turn of the loop began: the next may not be too early to count. */
	uv_update_time(s->loop);
	uv_timer_start(&s->confirm, on_confirm_timer, next > 0 ? (uint64_t)next : 1, 0);
}

void session_confirmed(struct session *s, int64_t sent_ms)
{
	bool was_leased = session_lease_left(s) > 0;

	s->hung_up = false;
	uv_timer_stop(&s->patience);
	lease_committed(&s->lease, sent_ms, clock_boot_ms());
	if (s->state == SESSION_CONNECTED) {
		s->refused_ms = 0;
		set_state(s, SESSION_UP, NULL);
		s->handlers.up(s->handlers.arg);
	}
	if (!was_leased && session_lease_left(s) > 0)
		s->handlers.leased(s->handlers.arg);
}

void session_registered(struct session *s, const char *path, int64_t sent_ms)
{
	snprintf(s->registration, sizeof(s->registration), "%s", path);
	s->registered_ms = clock_boot_ms();
	session_confirmed(s, sent_ms);
}

void session_found(struct session *s, const char *path)
{
	snprintf(s->registration, sizeof(s->registration), "%s", path);
	session_confirm(s);
}

void session_unregistered(struct session *s)
{
	if (!s->registration[0])
		return;
	log_warning("registration gone", LOG_STR("path", s->registration));
	s->registration[0] = '\0';
	s->handlers.connected(s->handlers.arg);
}

void session_set_leading(struct session *s, bool leading)
{
	bool before = s->leading;

	s->leading = leading;
	if (!leading || before)
		return;
	session_confirm(s);
	set_confirm_timer(s);
}

/* --- the probe ---------------------------------------------------------------------------------
 *
 * A server that has lost its data refuses every session that has seen newer transactions than it has,
 * for ever and without saying why: to the client library it looks like one that is down. So while the
 * lease is over and no connection comes, another session is asked for now and then. Where the server
 * grants that one and still not ours, ours is given up. A server that was merely down finds our session
 * as it was.
 */

static void end_probe(struct session *s)
{
	zk_close(s->probe, NULL, NULL);
	s->probe = NULL;
	s->probe_connected = false;
}

static void on_probe_state(void *arg, enum zk_state state)
{
	struct session *s = arg;

	if (state != ZK_CONNECTED || s->probe_connected)
		return;
	s->probe_connected = true;
	int64_t grace = s->lease.timeout_ms / 3;
	grace = grace < GRACE_MIN_MS ? GRACE_MIN_MS : grace;
	retry_in(s, grace < GRACE_MAX_MS ? grace : GRACE_MAX_MS);
}

static void on_probe_watch(void *arg, enum zk_watch type, const char *path)
{
	(void)arg, (void)type, (void)path;
}

static void start_probe(struct session *s)
{
	struct zk_options options = {.servers = s->servers,
				     .timeout_ms = (int)s->config->session_timeout_ms};
	struct zk_handlers handlers = {.state = on_probe_state, .watch = on_probe_watch, .arg = s};

	if (!s->probe && zk_open(&s->probe, s->loop, &options, &handlers) != 0)
		s->probe = NULL;
}

/* --- the handle --------------------------------------------------------------------------------
 */

static void end_session(struct session *s)
{
	s->taken_over = 0;
	lease_end(&s->lease);
	uv_timer_stop(&s->patience);
	s->id = 0;
	s->registration[0] = '\0';
	s->leading = false;
	s->handlers.expired(s->handlers.arg);
}

static void on_retry(uv_timer_t *timer)
{
	struct session *s = timer->data;

	if (s->state == SESSION_CLOSED)
		return;
	if (s->probe_connected) {
		log_warning("session given up", LOG_HEX("session", s->id),
			    LOG_STR("reason", "refused, though the server takes others"));
		set_state(s, SESSION_CONNECTING, "session refused by the server");
		end_session(s);
		zk_close(s->zk, NULL, NULL);
		s->zk = NULL;
		end_probe(s);
	}
	if (!s->zk && s->servers[0]) {
		open_handle(s);
		return;
	}
	if (s->id != 0 && session_lease_left(s) == 0)
		start_probe(s);
	look_up(s);
}

static void retry_in(struct session *s, int64_t ms)
{
	uv_timer_start(&s->retry, on_retry, (uint64_t)ms, 0);
}

/* As soon as the lease is over, as from then on a probe may tell what is wrong; or after that time. */
static void look_again_in(struct session *s, int64_t ms)
{
	int64_t left = session_lease_left(s);

	ms = left > 0 && left < ms ? left : ms;
	retry_in(s, ms < RELOOKUP_MS ? ms : RELOOKUP_MS);
}

static void on_connected(struct session *s)
{
	int64_t id = zk_session(s->zk);

	end_probe(s);
	/* Some servers hand out another session without saying that the old one is gone. */
	if (s->id != 0 && s->id != id)
		end_session(s);
	uv_timer_stop(&s->retry);
	if (s->id != id) {
		s->id = id;
		lease_begin(&s->lease, zk_timeout(s->zk), s->opened_ms);
	} else {
		lease_moved(&s->lease);
	}
	set_state(s, SESSION_CONNECTED, NULL);
	set_confirm_timer(s);
	if (s->registration[0])
		session_confirm(s);
	else
		s->handlers.connected(s->handlers.arg);
}

static void on_state(void *arg, enum zk_state state)
{
	struct session *s = arg;

	switch (state) {
	case ZK_CONNECTED: on_connected(s); break;
	case ZK_CONNECTING:
		uv_timer_stop(&s->patience);
		if (s->state == SESSION_CONNECTED || s->state == SESSION_UP)
			s->handlers.cut(s->handlers.arg);
		set_state(s, SESSION_CONNECTING, "no connection to a server");
		look_again_in(s, s->lease.timeout_ms > 0 ? s->lease.timeout_ms : RELOOKUP_MS);
		break;
	case ZK_EXPIRED:
		end_probe(s);
		set_state(s, SESSION_CONNECTING, "session expired");
		end_session(s);
		zk_close(s->zk, NULL, NULL);
		s->zk = NULL;
		retry_in(s, 0);
		break;
	case ZK_AUTH_FAILED:
		end_probe(s);
		set_state(s, SESSION_REFUSED,
			  "authentication refused by the server: see auth-file");
		end_session(s);
		zk_close(s->zk, NULL, NULL);
		s->zk = NULL;
		s->refused_ms = s->refused_ms == 0 ? REFUSED_MIN_MS : s->refused_ms * 2;
		if (s->refused_ms > REFUSED_MAX_MS)
			s->refused_ms = REFUSED_MAX_MS;
		log_error("authentication refused", LOG_INT("retry_ms", s->refused_ms));
		retry_in(s, s->refused_ms);
		break;
	}
}

static void on_heard(void *arg, int64_t sent_ms)
{
	struct session *s = arg;

	lease_heard(&s->lease, sent_ms, clock_boot_ms());
}

static void on_watch(void *arg, enum zk_watch type, const char *path)
{
	struct session *s = arg;

	s->handlers.watch(s->handlers.arg, type, path);
}

static void open_handle(struct session *s)
{
	struct zk_options options = {
		.servers = s->servers,
		.timeout_ms = (int)s->config->session_timeout_ms,
		.auth_scheme = s->config->auth_scheme,
		.auth_credential = s->config->auth_credential,
		.session = s->taken_over,
		.password = s->password,
	};
	struct zk_handlers handlers = {
		.state = on_state, .watch = on_watch, .heard = on_heard, .arg = s};

	s->opened_ms = clock_boot_ms();
	int error = zk_open(&s->zk, s->loop, &options, &handlers);

	if (error) {
		s->zk = NULL;
		set_state(s, SESSION_CONNECTING, "the ZooKeeper client does not start");
		log_error("no client", LOG_STR("servers", s->servers),
			  LOG_STR("why", strerror(-error)));
		retry_in(s, REOPEN_MS);
		return;
	}
	set_state(s, SESSION_CONNECTING, "no server has answered yet");
	retry_in(s, RELOOKUP_MS);
}

/* --- finding the servers: off the loop, as the library's own way blocks its thread ---------------
 */

static bool is_listed(const char *list, const char *one)
{
	size_t len = strlen(one);

	for (const char *at = strstr(list, one); at; at = strstr(at + 1, one))
		if ((at == list || at[-1] == ',') && (at[len] == '\0' || at[len] == ','))
			return true;
	return false;
}

static void add_found(struct session *s, const struct addrinfo *list)
{
	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		char host[NI_MAXHOST], port[NI_MAXSERV];
		if (getnameinfo(a->ai_addr, a->ai_addrlen, host, sizeof(host), port, sizeof(port),
				NI_NUMERICHOST | NI_NUMERICSERV) != 0)
			continue;
		char one[NI_MAXHOST + NI_MAXSERV + 4];
		snprintf(one, sizeof(one), a->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
			 port);
		size_t used = strlen(s->found);
		if (used + strlen(one) + 2 <= sizeof(s->found) && !is_listed(s->found, one))
			snprintf(s->found + used, sizeof(s->found) - used, "%s%s", used ? "," : "",
				 one);
	}
}

static void lookup_done(struct session *s, const char *problem)
{
	s->looking_up = false;
	if (!s->found[0]) {
		set_state(s, s->zk ? s->state : SESSION_LOOKUP, problem);
		if (!s->probe_connected)
			look_again_in(s, s->zk ? RELOOKUP_MS : LOOKUP_RETRY_MS);
		return;
	}
	bool changed = strcmp(s->found, s->servers) != 0;
	memcpy(s->servers, s->found, sizeof(s->servers));
	if (!s->zk) {
		open_handle(s);
		return;
	}
	if (changed) {
		log_info("other addresses", LOG_STR("servers", s->servers));
		zk_set_servers(s->zk, s->servers);
	}
	if (s->state == SESSION_CONNECTING && !s->probe_connected)
		look_again_in(s, RELOOKUP_MS);
}

/* One name, looked up in another thread. */
struct lookup {
	struct session *session;
	char *host;
	char port[8];
	int error; /* getaddrinfo()'s */
	struct addrinfo *list;
};

static void look_up_next(struct session *s, const char *problem);

static void look_up_work(void *arg)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct lookup *l = arg;

	l->error = getaddrinfo(l->host, l->port, &hints, &l->list);
}

static void lookup_free(struct lookup *l)
{
	if (l->list)
		freeaddrinfo(l->list);
	free(l->host);
	free(l);
}

static void on_looked_up(void *arg)
{
	struct lookup *l = arg;
	struct session *s = l->session;
	char problem[256] = "";

	if (l->error == 0)
		add_found(s, l->list);
	else
		snprintf(problem, sizeof(problem), "cannot look up %.100s: %s", l->host,
			 gai_strerror(l->error));
	if (s->state != SESSION_CLOSED) {
		if (problem[0] && strcmp(problem, s->problem) != 0)
			log_warning("lookup failed", LOG_STR("host", l->host),
				    LOG_STR("why", gai_strerror(l->error)));
		s->next_host++;
		look_up_next(s, problem[0] ? problem : s->problem);
	}
	lookup_free(l);
}

static void look_up_next(struct session *s, const char *problem)
{
	if (s->next_host >= s->config->n_hosts) {
		lookup_done(s, problem);
		return;
	}
	const struct config_host *host = &s->config->hosts[s->next_host];
	struct lookup *l = mem_calloc(1, sizeof(*l));
	l->session = s;
	l->host = mem_strdup(host->host);
	snprintf(l->port, sizeof(l->port), "%u", (unsigned)host->port);
	if (aside(s->loop, look_up_work, on_looked_up, l) != 0) {
		lookup_free(l);
		s->next_host++;
		look_up_next(s, "cannot start a lookup");
	}
}

static void look_up(struct session *s)
{
	if (s->looking_up)
		return;
	s->looking_up = true;
	s->next_host = 0;
	s->found[0] = '\0';
	look_up_next(s, "no address of a server was found");
}

void session_init(struct session *s, uv_loop_t *loop, const struct config *config,
		  const struct session_handlers *handlers)
{
	memset(s, 0, sizeof(*s));
	s->loop = loop;
	s->config = config;
	s->handlers = *handlers;
	uv_timer_init(loop, &s->confirm);
	uv_timer_init(loop, &s->patience);
	uv_timer_init(loop, &s->retry);
	s->confirm.data = s;
	s->patience.data = s;
	s->retry.data = s;
}

void session_take_over(struct session *s, int64_t id, const uint8_t *password)
{
	s->taken_over = id;
	memcpy(s->password, password, sizeof(s->password));
}

void session_start(struct session *s)
{
	look_up(s);
}

void session_stop(struct session *s, void (*done)(void *arg), void *arg)
{
	set_state(s, SESSION_CLOSED, NULL);
	uv_timer_stop(&s->confirm);
	uv_timer_stop(&s->patience);
	uv_timer_stop(&s->retry);
	end_probe(s);
	end_session(s);
	struct zk *zk = s->zk;
	s->zk = NULL;
	if (zk)
		zk_close(zk, done, arg);
	else
		done(arg);
}
