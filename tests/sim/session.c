/* As src/node/session.c: connects, confirms, keeps the lease, begins anew after expiry. */
#include "oracle.h"
#include "ticks.h"

#define RELOOKUP_MS  10000
#define GRACE_MIN_MS 1000
#define GRACE_MAX_MS 3000

int64_t session_lease_left(const struct sidecar *s)
{
	return s->state == SESSION_CLOSED ? 0 : lease_left(&s->lease, sidecar_ms(s));
}

/* --- the lease ------------------------------------------------------------------------------------------- */

/* What the rule of the lease would be without one of its parts. */
static void extend_lease_wrongly(struct sidecar *s, int64_t sent_ms)
{
	struct lease *l = &s->lease;
	enum plant plant = sim.options.plant;
	int64_t span = l->timeout_ms;

	if (plant == PLANT_LEASE_ONCE) {
		/* As if the answer had come long ago: it counts itself as the write before it. */
		lease_committed(l, sent_ms, sent_ms - l->timeout_ms);
		lease_committed(l, sent_ms, sent_ms - l->timeout_ms);
		return;
	}
	if (plant == PLANT_LEASE_RECEIVED)
		sent_ms = sidecar_ms(s);
	if (plant != PLANT_NO_MARGIN)
		span -= span / 4 + span / 100 + 100;
	if (sent_ms + span > l->deadline_ms)
		l->deadline_ms = sent_ms + span;
}

static void extend_lease(struct sidecar *s, int64_t sent_ms)
{
	enum plant plant = sim.options.plant;
	bool was_leased = session_lease_left(s) > 0;

	if (plant >= PLANT_NO_MARGIN && plant <= PLANT_LEASE_RECEIVED)
		extend_lease_wrongly(s, sent_ms);
	else
		lease_committed(&s->lease, sent_ms, sidecar_ms(s));
	TRACE("sidecar %u: sent at %lld, now %lld, session alive at %lld, lease %lld ms", s->id,
	      (long long)sent_ms, (long long)sidecar_ms(s), (long long)s->lease.alive_ms,
	      (long long)session_lease_left(s));
	oracle_lease(s);
	if (!was_leased && session_lease_left(s) > 0)
		runs_changed(s);
}

static void be_patient(struct sidecar *s)
{
	s->patience_ms = sidecar_ms(s) + s->lease.timeout_ms / 4;
	timer_start(s, TIMER_PATIENCE, s->lease.timeout_ms / 4);
}

static void on_patience(struct sidecar *s)
{
	if (s->hung_up || sim.n_servers == 1 ||
	    (s->state != SESSION_CONNECTED && s->state != SESSION_UP))
		return;
	if (sidecar_ms(s) > s->patience_ms + s->lease.timeout_ms / 8) {
		be_patient(s);
		return;
	}
	TRACE("sidecar %u tries another server", s->id);
	s->hung_up = true;
	s->patience_ms = 0;
	lib_lose(&s->lib);
}

void session_confirm(struct sidecar *s)
{
	struct request q = {
		.type = REQUEST_MULTI, .ops = {{OP_CHECK_WORKER, s->registration, -1}}, .n_ops = 1};

	if (!s->registration || (s->state != SESSION_CONNECTED && s->state != SESSION_UP))
		return;
	ask(s, &q, ASK_CONFIRM);
	if (s->patience_ms == 0)
		be_patient(s);
}

static void end_patience(struct sidecar *s)
{
	s->patience_ms = 0;
	timer_stop(s, TIMER_PATIENCE);
}

void session_confirmed(struct sidecar *s, int64_t sent_ms)
{
	s->hung_up = false;
	end_patience(s);
	extend_lease(s, sent_ms);
	if (s->state != SESSION_CONNECTED)
		return;
	TRACE("sidecar %u is up", s->id);
	s->state = SESSION_UP;
	leaders_up(s);
	registry_up(s);
	keep_session(s);
}

/* While nothing is led, a read keeps the session's signs of life fresh. */
static void touch(struct sidecar *s)
{
	struct request q = {
		.type = REQUEST_EXISTS, .target = WATCH_WORKERS, .record = s->registration};

	if (s->registration && s->state == SESSION_UP)
		ask(s, &q, ASK_TOUCH);
}

void session_unregistered(struct sidecar *s)
{
	if (!s->registration)
		return;
	TRACE("sidecar %u finds its registration gone", s->id);
	s->registration = 0;
	registry_connected(s);
}

void session_set_leading(struct sidecar *s, bool leading)
{
	bool before = s->leading;

	s->leading = leading;
	if (!leading || before)
		return;
	session_confirm(s);
	timer_start(s, TIMER_CONFIRM, lease_next(&s->lease, sidecar_ms(s), true));
}

void session_heard(struct sidecar *s, const struct item *item)
{
	if (item->reply.code == CODE_UNKNOWN)
		return;
	lease_heard(&s->lease, item->asked.sent_ms, sidecar_ms(s));
	if (sim.options.plant == PLANT_LEASE_READS)
		extend_lease(s, item->asked.sent_ms);
}

void session_reply(struct sidecar *s, const struct item *item)
{
	if (item->asked.what == ASK_TOUCH)
		return;
	if (item->reply.code == CODE_OK)
		session_confirmed(s, item->asked.sent_ms);
	else if (item->reply.code == CODE_NO_NODE)
		session_unregistered(s);
}

/* --- connections ----------------------------------------------------------------------------------------- */

static void end_session(struct sidecar *s)
{
	if (sim.options.plant != PLANT_ADOPT)
		lease_end(&s->lease);
	s->session = s->taken_over = 0;
	s->registration = 0;
	s->leading = false;
	if (sim.options.plant == PLANT_ADOPT)
		leaders_cut(s);
	else
		leaders_expired(s);
	registry_expired(s);
	runs_expired(s);
	oracle_lease(s);
}

static void end_probe(struct sidecar *s)
{
	lib_close(&s->probe, true);
	s->probe_connected = false;
}

static void on_probe(void *arg, const struct item *item)
{
	struct sidecar *s = arg;

	if (item->kind != ITEM_CONNECTED || s->probe_connected)
		return;
	s->probe_connected = true;
	int64_t grace = s->lease.timeout_ms / 3;
	grace = grace < GRACE_MIN_MS ? GRACE_MIN_MS : grace;
	timer_start(s, TIMER_SESSION, grace < GRACE_MAX_MS ? grace : GRACE_MAX_MS);
}

static void look_again_in(struct sidecar *s, int64_t ms)
{
	int64_t left = session_lease_left(s);

	ms = left > 0 && left < ms ? left : ms;
	timer_start(s, TIMER_SESSION, ms < RELOOKUP_MS ? ms : RELOOKUP_MS);
}

static void on_connected(struct sidecar *s)
{
	end_probe(s);
	timer_stop(s, TIMER_SESSION);
	if (s->session != s->lib.session) {
		s->session = s->lib.session;
		lease_begin(&s->lease, s->lib.timeout_ms, s->opened_ms);
	} else {
		lease_moved(&s->lease, s->lib.timeout_ms);
	}
	TRACE("sidecar %u is connected, session %lld", s->id, (long long)s->session);
	s->state = SESSION_CONNECTED;
	timer_start(s, TIMER_CONFIRM, lease_next(&s->lease, sidecar_ms(s), s->leading));
	if (sim.options.plant == PLANT_EARLY_UP && s->registration) {
		s->state = SESSION_UP;
		leaders_up(s);
		registry_up(s);
	}
	if (s->registration)
		session_confirm(s);
	else
		registry_connected(s);
}

void session_item(struct sidecar *s, const struct item *item)
{
	if (item->kind == ITEM_CONNECTED) {
		on_connected(s);
		return;
	}
	if (item->kind == ITEM_CONNECTING) {
		TRACE("sidecar %u is cut", s->id);
		end_patience(s);
		sim.cuts++;
		if (s->state == SESSION_CONNECTED || s->state == SESSION_UP) {
			registry_cut(s);
			leaders_cut(s);
		}
		s->state = SESSION_CONNECTING;
		look_again_in(s, s->lease.timeout_ms > 0 ? s->lease.timeout_ms : RELOOKUP_MS);
		return;
	}
	TRACE("sidecar %u hears that its session has expired", s->id);
	end_probe(s);
	s->state = SESSION_CONNECTING;
	end_session(s);
	lib_close(&s->lib, false);
	timer_start(s, TIMER_SESSION, 0);
}

static void on_retry(struct sidecar *s)
{
	if (s->probe_connected) {
		TRACE("sidecar %u gives its session up", s->id);
		end_session(s);
		lib_close(&s->lib, false);
		end_probe(s);
	}
	if (s->lib.state == LIB_CLOSED) {
		session_open(s);
		timer_start(s, TIMER_SESSION, RELOOKUP_MS);
		return;
	}
	if (s->session != 0 && session_lease_left(s) == 0 && s->probe.state == LIB_CLOSED)
		lib_open(&s->probe, s->id, on_probe, s, 0);
	if (!s->probe_connected)
		look_again_in(s, RELOOKUP_MS);
}

void session_timer(struct sidecar *s, enum timer timer)
{
	if (timer == TIMER_PATIENCE) {
		on_patience(s);
		return;
	}
	if (timer == TIMER_SESSION) {
		if (s->state == SESSION_CONNECTING)
			on_retry(s);
		return;
	}
	if (s->state != SESSION_CONNECTED && s->state != SESSION_UP)
		return;
	timer_start(s, TIMER_CONFIRM, lease_next(&s->lease, sidecar_ms(s), s->leading));
	if (s->leading || s->state == SESSION_CONNECTED)
		session_confirm(s);
	else
		touch(s);
}

void session_stop(struct sidecar *s)
{
	end_patience(s);
	s->state = SESSION_CLOSED;
	lease_end(&s->lease);
	lib_close(&s->lib, true);
	end_probe(s);
}
