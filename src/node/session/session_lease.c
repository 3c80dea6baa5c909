#include "node/session/session_lease.h"

#include <stdio.h>
#include <string.h>

#include "base/log/log.h"
#include "node/session/session_hostage.h"

/*
 * From a connection to when a longer timeout counts. The server of the connection before may have
 * been stopped. Then it may still report the shorter timeout to the quorum's leader, until that
 * takes it for dead (syncLimit, by default 5 ticks of 2 s).
 */
#define LENGTHEN_MS 12000
#define LEASE_PART  4 /* part of the timeout */

int64_t session_lease_left_at(const struct session *s, int64_t now_ms)
{
	return s->state == SESSION_CLOSED ? 0 : lease_left(&s->lease, now_ms);
}

int64_t session_lease_left(const struct session *s)
{
	return session_lease_left_at(s, host_now_ms(s->host));
}

int64_t session_answer_left_at(const struct session *s, int64_t now_ms)
{
	int64_t left = session_lease_left_at(s, now_ms);

	if (s->state == SESSION_CONNECTED || s->state == SESSION_UP)
		return left;
	return left < LEASE_TIMEOUT_MIN_MS / 2 ? left : LEASE_TIMEOUT_MIN_MS / 2;
}

int64_t session_answer_left(const struct session *s)
{
	return session_answer_left_at(s, host_now_ms(s->host));
}

int64_t session_patience(int64_t wait_ms)
{
	if (wait_ms < 0 || wait_ms > SESSION_PATIENCE_MS)
		return SESSION_PATIENCE_MS;
	return wait_ms < SESSION_RECONNECT_MS ? SESSION_RECONNECT_MS : wait_ms;
}

int64_t session_lease_least(const struct session *s)
{
	return s->lease.timeout_ms / LEASE_PART;
}

bool session_may_begin(const struct session *s, bool goes_on)
{
	return session_answer_left(s) >= (goes_on ? 1 : session_lease_least(s));
}

int64_t session_told_timeout(const struct session *s)
{
	bool former = host_now_ms(s->host) < s->former_until && s->former_ms > s->granted_ms;

	return former ? s->former_ms : s->granted_ms;
}

int64_t session_told_left(const struct session *s)
{
	int64_t left = session_lease_left(s), former = s->former_until - host_now_ms(s->host);

	return former > left ? former : left;
}

void session_tell_loss(struct session *s, const char *why)
{
	if (s->leads == 0 || s->loss_told)
		return;
	s->loss_told = true;
	log_warning("leaderships lost", LOG_INT("tasks", s->leads), LOG_STR("why", why),
		    LOG_STR("problem", s->problem[0] ? s->problem : NULL),
		    LOG_HEX("session", s->id));
}

static void on_loss(void *arg)
{
	struct session *s = arg;
	int64_t left = session_lease_left(s);

	if (s->leading && left > 0) {
		s->loss_waits = false;
		host_timer_start(&s->loss, left);
	} else if (s->leading && s->state == SESSION_UP && !s->loss_waits) {
		/*
		 * The first lease is short if the session took long to begin: the next follows
		 * soon.
		 */
		s->loss_waits = true;
		host_timer_start(&s->loss, s->lease.timeout_ms / 2);
	} else {
		session_tell_loss(s, "the lease is over, and nothing has confirmed it");
	}
}

static void watch_loss(struct session *s)
{
	if (!s->leading || session_lease_left(s) == 0)
		return;
	s->loss_told = false;
	if (!host_timer_is_set(&s->loss))
		host_timer_start(&s->loss, session_lease_left(s));
}

/*
 * The registration is gone that the request checked, unless we have registered again meanwhile:
 * asks for another.
 */
static void on_missing(struct session *s, const struct store_reply *reply)
{
	if (reply->sent_ms <= s->registered_ms || !s->registration[0])
		return;
	log_warning("registration gone", LOG_STR("path", s->registration));
	s->registration[0] = '\0';
	s->published_ms = 0;
	s->handlers.connected(s->handlers.arg);
}

static void on_confirm_reply(void *arg, const struct store_reply *reply)
{
	struct session *s = arg;

	switch (reply->code) {
	case STORE_OK: session_confirmed(s, reply->sent_ms); break;
	case STORE_NO_NODE: on_missing(s, reply); break;
	case STORE_UNKNOWN:
	case STORE_ABANDONED: break;
	case STORE_NODE_EXISTS:
	case STORE_BAD_VERSION:
	case STORE_NO_AUTH:
	case STORE_FULL:
	case STORE_FAILED:
		if (hostage_refused(s, reply->text))
			log_warning("confirmation refused", LOG_STR("why", reply->text));
		break;
	}
}

static void be_patient(struct session *s)
{
	s->patience_ms = host_now_ms(s->host) + s->lease.timeout_ms / 4;
	host_timer_start(&s->patience, s->lease.timeout_ms / 4);
}

/*
 * A server that is cut off, hangs, has lost its host or moved to another address is noticed by the
 * library only after 2T/3 of silence, when the lease is over. Another server, or the same at its
 * new address, may confirm the lease in time.
 */
static void on_patience(void *arg)
{
	struct session *s = arg;

	if (s->state != SESSION_CONNECTED && s->state != SESSION_UP)
		return;
	/* This process was stopped: the answer may have arrived. */
	if (host_now_ms(s->host) > s->patience_ms + s->lease.timeout_ms / 8) {
		be_patient(s);
		return;
	}
	session_look_up(s);
	if (s->hung_up || !strchr(s->servers, ','))
		return;
	log_warning("no confirmation, trying another server",
		    LOG_STR("server", store_server(s->store)));
	s->hung_up = true;
	store_hang_up(s->store);
}

static void on_ordered(void *arg, const struct store_reply *reply)
{
	(void)arg;
	(void)reply;
}

/*
 * Between two registrations nothing can be confirmed. A write that checks the root, done or not, is
 * ordered by the quorum all the same, so what is read behind it is no older than now.
 */
static void order_reads(struct session *s)
{
	struct store_op check = {.type = STORE_OP_CHECK, .path = "/", .version = -1};

	store_multi(s->store, &check, 1, on_ordered, NULL);
}

void session_confirm(struct session *s)
{
	struct store_op check = {.type = STORE_OP_CHECK, .path = s->registration, .version = -1};

	if (!s->registration[0] && s->state == SESSION_UP)
		order_reads(s);
	if (!s->registration[0] || (s->state != SESSION_CONNECTED && s->state != SESSION_UP))
		return;
	store_multi(s->store, &check, 1, on_confirm_reply, s);
	hostage_owed(s);
	if (!host_timer_is_set(&s->patience))
		be_patient(s);
}

static void on_sign_reply(void *arg, const struct store_reply *reply)
{
	if (reply->code == STORE_NO_NODE)
		on_missing(arg, reply);
}

static void on_confirm_timer(void *arg)
{
	struct session *s = arg;

	if (s->state != SESSION_CONNECTED && s->state != SESSION_UP)
		return;
	session_set_confirm_timer(s);
	if (s->registration[0] && s->published_ms != session_told_timeout(s))
		s->handlers.retimed(s->handlers.arg);
	/* On a fresh connection a confirmation is owed in any case. */
	if (s->leading || s->state == SESSION_CONNECTED)
		session_confirm(s);
	/* A read is a heartbeat, which a lease that begins with the next claim counts from. */
	else if (s->registration[0])
		store_exists(s->store, s->registration, false, on_sign_reply, s);
}

void session_set_confirm_timer(struct session *s)
{
	int64_t next = lease_next(&s->lease, host_now_ms(s->host), s->leading);

	host_timer_start(&s->confirm, next > 0 ? next : 1);
}

void session_confirmed(struct session *s, int64_t sent_ms)
{
	int64_t before = session_lease_left(s), left;

	s->hung_up = false;
	host_timer_stop(&s->patience);
	hostage_confirmed(s, sent_ms);
	lease_committed(&s->lease, sent_ms, host_now_ms(s->host));
	if (s->state == SESSION_CONNECTED) {
		if (!hostage_is_recent(s))
			s->refused_ms = 0;
		session_set_state(s, SESSION_UP, NULL);
		watches_set_up(&s->watches, true);
		s->handlers.up(s->handlers.arg);
	}
	watch_loss(s);
	left = session_lease_left(s);
	if ((before == 0 && left > 0) ||
	    (before < session_lease_least(s) && left >= session_lease_least(s)))
		s->handlers.leased(s->handlers.arg);
}

/*
 * Counts the longer timeout once our record has it. A node that finds our leader node deleted by
 * somebody waits for that timeout before it claims. Had the node been deleted before the record was
 * made, we would have heard of it before this answer.
 */
static void lengthen(struct session *s)
{
	if (s->published_ms >= s->granted_ms)
		lease_lengthen(&s->lease, s->granted_ms, s->lengthen_ms);
}

void session_registered(struct session *s, const char *path, int64_t timeout_ms, int64_t sent_ms)
{
	snprintf(s->registration, sizeof(s->registration), "%s", path);
	s->registered_ms = host_now_ms(s->host);
	s->published_ms = timeout_ms;
	lengthen(s);
	session_confirmed(s, sent_ms);
}

void session_found(struct session *s, const char *path, int64_t timeout_ms)
{
	snprintf(s->registration, sizeof(s->registration), "%s", path);
	s->published_ms = timeout_ms;
	lengthen(s);
	session_confirm(s);
}

static void set_leased(struct session *s)
{
	bool before = s->leading;

	s->leading = s->leads > 0 || s->holds || s->works || s->joins;
	if (!s->leading || before)
		return;
	watch_loss(s);
	session_confirm(s);
	session_set_confirm_timer(s);
}

void session_set_leading(struct session *s, size_t tasks)
{
	s->leads = tasks;
	set_leased(s);
}

void session_set_holding(struct session *s, bool holding)
{
	s->holds = holding;
	set_leased(s);
}

void session_set_working(struct session *s, bool working)
{
	s->works = working;
	set_leased(s);
}

void session_set_joined(struct session *s, bool joined)
{
	s->joins = joined;
	set_leased(s);
}

/* Remembers a longer timeout by which leases were promised, and until when these are good. */
static void remember_former(struct session *s, int64_t timeout_ms, int64_t until_ms)
{
	if (timeout_ms > s->former_ms || host_now_ms(s->host) >= s->former_until)
		s->former_ms = timeout_ms;
	if (until_ms > s->former_until)
		s->former_until = until_ms;
}

/*
 * Takes the timeout that a connection was granted. A shorter one counts at once for us, but others
 * wait for the longer one until the promises made under it are over.
 */
void session_take_timeout(struct session *s, int64_t id)
{
	int64_t now_ms = host_now_ms(s->host), granted_ms = store_timeout(s->store);
	bool is_new = s->id != id,
	     inherited = is_new && id == s->taken_over && s->taken_over_ms > 0;
	int64_t told_ms, counted_ms;

	if (is_new) {
		s->since = id == s->taken_over ? s->taken_over_since : host_wall_ms(s->host);
		s->id = id;
		s->made_ms = inherited ? s->taken_over_ms : granted_ms;
		counted_ms = inherited ? s->taken_over_counted_ms : 0;
		/* Heartbeats of the last connection may still be reported, by the T of that. */
		lease_begin(&s->lease,
			    counted_ms > 0 && counted_ms < s->made_ms ? counted_ms : s->made_ms,
			    s->opened_ms);
		lease_set_tick(&s->lease, s->settings->server_tick_ms);
	}
	/*
	 * The timeout that the session was made with is the longest that counts, whatever later
	 * connections were granted: a new leader of the quorum goes by it until it hears of the
	 * session.
	 */
	if (granted_ms > s->made_ms)
		granted_ms = s->made_ms;
	/* This is all that is known of the previous sidecar's promises. */
	told_ms = inherited ? s->taken_over_ms : s->lease.timeout_ms;
	if (told_ms > granted_ms)
		remember_former(s, told_ms,
				inherited ? now_ms + s->taken_over_ms : s->lease.deadline_ms);
	counted_ms = s->lease.timeout_ms;
	lease_moved(&s->lease, granted_ms);
	if (!is_new && s->lease.timeout_ms < counted_ms)
		s->handlers.shortened(s->handlers.arg);
	if (s->granted_ms != 0 && s->granted_ms != granted_ms)
		log_warning("another session timeout is granted", LOG_INT("from_ms", s->granted_ms),
			    LOG_INT("to_ms", granted_ms));
	s->granted_ms = granted_ms;
	s->lengthen_ms = now_ms + LENGTHEN_MS;
	lengthen(s);
}

void session_lease_init(struct session *s)
{
	host_timer_init(&s->confirm, s->host, on_confirm_timer, s);
	host_timer_init(&s->patience, s->host, on_patience, s);
	host_timer_init(&s->loss, s->host, on_loss, s);
}

void session_lease_done(struct session *s)
{
	host_timer_done(&s->confirm);
	host_timer_done(&s->patience);
	host_timer_done(&s->loss);
}
