/*
 * The session before a server that grants what the test says: what its timeout means for the lease, for
 * answers, and for what others are told. The machine's clock and timers are the test's as well.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log/log.h"
#include "node/session/session.h"
#include "node/session/session_lease.h"

#define LONG	   10000
#define SHORT	   2000
#define TIMERS_MAX 8
#define ASKED_MAX  200

/* --- the machine --------------------------------------------------------------------------------- */

static int64_t now_ms = 1000000;
static struct host_timer *timers[TIMERS_MAX];
static int64_t rings[TIMERS_MAX]; /* 0: is not set */
static size_t n_timers;

int64_t host_now_ms(const struct host *h)
{
	(void)h;
	return now_ms;
}

int64_t host_wall_ms(const struct host *h)
{
	(void)h;
	return now_ms;
}

static int64_t *ring_of(const struct host_timer *t)
{
	size_t i = 0;

	while (i < n_timers && timers[i] != t)
		i++;
	cr_assert_lt(i, n_timers, "a timer that was not made");
	return &rings[i];
}

void host_timer_init(struct host_timer *t, struct host *h, host_fn fn, void *arg)
{
	cr_assert_lt(n_timers, TIMERS_MAX);
	*t = (struct host_timer){.host = h, .fn = fn, .arg = arg};
	timers[n_timers++] = t;
}

void host_timer_start(struct host_timer *t, int64_t ms)
{
	*ring_of(t) = now_ms + (ms > 0 ? ms : 0);
}

void host_timer_stop(struct host_timer *t)
{
	*ring_of(t) = 0;
}

bool host_timer_is_set(const struct host_timer *t)
{
	return *ring_of(t) != 0;
}

void host_timer_done(struct host_timer *t)
{
	host_timer_stop(t);
}

/* --- ZooKeeper ----------------------------------------------------------------------------------- */

struct store {
	struct store_handlers handlers;
	bool open;
};

static struct store handles[80];
static size_t n_handles;
static int granted_ms, asked_ms;
static int64_t session_id = 0x77;
static struct {
	store_reply_fn fn;
	void *arg;
	int64_t sent_ms;
} asked[ASKED_MAX];
static size_t n_asked;

int store_open(struct store **ret_store, struct host *host, const struct store_options *options,
	       const struct store_handlers *handlers)
{
	(void)host;
	cr_assert_lt(n_handles, sizeof(handles) / sizeof(handles[0]));
	handles[n_handles] = (struct store){.handlers = *handlers, .open = true};
	asked_ms = options->timeout_ms;
	*ret_store = &handles[n_handles++];
	return 0;
}

void store_close(struct store *s, void (*done)(void *arg), void *arg)
{
	n_asked = 0;
	if (s)
		s->open = false;
	if (done)
		done(arg);
}

int64_t store_session(const struct store *s)
{
	(void)s;
	return session_id;
}

int store_timeout(const struct store *s)
{
	(void)s;
	return granted_ms;
}

const char *store_server(const struct store *s)
{
	(void)s;
	return "127.0.0.1:2181";
}

static char set_servers[64]; /* of the handle, after the first */

int store_set_servers(struct store *s, const char *servers)
{
	(void)s;
	snprintf(set_servers, sizeof(set_servers), "%s", servers);
	return 0;
}

void store_hang_up(struct store *s)
{
	(void)s;
}

static void ask(store_reply_fn fn, void *arg)
{
	cr_assert_lt(n_asked, ASKED_MAX);
	asked[n_asked].fn = fn;
	asked[n_asked].arg = arg;
	asked[n_asked++].sent_ms = now_ms;
}

void store_unwatch(struct store *s, const char *path, bool children, store_reply_fn fn, void *arg)
{
	(void)s, (void)path, (void)children, (void)fn, (void)arg;
	cr_assert_fail("a watch is removed");
}

void store_get(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	(void)s, (void)path, (void)watch;
	ask(fn, arg);
}

void store_children(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	store_get(s, path, watch, fn, arg);
}

void store_exists(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	(void)s, (void)path, (void)watch;
	ask(fn, arg);
}

void store_multi(struct store *s, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg)
{
	(void)s, (void)ops, (void)n;
	ask(fn, arg);
}

static int n_lookups;
static const char *address = ""; /* of the names now; "": as configured, NULL: not to be found */

void store_lookup(struct host *host, void *world, const char *hosts, store_lookup_fn done,
		  void *arg)
{
	(void)host, (void)world;
	n_lookups++;
	if (!address)
		done(arg, "", "cannot look up");
	else
		done(arg, address[0] ? address : hosts, NULL);
}

/* --- what happens -------------------------------------------------------------------------------- */

static struct session s;
static int64_t told_ms; /* by our record */
static int registrations;

static struct store *handle(void)
{
	return &handles[n_handles - 1];
}

static enum store_code answer_code; /* to all */

static void answer_all(void)
{
	while (n_asked > 0) {
		struct store_reply reply = {.code = answer_code,
					    .text = "as the test says",
					    .sent_ms = asked[0].sent_ms};
		store_reply_fn fn = asked[0].fn;
		void *arg = asked[0].arg;
		memmove(asked, asked + 1, --n_asked * sizeof(asked[0]));
		handle()->handlers.heard(handle()->handlers.arg, reply.sent_ms);
		fn(arg, &reply);
	}
}

/* Time passes; every request is answered at once, unless nobody is there. */
static void pass(int64_t ms, bool answered)
{
	for (int64_t end = now_ms + ms; now_ms < end; now_ms++) {
		for (size_t i = 0; i < n_timers; i++) {
			if (rings[i] == 0 || rings[i] > now_ms)
				continue;
			rings[i] = 0;
			timers[i]->fn(timers[i]->arg);
		}
		if (answered)
			answer_all();
	}
}

static void registers(void *arg)
{
	(void)arg;
	registrations++;
	told_ms = session_told_timeout(&s);
	session_registered(&s, "/r/workers/me", told_ms, now_ms);
}

static void nothing(void *arg)
{
	(void)arg;
}

static int n_leased;

static void on_leased(void *arg)
{
	(void)arg;
	n_leased++;
}

static void on_watch(void *arg, enum store_watch type, const char *path)
{
	(void)arg, (void)type, (void)path;
}

static int shortened;

static void shortens(void *arg)
{
	(void)arg;
	shortened++;
}

static const struct node_settings settings = {
	.servers = "127.0.0.1:2181", .root = "/r", .session_timeout_ms = LONG};

static void begin_with(const struct node_settings *with)
{
	static const struct session_handlers handlers = {.connected = registers,
							 .up = nothing,
							 .leased = on_leased,
							 .cut = nothing,
							 .expired = nothing,
							 .retimed = registers,
							 .shortened = shortens,
							 .watch = on_watch};

	log_setup(LOG_ERROR, LOG_TEXT, false);
	session_init(&s, NULL, with, &handlers);
}

static void connect(int timeout_ms)
{
	granted_ms = timeout_ms;
	handle()->handlers.state(handle()->handlers.arg, STORE_CONNECTED);
}

static void cut(void)
{
	n_asked = 0;
	handle()->handlers.state(handle()->handlers.arg, STORE_CONNECTING);
}

static void take_over(int timeout_ms, int counted_ms)
{
	const struct handoff handoff = {.session = session_id,
					.password = {1},
					.timeout_ms = timeout_ms,
					.counted_ms = counted_ms};

	session_take_over(&s, &handoff);
	session_start(&s);
}

/* Up for a while, with this timeout. */
static void lead(int timeout_ms)
{
	begin_with(&settings);
	session_start(&s);
	connect(timeout_ms);
	session_set_leading(&s, 1);
	pass(3 * timeout_ms, true);
	cr_assert(session_is_up(&s));
	cr_assert_gt(session_lease_left(&s), timeout_ms / 4);
}

Test(session, a_shorter_timeout_voids_what_was_counted_with_the_longer)
{
	lead(LONG);
	int64_t before = session_lease_left(&s), until = now_ms + before;
	cr_assert_gt(before, SHORT);
	cr_expect_eq(session_told_timeout(&s), LONG);
	cut();
	pass(300, false);
	cr_expect_eq(session_lease_left(&s), before - 300, "it goes on running out");
	connect(SHORT);
	cr_expect_leq(session_lease_left(&s), SHORT - 300, "%" PRId64, session_lease_left(&s));
	/*
	 * A lease that anybody was told of is good until then: others wait by the longer timeout.
	 */
	cr_expect_eq(session_told_left(&s), until - now_ms);
	cr_expect_eq(session_told_timeout(&s), LONG);
	pass(until - now_ms - 1, true);
	cr_expect_eq(told_ms, LONG);
	pass(SHORT, true);
	cr_expect_eq(told_ms, SHORT, "%" PRId64, told_ms);
	cr_expect_eq(registrations, 2);
	cr_expect_eq(session_told_left(&s), session_lease_left(&s));
	cr_expect_gt(session_lease_left(&s), SHORT / 4, "it leads on with less");
	cr_expect_lt(session_lease_left(&s), SHORT);
}

Test(session, nothing_is_left_of_a_lease_by_a_longer_timeout_after_the_shorter_one)
{
	lead(LONG);
	cut();
	pass(SHORT, false);
	cr_assert_gt(session_lease_left(&s), 0);
	connect(SHORT);
	cr_expect_eq(session_lease_left(&s), 0);
	pass(SHORT, true);
	cr_expect_gt(session_lease_left(&s), SHORT / 4, "it is confirmed again");
}

/* A caller that waits for enough of the lease is told when it is there, and not before. */
Test(session, what_waits_for_the_lease_is_woken_when_enough_of_it_is_left)
{
	lead(LONG);
	int before = n_leased;
	while (session_lease_left(&s) >= session_lease_least(&s))
		pass(1, false);
	cr_assert_gt(session_lease_left(&s), 0);
	cr_expect_eq(n_leased, before);
	pass(LONG / 5, true);
	cr_expect_geq(session_lease_left(&s), session_lease_least(&s));
	cr_expect_eq(n_leased, before + 1);
	pass(3 * LONG, true);
	cr_expect_eq(n_leased, before + 1, "there is enough all the time");
}

/* A server that moves to another address is found while there is still a lease. */
Test(session, a_lost_connection_has_names_looked_up_within_the_lease)
{
	lead(LONG);
	int before = n_lookups;
	cut();
	pass(LONG / 4, false);
	cr_expect_eq(n_lookups, before);
	address = "127.0.0.9:2181";
	pass(2, false);
	cr_assert_eq(n_lookups, before + 1);
	cr_expect_str_eq(set_servers, address);
	cr_expect_gt(session_lease_left(&s), LONG / 4, "there is time to connect");
	/* A name may get its address a little later. */
	pass(LONG / 4 + 1, false);
	cr_expect_eq(n_lookups, before + 2);
	cr_expect_eq(n_handles, 1, "no other session is asked for within the lease");
}

/* The address that does not answer any more may swallow what is sent: no connection is lost. */
Test(session, a_silent_server_has_names_looked_up_within_the_lease)
{
	lead(LONG);
	int before = n_lookups;
	address = "127.0.0.9:2181";
	pass(LONG / 12 + LONG / 4 + 2, false);
	cr_expect_geq(n_lookups, before + 1);
	cr_expect_str_eq(set_servers, address);
	cr_expect_gt(session_lease_left(&s), 0);
	cr_expect(session_is_up(&s));
}

Test(session, a_silent_server_is_kept_where_its_name_is_not_found)
{
	lead(LONG);
	address = NULL;
	pass(LONG / 2, false);
	cr_expect(session_is_up(&s));
	cr_expect_str_empty(set_servers);
	cr_expect_eq(n_handles, 1);
	pass(LONG, true);
	cr_expect_gt(session_lease_left(&s), LONG / 4);
}

/*
 * A node that leads nothing has no lease to lose, and looks as soon; another session comes later.
 */
Test(session, names_are_looked_up_soon_without_a_lease)
{
	begin_with(&settings);
	session_start(&s);
	connect(LONG);
	pass(LONG * 2, true);
	while (session_lease_left(&s) > 0)
		pass(100, true);
	int before = n_lookups;
	cut();
	pass(LONG / 4 + 2, false);
	cr_expect_eq(n_lookups, before + 1);
	cr_expect_eq(n_handles, 1);
	pass(LONG, false);
	cr_expect_eq(n_handles, 2, "the probe");
}

/* Servers that come up after us: the first session's lease would be over before it begins. */
Test(session, one_that_took_long_to_begin_is_not_used)
{
	begin_with(&settings);
	session_start(&s);
	pass(LONG / 2, false);
	connect(LONG);
	cr_expect_eq(n_handles, 1, "half of the timeout is no reason");
	cr_expect_eq(registrations, 1);
	cut();
	session_id++;
	handle()->handlers.state(handle()->handlers.arg, STORE_EXPIRED);
	pass(1, false);
	cr_assert_eq(n_handles, 2);
	pass(LONG / 2 + 1, false);
	connect(LONG);
	cr_expect_eq(registrations, 1, "it is closed unused");
	cr_expect_not(handle()->open);
	cr_expect_not(session_is_up(&s));
	pass(1, false);
	cr_assert_eq(n_handles, 3);
	session_id++;
	connect(LONG);
	cr_expect_eq(registrations, 2);
	pass(100, true);
	cr_expect(session_is_up(&s));
	cr_expect_gt(session_lease_left(&s), LONG * 9 / 10, "%" PRId64, session_lease_left(&s));
}

Test(session, servers_that_are_always_slow_are_asked_twice_and_no_more)
{
	begin_with(&settings);
	session_start(&s);
	pass(LONG, false);
	connect(LONG);
	pass(1, false);
	cr_assert_eq(n_handles, 2);
	pass(LONG, false);
	session_id++;
	connect(LONG);
	cr_expect_eq(n_handles, 2);
	cr_expect_eq(registrations, 1);
	cr_expect_eq(session_lease_left(&s), 0,
		     "it counts from when it was asked for at the earliest");
	session_set_leading(&s, 1);
	pass(LONG, true);
	cr_expect_gt(session_lease_left(&s), LONG / 4, "%" PRId64, session_lease_left(&s));
}

/* The next connection may be granted less, and nobody knows before. */
Test(session, an_answer_without_a_connection_promises_little)
{
	lead(LONG);
	cr_expect_eq(session_answer_left(&s), session_lease_left(&s));
	cut();
	cr_expect_gt(session_lease_left(&s), SHORT);
	cr_expect_eq(session_answer_left(&s), LEASE_TIMEOUT_MIN_MS / 2);
	pass(session_lease_left(&s) - 100, false);
	cr_expect_eq(session_answer_left(&s), 100);
	pass(100, false);
	cr_expect_eq(session_answer_left(&s), 0);
}

Test(session, a_longer_timeout_counts_once_others_know_of_it)
{
	lead(LONG);
	cut();
	connect(SHORT);
	pass(2 * LONG, true);
	cr_assert_eq(told_ms, SHORT);
	cut();
	connect(LONG);
	cr_expect_eq(session_told_timeout(&s), LONG);
	cr_expect_eq(told_ms, SHORT);
	pass(SHORT, true);
	cr_expect_eq(told_ms, LONG, "others are told");
	/* A server of an earlier connection may still speak of the shorter one. */
	for (int i = 0; i < 90; i++) {
		cr_assert_lt(session_lease_left(&s), SHORT, "%d", i);
		cr_assert_gt(session_lease_left(&s), 0, "%d", i);
		pass(100, true);
	}
	pass(2 * LONG, true);
	cr_expect_gt(session_lease_left(&s), SHORT, "%" PRId64, session_lease_left(&s));
}

Test(session, too_short_a_timeout_is_refused_once_what_was_told_is_over)
{
	lead(LONG);
	struct store *first = handle();
	cut();
	connect(LEASE_TIMEOUT_MIN_MS - 1);
	cr_expect_str_eq(session_state_name(&s), "refused");
	int64_t told = session_told_left(&s);
	cr_assert_gt(told, 2000);
	cr_expect_leq(session_lease_left(&s), LEASE_TIMEOUT_MIN_MS);
	pass(told - 1, true);
	cr_expect(first->open, "others are let in too early");
	pass(10, true);
	cr_expect_not(first->open);
	cr_expect_eq(n_handles, 1, "it is asked for again later");
	pass(2100, true);
	cr_assert_eq(n_handles, 2);
	connect(LONG);
	cr_expect(session_is_up(&s));
}

Test(session, too_little_is_not_asked_for)
{
	struct node_settings little = settings;

	little.session_timeout_ms = 500;
	begin_with(&little);
	session_start(&s);
	cr_expect_eq(asked_ms, LEASE_TIMEOUT_MIN_MS);
}

Test(session, what_the_sidecar_before_told_is_waited_for)
{
	begin_with(&settings);
	take_over(LONG, LONG);
	connect(SHORT);
	cr_expect_eq(session_told_timeout(&s), LONG);
	cr_expect_eq(session_told_left(&s), LONG);
	pass(LONG - 1, true);
	cr_expect_eq(told_ms, LONG);
	pass(SHORT, true);
	cr_expect_eq(told_ms, SHORT);
}

Test(session, what_the_sidecar_before_counted_with_is_counted_with)
{
	begin_with(&settings);
	take_over(LONG, SHORT);
	connect(LONG);
	session_set_leading(&s, 1);
	cr_expect_eq(s.lease.timeout_ms, SHORT, "servers may yet report by the connection before");
	pass(12000 + 2 * SHORT, true);
	cr_expect_eq(s.lease.timeout_ms, LONG);
}

Test(session, the_next_sidecar_is_to_know_of_a_shorter_timeout_at_once)
{
	lead(LONG);
	shortened = 0;
	cut();
	connect(LONG);
	cr_expect_eq(shortened, 0);
	cut();
	connect(SHORT);
	cr_expect_eq(shortened, 1);
}

Test(session, another_session_knows_nothing_of_it)
{
	lead(LONG);
	cut();
	session_id++;
	connect(SHORT);	 /* without a word, for another one: that is not used */
	pass(10, false); /* it is closed, and yet another is asked for */
	session_id++;
	connect(SHORT);
	cr_expect_eq(session_told_timeout(&s), SHORT);
	cr_expect_lt(session_lease_left(&s), SHORT);
	cr_expect_eq(told_ms, SHORT);
}

/* --- hostages ------------------------------------------------------------------------------------ */

/* Whether the handle that led is given up within so many ms, after at least this many. */
static void is_given_up(int64_t least_ms, int64_t most_ms, bool answered)
{
	const struct store *led = handle();
	int64_t since = now_ms;

	while (led->open && now_ms < since + most_ms)
		pass(10, answered);
	cr_assert_not(led->open, "it is kept after %" PRId64 " ms", now_ms - since);
	cr_expect_geq(now_ms - since, least_ms);
	cr_expect_eq(session_lease_left(&s), 0);
}

/* The last confirmation may be a twelfth of T old, and the next is owed by then. */
Test(session, one_whose_confirmations_are_refused_is_given_up_after_its_timeout)
{
	lead(LONG);
	answer_code = STORE_NO_AUTH;
	is_given_up(LONG - 100, LONG + LONG / 12 + 100, true);
	cr_expect(strstr(s.problem, "refuse confirmations"), "%s", s.problem);
	cr_expect_eq(s.state, SESSION_REFUSED);
	answer_code = STORE_OK;
	pass(5000, true);
	cr_assert(handle()->open, "another is asked for");
	session_id++;
	connect(LONG);
	cr_expect(session_is_up(&s));
	cr_expect_str_empty(s.problem);
}

Test(session, one_whose_requests_nobody_answers_is_given_up_after_its_timeout)
{
	lead(LONG);
	is_given_up(LONG - 100, LONG + LONG / 12 + 100, false);
	cr_expect(strstr(s.problem, "not answered"), "%s", s.problem);
	cr_expect_eq(s.state, SESSION_CONNECTING);
}

/* Others may be open, to see whether servers take any session. */
static void connect_of(struct store *h)
{
	granted_ms = LONG;
	h->handlers.state(h->handlers.arg, STORE_CONNECTED);
}

static void cut_of(struct store *h)
{
	n_asked = 0;
	h->handlers.state(h->handlers.arg, STORE_CONNECTING);
}

/* As on a packet that is too big: the next session does with fewer watches for a while. */
Test(session, one_that_servers_hang_up_on_again_and_again_is_given_up_after_its_timeout)
{
	struct store *led;
	int64_t since;

	lead(LONG);
	led = handle();
	cr_expect_eq(s.watches.limit, WATCHES_MAX);
	for (since = now_ms; led->open && now_ms < since + 2 * LONG;) {
		cut_of(led);
		pass(150, false);
		if (led->open)
			connect_of(led);
		pass(50, false);
	}
	cr_expect_not(led->open);
	cr_expect(now_ms - since >= LONG && now_ms - since <= LONG + LONG / 12 + 500,
		  "after %" PRId64 " ms", now_ms - since);
	cr_expect(strstr(s.problem, "hang up"), "%s", s.problem);
	pass(5000, false);
	session_id++;
	connect(LONG);
	cr_expect_eq(s.watches.limit, WATCHES_MAX / WATCHES_FRUGAL);
}

/* Connections that take long to come, as another server of the list is dead. */
Test(session, one_that_is_hung_up_on_seldom_is_given_up_as_well)
{
	struct store *led;
	int64_t since;

	lead(LONG);
	led = handle();
	for (since = now_ms; led->open && now_ms < since + 2 * LONG;) {
		cut_of(led);
		pass(LONG / 3, false);
		if (led->open)
			connect_of(led);
		pass(20, false);
	}
	cr_expect_not(led->open);
	cr_expect_leq(now_ms - since, 2 * LONG);
}

/* Its time counts from when servers are there again: they have started all timers anew. */
Test(session, one_of_servers_that_were_away_is_kept)
{
	static const int64_t away[] = {LONG / 2, LONG * 9 / 10, LONG - 50, LONG + 50, 5 * LONG};
	const struct store *led;

	for (size_t i = 0; i < sizeof(away) / sizeof(away[0]); i++) {
		n_timers = 0;
		n_handles = 0;
		lead(LONG);
		led = handle();
		cut();
		for (int64_t ms = 0; ms < away[i]; ms += 100)
			pass(100, false);
		while (n_handles >
		       1) /* those that were asked for to see whether servers take any */
			n_handles--;
		connect(LONG);
		pass(LONG / 4, false); /* they are slow yet */
		cr_expect(led->open, "away for %" PRId64, away[i]);
		pass(100, true);
		cr_expect(session_is_up(&s), "away for %" PRId64, away[i]);
		pass(2 * LONG, true);
		cr_expect(led->open && session_is_up(&s));
	}
}

/* Nobody waits for what it has not made. */
Test(session, one_that_was_never_confirmed_is_kept)
{
	static const struct node_settings none = {
		.servers = "127.0.0.1:2181", .root = "/r", .session_timeout_ms = LONG};

	begin_with(&none);
	s.handlers.connected = nothing; /* the registration is refused, say */
	session_start(&s);
	connect(LONG);
	pass(5 * LONG, false);
	cr_expect(handle()->open);
	cr_expect_eq(n_handles, 1);
}

/* The previous sidecar may have led by it. */
Test(session, one_that_was_taken_over_and_is_not_confirmed_is_given_up)
{
	begin_with(&settings);
	s.handlers.connected = nothing;
	take_over(LONG, 0);
	connect(LONG);
	is_given_up(LONG - 100, 2 * LONG, false);
}

Test(session, one_that_leads_nothing_owes_no_confirmation)
{
	begin_with(&settings);
	session_start(&s);
	connect(LONG);
	pass(100, true);
	cr_assert(session_is_up(&s));
	pass(5 * LONG, false);
	cr_expect(handle()->open && session_is_up(&s));
}

/* Messages that came while this process was stopped are handled first. */
Test(session, a_stopped_process_gives_nothing_up_before_it_has_heard)
{
	lead(LONG);
	pass(LONG / 6, false); /* one is outstanding */
	now_ms += 3 * LONG;
	pass(10, false);
	cr_expect(handle()->open);
	pass(10, true);
	pass(LONG, true);
	cr_expect(handle()->open && session_is_up(&s));
}

/* Each takes a session timeout to be found out: they come no faster for being many. */
Test(session, the_next_one_comes_later_each_time)
{
	int64_t before = 0;

	lead(SHORT * 4);
	for (int i = 0; i < 3; i++) {
		is_given_up(SHORT * 4 - 700, SHORT * 8, false);
		int64_t pause = s.refused_ms;
		cr_expect(pause > before || pause == SHORT * 4, "%" PRId64, pause);
		cr_expect_leq(pause, SHORT * 4);
		before = pause;
		pass(pause + 10, false);
		session_id++;
		connect(SHORT * 4);
		cr_assert(session_is_up(&s));
		session_set_leading(&s, 1);
	}
}

static void fails(const char *message)
{
	handle()->handlers.failed(handle()->handlers.arg, "127.0.0.1:2181", message);
}

/* Told in status while there is no session, and in the log once a minute. */
Test(session, what_a_server_says_is_kept_until_there_is_a_session)
{
	begin_with(&settings);
	session_start(&s);
	cr_expect_str_eq(s.error.message, "");
	cr_expect_str_eq(session_why(&s), "no server has answered yet");
	fails("Connection refused");
	cr_expect_str_eq(s.error.server, "127.0.0.1:2181");
	cr_expect_str_eq(session_why(&s), "Connection refused");
	cr_expect_eq(s.error.time, now_ms);
	cr_expect_eq(s.error.told_ms, 0, "it may be over at once");
	now_ms += 2000;
	fails("it hung up");
	int64_t told = now_ms;
	cr_expect_eq(s.error.told_ms, told);
	for (; now_ms < told + 60000; now_ms += 160)
		fails("it hung up");
	cr_expect_eq(s.error.told_ms, told, "once a minute");
	fails("it hung up");
	cr_expect_gt(s.error.told_ms, told);
	connect(LONG);
	pass(10, true);
	if (!session_is_up(&s)) { /* this one took long to begin */
		connect(LONG);
		pass(10, true);
	}
	cr_assert(session_is_up(&s));
	cr_expect_str_eq(s.error.message, "");
	fails("late");
	cr_expect_str_eq(s.error.message, "", "there is a session");
}

Test(session, after_a_refused_authentication_tries_come_less_and_less_often)
{
	static const int64_t pauses_ms[] = {2000, 4000, 8000, 16000, 30000, 30000};

	begin_with(&settings);
	session_start(&s);
	for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(pauses_ms[0]); i++) {
		size_t before = n_handles;
		fails("authentication refused: it wants SASL");
		handle()->handlers.state(handle()->handlers.arg, STORE_AUTH_FAILED);
		cr_expect_eq(s.state, SESSION_REFUSED);
		cr_expect_str_eq(session_why(&s), "authentication refused: it wants SASL");
		cr_expect_gt(s.error.told_ms, 0, "at once");
		pass(pauses_ms[i], false);
		cr_expect_eq(n_handles, before, "not before");
		pass(2, false);
		cr_expect_eq(n_handles, before + 1);
	}
	connect(LONG);
	pass(10, true);
	cr_assert(session_is_up(&s));
	cr_expect_eq(s.refused_ms, 0);
}
