#include "node/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/session/session_hostage.h"
#include "node/session/session_lease.h"

#define LOOKUP_RETRY_MS 2000  /* after a lookup that found nothing */
#define RELOOKUP_MS	10000 /* while no server answers */
#define LOOKUP_PART	4     /* part of the timeout: without an answer, look up names again */
#define GRACE_MS	1000  /* for ours to connect after all, once it may try again */
#define REOPEN_MS	1000  /* after a session that ended; the first time at once */
#define REFUSED_MIN_MS	2000
#define REFUSED_MAX_MS	60000
#define AUTH_MAX_MS	30000 /* likewise, where authentication was refused */

static const char too_short[] =
	"the server grants a session timeout of less than 1s: see its maxSessionTimeout";

/* An outstanding lookup, which outlives the session. */
struct session_lookup {
	struct session *session; /* NULL: it is gone */
};

static void open_handle(struct session *s);

static void retry_in(struct session *s, int64_t ms);

static void look_again_in(struct session *s, int64_t ms);

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

void session_set_state(struct session *s, enum session_state state, const char *problem)
{
	session_set_problem(s, problem ? problem : "");
	if (s->state == state)
		return;
	const char *from = session_state_name(s);
	if (state == SESSION_UP) {
		s->unconfirmed_since = 0;
		session_error_clear(&s->error);
	} else if (s->state == SESSION_UP)
		s->unconfirmed_since = host_wall_ms(s->host);
	s->state = state;
	log_info("session", LOG_STR("from", from), LOG_STR("to", session_state_name(s)),
		 LOG_STR("problem", s->problem[0] ? s->problem : NULL),
		 LOG_STR("server",
			 s->store && store_server(s->store)[0] ? store_server(s->store) : NULL),
		 LOG_HEX("session", s->id), LOG_INT("timeout_ms", s->lease.timeout_ms));
}

/* --- the probe ------------------------------------------------------------ */

/*
 * A server that has lost its data refuses every session that has seen newer transactions than it
 * has, for ever and without saying why: to the client library it looks like one that is down. So
 * while the lease is over and no connection comes, another session is asked for now and then. Where
 * the server grants that one and still not ours, ours is given up. A server that was merely down
 * finds our session as it was.
 */

static void end_probe(struct session *s)
{
	store_close(s->probe, NULL, NULL);
	s->probe = NULL;
	s->probe_connected = false;
}

/*
 * A server that has just come back may have taken our connection before it could answer. The
 * library waits for that answer for two thirds of the timeout, and then connects again.
 */
static void on_probe_state(void *arg, enum store_state state)
{
	struct session *s = arg;

	if (state != STORE_CONNECTED || s->probe_connected)
		return;
	s->probe_connected = true;
	retry_in(s, 2 * s->lease.timeout_ms / 3 + GRACE_MS);
}

static void on_probe_watch(void *arg, enum store_watch type, const char *path)
{
	(void)arg, (void)type, (void)path;
}

/* The timeout to ask for. A shorter one would leave no lease. */
static int asked_timeout(const struct session *s)
{
	int64_t asked_ms = s->settings->session_timeout_ms;

	return (int)(asked_ms < LEASE_TIMEOUT_MIN_MS ? LEASE_TIMEOUT_MIN_MS : asked_ms);
}

static void start_probe(struct session *s)
{
	struct store_options options = {
		.world = s->settings->world, .servers = s->servers, .timeout_ms = asked_timeout(s)};
	struct store_handlers handlers = {
		.state = on_probe_state, .watch = on_probe_watch, .arg = s};

	if (s->probe)
		return;
	/* From now on two handles try to connect, and the library logs everything twice. */
	log_info("asking for another session",
		 LOG_STR("reason", "no connection for longer than the lease"));
	if (store_open(&s->probe, s->host, &options, &handlers) != 0)
		s->probe = NULL;
}

/* --- the handle ----------------------------------------------------------- */

static void end_session(struct session *s)
{
	if (s->state != SESSION_CLOSED)
		session_tell_loss(s, "the session has ended");
	host_timer_stop(&s->loss);
	watches_end(&s->watches);
	hostage_ended(s);
	s->since = 0;
	s->taken_over = 0;
	lease_end(&s->lease);
	s->granted_ms = s->published_ms = s->former_ms = s->former_until = 0;
	host_timer_stop(&s->patience);
	s->id = 0;
	s->registration[0] = '\0';
	s->leading = s->holds = s->works = s->joins = false;
	s->leads = 0;
	s->handlers.expired(s->handlers.arg);
}

/* The handle and its session are of no use any more. */
static void give_up(struct session *s, enum session_state state, const char *problem)
{
	session_set_state(s, state, problem);
	end_session(s);
	store_close(s->store, NULL, NULL);
	s->store = NULL;
}

/* Tries again later, after a pause that grows each time. */
static void back_off(struct session *s, int64_t most_ms)
{
	s->refused_ms = s->refused_ms == 0 ? REFUSED_MIN_MS : s->refused_ms * 2;
	if (s->refused_ms > most_ms)
		s->refused_ms = most_ms;
	retry_in(s, s->refused_ms);
}

void session_give_up(struct session *s, enum session_state state, const char *problem)
{
	int64_t timeout_ms = s->lease.timeout_ms;

	give_up(s, state, problem);
	/* Each such session takes a timeout to be found out, so the pause is no shorter. */
	back_off(s, timeout_ms > REFUSED_MIN_MS ? timeout_ms : REFUSED_MIN_MS);
}

static void on_retry(void *arg)
{
	struct session *s = arg;

	if (s->state == SESSION_CLOSED)
		return;
	if (s->probe_connected) {
		log_warning("session given up", LOG_HEX("session", s->id),
			    LOG_STR("reason", "refused, though the server takes others"));
		give_up(s, SESSION_CONNECTING, "session refused by the server");
		end_probe(s);
	}
	if (s->store && s->state == SESSION_REFUSED) {
		give_up(s, SESSION_REFUSED, too_short);
		back_off(s, REFUSED_MAX_MS);
		log_error("session timeout refused", LOG_INT("retry_ms", s->refused_ms));
		return;
	}
	if (!s->store && s->servers[0]) {
		open_handle(s);
		return;
	}
	if (s->id != 0 && session_lease_left(s) == 0 && host_now_ms(s->host) >= s->probe_ms)
		start_probe(s);
	session_look_up(s);
}

static void retry_in(struct session *s, int64_t ms)
{
	host_timer_start(&s->retry, ms);
}

/*
 * Looks up the servers again after that time; within the lease sooner, as a server's new address
 * helps only then; and as soon as the lease is over, as a probe may then tell what is wrong.
 */
static void look_again_in(struct session *s, int64_t ms)
{
	int64_t left = session_lease_left(s), part = s->lease.timeout_ms / LOOKUP_PART;

	if (left > 0)
		ms = part < ms ? part : ms;
	ms = left > 0 && left < ms ? left : ms;
	retry_in(s, ms < RELOOKUP_MS ? ms : RELOOKUP_MS);
}

/* Looks up the servers again: no known address answers, so they may have others by now. */
static void lost_connection(struct session *s)
{
	int64_t timeout_ms = s->lease.timeout_ms, left = session_lease_left(s);

	s->probe_ms = host_now_ms(s->host) + (left > 0 ? left : timeout_ms);
	look_again_in(s, timeout_ms > 0 ? timeout_ms / LOOKUP_PART : RELOOKUP_MS);
}

/*
 * A new session's lease counts from when its handle was opened, as nobody knows when the library
 * asked for the session. If that was long ago, as when the servers came up after us, the lease
 * would be short or over, and we would lead without being able to say so. So that session is closed
 * unused. Another is asked for once, which servers that are up grant at once.
 */
static bool is_stale(const struct session *s, int64_t id)
{
	bool is_new = s->id != id && id != s->taken_over;
	int64_t age_ms = host_now_ms(s->host) - s->opened_ms;

	return is_new && !s->reopened && age_ms > store_timeout(s->store) / 2;
}

static void on_connected(struct session *s)
{
	int64_t id = store_session(s->store);
	bool stale = is_stale(s, id);

	end_probe(s);
	/*
	 * Some servers hand out another session without saying that the old one is gone. The new
	 * one is not used, as the library has set the old one's watches in it.
	 */
	if (s->id != 0 && s->id != id) {
		give_up(s, SESSION_CONNECTING, "the servers know nothing of the session");
		retry_in(s, 0);
		return;
	}
	host_timer_stop(&s->retry);
	s->reopened = stale;
	if (stale) {
		give_up(s, SESSION_CONNECTING, "the servers were slow to answer");
		retry_in(s, 0);
		return;
	}
	session_take_timeout(s, id);
	if (s->granted_ms < LEASE_TIMEOUT_MIN_MS) {
		/*
		 * Nothing is promised any more, but earlier promises are kept before others are let
		 * in.
		 */
		session_set_state(s, SESSION_REFUSED, too_short);
		retry_in(s, session_told_left(s));
		return;
	}
	session_set_state(s, SESSION_CONNECTED, NULL);
	hostage_accepted(s, id == s->taken_over);
	session_set_confirm_timer(s);
	if (s->registration[0])
		session_confirm(s);
	else
		s->handlers.connected(s->handlers.arg);
}

static void on_state(void *arg, enum store_state state)
{
	struct session *s = arg;

	switch (state) {
	case STORE_CONNECTED: on_connected(s); break;
	case STORE_CONNECTING:
		host_timer_stop(&s->patience);
		watches_set_up(&s->watches, false);
		hostage_cut(s);
		if (s->state == SESSION_CONNECTED || s->state == SESSION_UP)
			s->handlers.cut(s->handlers.arg);
		session_set_state(s, SESSION_CONNECTING, "no connection to a server");
		lost_connection(s);
		break;
	case STORE_EXPIRED:
		end_probe(s);
		give_up(s, SESSION_CONNECTING, "session expired");
		retry_in(s, 0);
		break;
	case STORE_AUTH_FAILED:
		end_probe(s);
		back_off(s, AUTH_MAX_MS);
		session_error_refused(&s->error, s->host, s->refused_ms);
		give_up(s, SESSION_REFUSED, s->error.message);
		break;
	}
}

static void on_failed(void *arg, const char *server, const char *message)
{
	struct session *s = arg;

	if (!session_is_up(s))
		session_error_set(&s->error, s->host, server, message);
}

const struct histogram_bounds session_answer_bounds = {
	.n = 11, .le = {1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 5000}};

static void on_heard(void *arg, int64_t sent_ms)
{
	struct session *s = arg;
	int64_t now_ms = host_now_ms(s->host);

	histogram_add(&s->answered_ms, &session_answer_bounds, now_ms - sent_ms);
	lease_heard(&s->lease, sent_ms, now_ms);
}

static void on_watch(void *arg, enum store_watch type, const char *path)
{
	struct session *s = arg;

	watches_fired(&s->watches, type, path);
	s->handlers.watch(s->handlers.arg, type, path);
}

/* A path that is not watched may have changed. */
static void on_look(void *arg, enum store_watch type, const char *path)
{
	struct session *s = arg;

	s->handlers.watch(s->handlers.arg, type, path);
}

static size_t watches_limit(const struct session *s)
{
	size_t most = s->settings->watches_max > 0 ? s->settings->watches_max : WATCHES_MAX;

	return hostage_is_frugal(s) ? most / WATCHES_FRUGAL : most;
}

static void open_handle(struct session *s)
{
	struct store_options options = {
		.world = s->settings->world,
		.servers = s->servers,
		.timeout_ms = asked_timeout(s),
		.auth_scheme = s->settings->auth_scheme,
		.auth_credential = s->settings->auth_credential,
		.session = s->taken_over,
		.password = s->password,
	};
	struct store_handlers handlers = {.state = on_state,
					  .watch = on_watch,
					  .heard = on_heard,
					  .failed = on_failed,
					  .arg = s};

	s->opened_ms = host_now_ms(s->host);
	int error = store_open(&s->store, s->host, &options, &handlers);

	if (error) {
		s->store = NULL;
		const char *problem =
			error == -EAGAIN
				? "the ZooKeeper client gets no thread: a limit on processes"
				: "the ZooKeeper client does not start";
		if (strcmp(problem, s->problem) != 0)
			log_error("no client", LOG_STR("servers", s->servers),
				  LOG_STR("why", strerror(-error)), LOG_STR("problem", problem));
		session_set_state(s, SESSION_CONNECTING, problem);
		retry_in(s, REOPEN_MS);
		return;
	}
	watches_begin(&s->watches, s->store, watches_limit(s));
	session_set_state(s, SESSION_CONNECTING, "no server has answered yet");
	retry_in(s, RELOOKUP_MS);
}

/* --- finding the servers -------------------------------------------------- */

static void on_looked_up(void *arg, const char *servers, const char *problem)
{
	struct session_lookup *l = arg;
	struct session *s = l->session;

	free(l);
	if (!s)
		return;
	s->lookup = NULL;
	if (s->state == SESSION_CLOSED)
		return;
	if (problem && strcmp(problem, s->problem) != 0)
		log_warning("lookup failed", LOG_STR("why", problem));
	bool connected = s->state == SESSION_CONNECTED || s->state == SESSION_UP;
	if (!servers[0] && connected)
		return; /* the server may still answer */
	if (!servers[0]) {
		session_set_state(s, s->store ? s->state : SESSION_LOOKUP,
				  problem ? problem : "no address of a server was found");
		if (!s->probe_connected)
			look_again_in(s, s->store ? RELOOKUP_MS : LOOKUP_RETRY_MS);
		return;
	}
	bool changed = strcmp(servers, s->servers) != 0;
	snprintf(s->servers, sizeof(s->servers), "%s", servers);
	if (!s->store) {
		open_handle(s);
		return;
	}
	if (changed) {
		log_info("other addresses", LOG_STR("servers", s->servers));
		store_set_servers(s->store, s->servers);
	}
	if (s->state == SESSION_CONNECTING && !s->probe_connected)
		look_again_in(s, RELOOKUP_MS);
}

void session_look_up(struct session *s)
{
	if (s->lookup)
		return;
	s->lookup = mem_calloc(1, sizeof(*s->lookup));
	s->lookup->session = s;
	store_lookup(s->host, s->settings->world, s->settings->servers, on_looked_up, s->lookup);
}

void session_init(struct session *s, struct host *host, const struct node_settings *settings,
		  const struct session_handlers *handlers)
{
	memset(s, 0, sizeof(*s));
	s->host = host;
	s->settings = settings;
	s->handlers = *handlers;
	host_timer_init(&s->retry, host, on_retry, s);
	watches_init(&s->watches, host, on_look, s);
	session_lease_init(s);
	hostage_init(s);
	s->unconfirmed_since = host_wall_ms(host);
}

void session_take_over(struct session *s, const struct handoff *handoff)
{
	s->taken_over = handoff->session;
	s->taken_over_since = handoff->session_since;
	s->taken_over_ms = handoff->timeout_ms;
	s->taken_over_counted_ms = handoff->counted_ms;
	memcpy(s->password, handoff->password, sizeof(s->password));
}

void session_start(struct session *s)
{
	session_look_up(s);
}

void session_stop(struct session *s, void (*done)(void *arg), void *arg)
{
	session_set_state(s, SESSION_CLOSED, NULL);
	host_timer_stop(&s->confirm);
	host_timer_stop(&s->patience);
	host_timer_stop(&s->retry);
	end_probe(s);
	end_session(s);
	struct store *store = s->store;
	s->store = NULL;
	if (store)
		store_close(store, done, arg);
	else
		done(arg);
}

void session_done(struct session *s)
{
	if (s->lookup)
		s->lookup->session = NULL;
	s->lookup = NULL;
	watches_done(&s->watches);
	session_lease_done(s);
	hostage_done(s);
	host_timer_done(&s->retry);
}
