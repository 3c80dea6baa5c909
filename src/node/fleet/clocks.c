#include "node/fleet/clocks.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/duration.h"
#include "node/fleet/registry.h"
#include "node/tree/paths.h"
#include "wire/records/record.h"

#define LOOK_MS 60000  /* period of checks of our clock: somebody may have set it */
#define ASK_MS	600000 /* how often a write asks for the server's time */
#define SOON_MS \
	10000 /* after an answer that took too long to tell; and between two registrations */
#define HINT_MS	   15000 /* least time between writes because of others' records */
#define SPREAD_MS  10	 /* for each member: not all of a fleet write at once */
#define SPREAD_MAX 10000

static void look(struct clocks *c);

static int64_t now_ms(const struct clocks *c)
{
	return host_now_ms(c->due.host);
}

/* A random delay, within the time that a fleet of this size is given. */
static int64_t spread(const struct clocks *c)
{
	size_t n = c->registry->fleet.n_members;
	uint32_t most = n < SPREAD_MAX / SPREAD_MS ? (uint32_t)n * SPREAD_MS : SPREAD_MAX, draw;

	host_random(c->due.host, &draw, sizeof(draw));
	return most > 0 ? draw % most : 0;
}

/* --- the server's time ----------------------------------------------------------------------- */

void clocks_heard(struct clocks *c, const struct store_reply *reply)
{
	int64_t now = now_ms(c), before_ms = c->jobs_base_ms - c->jobs_offset_ms;
	bool known = c->skew.known;

	/* A server whose clock is before 1970 says nothing. */
	if (reply->code != STORE_OK || reply->stat.mtime <= 0)
		return;
	if (skew_heard(&c->skew, reply->sent_ms, now, reply->stat.mtime, c->tolerance_ms)) {
		log_warning("the ZooKeeper server's clock has jumped",
			    LOG_INT("ahead_ms",
				    host_wall_ms(c->due.host) - skew_server(&c->skew, now)));
		c->publish_ms = now + spread(c);
		c->jobs_settled_ms = now + CLOCKS_JOBS_SETTLE_MS;
	}
	/* A new session may follow a restart of the server, whose clock may have been set. */
	if (!known && c->jobs_known && llabs(c->skew.base_ms - before_ms) > c->tolerance_ms)
		c->jobs_settled_ms = now + CLOCKS_JOBS_SETTLE_MS;
	if (c->skew.error_ms > c->tolerance_ms / SKEW_STEP_PART && c->ask_ms > now + SOON_MS)
		c->ask_ms = now + SOON_MS;
	look(c);
}

/* Asks again soon, as the server's time was not told. */
static void ask_soon(struct clocks *c)
{
	c->ask_ms = now_ms(c) + SOON_MS;
	if (c->registry->id[0])
		host_timer_start(&c->due, SOON_MS);
}

/* Goes on without an offset: this worker is registered all the same. */
static void go_without(struct clocks *c, const char *why)
{
	if (!c->mute)
		log_warning("the ZooKeeper server's time is not to be had", LOG_STR("why", why));
	c->mute = !c->skew.known;
}

static void on_told(void *arg, const struct store_reply *reply)
{
	struct clocks *c = arg;
	struct registry *r = c->registry;

	c->asking = false;
	switch (reply->code) {
	case STORE_OK:
		clocks_heard(c, reply);
		if (!c->skew.known)
			go_without(c, "it is before 1970");
		break;
	case STORE_NO_NODE:
		if (c->folder) {
			registry_make_parents(r);
			return;
		}
		/*
		 * Our record was replaced, or is gone: then its successor waits for the server's
		 * time.
		 */
		c->gone = true;
		ask_soon(c);
		break;
	case STORE_UNKNOWN: ask_soon(c); return;
	case STORE_ABANDONED: return; /* the next session asks again */
	case STORE_NODE_EXISTS:
	case STORE_BAD_VERSION:
	case STORE_NO_AUTH:
	case STORE_FULL:
	case STORE_FAILED: go_without(c, reply->text); break;
	}
	registry_clocked(r);
}

/* Writes our record, or for NULL the folder, without a change. */
static void write_again(struct registry *r, const struct member *self, store_reply_fn fn, void *arg)
{
	char path[STORE_PATH_MAX];
	struct buffer data;

	buffer_init(&data, RECORD_WORKER_MAX);
	if (self) {
		int error = record_pack_worker(&data, self->worker);
		assert(error == 0); /* the record has been written before */
		(void)error;
	}
	path_of(r->settings, PATH_WORKERS, self ? self->worker->id : NULL, path);
	struct store_op op = {.type = STORE_OP_SET,
			      .path = path,
			      .data = data.data,
			      .len = data.len,
			      .version = -1};
	store_multi(r->session->store, &op, 1, fn, arg);
	buffer_done(&data);
}

static void ask(struct clocks *c)
{
	const struct member *self = c->gone ? NULL : registry_self(c->registry);

	c->ask_ms = now_ms(c) + ASK_MS;
	if (c->asking)
		return;
	c->asking = true;
	c->gone = false;
	c->folder = !self;
	write_again(c->registry, self, on_told, c);
}

void clocks_ask(struct clocks *c, store_reply_fn fn, void *arg)
{
	write_again(c->registry, registry_self(c->registry), fn, arg);
}

bool clocks_ready(struct clocks *c)
{
	if (c->skew.known || c->mute)
		return true;
	ask(c);
	return false;
}

/* --- what is published ----------------------------------------------------------------------- */

/* Publishes our offset, by what was measured and what our clock says, if it has changed. */
static void publish(struct clocks *c)
{
	int64_t now = now_ms(c), wall = host_wall_ms(c->due.host);
	int64_t offset = skew_offset(&c->skew, now, wall, c->offset_ms, c->tolerance_ms);

	if (offset == c->offset_ms || now < c->publish_ms)
		return;
	log_info("the clock differs from the ZooKeeper server's", LOG_INT("ahead_ms", offset),
		 LOG_INT("before_ms", c->offset_ms));
	c->offset_ms = offset;
	if (!c->registry->id[0] && !c->registry->attempt)
		return; /* the offset goes with the first registration */
	c->publish_ms = now + SOON_MS;
	registry_retimed(c->registry);
}

static void look(struct clocks *c)
{
	int64_t now = now_ms(c), next = now + LOOK_MS;

	publish(c);
	clocks_judge_jobs(c);
	if (session_is_up(c->registry->session) && c->registry->id[0] && c->ask_ms <= now)
		ask(c);
	if (c->ask_ms > now && c->ask_ms < next)
		next = c->ask_ms;
	if (c->publish_ms > now && c->publish_ms < next)
		next = c->publish_ms;
	if (c->skew.settled_ms > 0 && c->skew.settled_ms < next)
		next = c->skew.settled_ms;
	if (c->jobs_settled_ms > now && c->jobs_settled_ms < next)
		next = c->jobs_settled_ms;
	if (c->cleared_ms > 0 && c->cleared_ms < next)
		next = c->cleared_ms;
	host_timer_start(&c->due, next > now ? next - now : 0);
}

static void on_due(void *arg)
{
	struct clocks *c = arg;
	bool settles = c->skew.settled_ms > 0 && c->skew.settled_ms <= now_ms(c);
	bool cleared = c->cleared_ms > 0 && c->cleared_ms <= now_ms(c);

	if (settles)
		c->skew.settled_ms = 0;
	if (cleared)
		c->cleared_ms = 0;
	look(c);
	/* Others' offsets are comparable again, or a clock no longer counts as off: judge anew. */
	if (settles || cleared)
		folder_touch(&c->registry->workers);
}

void clocks_registered(struct clocks *c)
{
	look(c);
}

void clocks_taken_over(struct clocks *c, const struct worker *w)
{
	c->offset_ms = w->clock_offset_ms;
	ask(c);
	look(c);
}

void clocks_expired(struct clocks *c)
{
	/* Either clock may have been set: the next session measures again. */
	c->skew = (struct skew){.known = false};
	c->mute = c->off = false;
	c->cleared_ms = 0;
	host_timer_stop(&c->due);
}

void clocks_joined(struct clocks *c, const struct worker *w)
{
	int64_t now = now_ms(c), apart = w->clock_offset_ms - c->offset_ms, ask_ms;

	if (w->clock_tolerance_ms == 0 || c->registry->id[0] == '\0' ||
	    (apart <= c->tolerance_ms && -apart <= c->tolerance_ms))
		return;
	/* The server's clock may be set again right after it was. */
	ask_ms = (now < c->hint_ms ? c->hint_ms : now) + spread(c);
	if (c->ask_ms <= ask_ms)
		return;
	c->hint_ms = ask_ms + HINT_MS;
	c->ask_ms = ask_ms;
	host_timer_start(&c->due, 0);
}

/* --- what others ask -------------------------------------------------------------------------- */

bool clocks_is_unsure(const struct clocks *c)
{
	return !c->skew.known && !c->mute;
}

bool clocks_offset(const struct clocks *c, int64_t *ret_ms)
{
	if (!c->skew.known)
		return false;
	*ret_ms = host_wall_ms(c->due.host) - skew_server(&c->skew, now_ms(c));
	return true;
}

int64_t clocks_latest_ms(const struct clocks *c)
{
	int64_t wall = host_wall_ms(c->due.host), ahead;

	if (!clocks_offset(c, &ahead))
		return INT64_MAX;
	return (ahead > 0 ? wall : wall - ahead) + c->tolerance_ms;
}

void clocks_limit(const struct clocks *c, int64_t zone_ms, char limit[TICK_NAME_SIZE])
{
	int64_t latest_ms = clocks_latest_ms(c);

	snprintf(limit, TICK_NAME_SIZE, "%s", TICK_NO_LIMIT);
	if (latest_ms > 0 && latest_ms < INT64_MAX - TICK_ZONE_MAX_MS)
		tick_name(latest_ms + zone_ms, limit);
}

void clocks_say(int64_t offset_ms, char text[CLOCKS_TEXT_MAX])
{
	static const int64_t units[] = {3600 * 1000, 60 * 1000, 1000};
	int64_t apart = offset_ms < 0 ? -offset_ms : offset_ms;
	char span[DURATION_TEXT_SIZE];

	/* The span is rounded to two or three figures. */
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (apart >= 10 * units[i])
			apart = (apart + units[i] / 2) / units[i] * units[i];
	duration_format(apart, span);
	snprintf(text, CLOCKS_TEXT_MAX, "%s %s the ZooKeeper server's", span,
		 offset_ms < 0 ? "behind" : "ahead of");
}

void clocks_say_own(const struct clocks *c, char text[CLOCKS_TEXT_MAX])
{
	int64_t ahead_ms = c->offset_ms;

	clocks_offset(c, &ahead_ms);
	clocks_say(ahead_ms, text);
}

/* --- from outside ---------------------------------------------------------------------------- */

void clocks_set_tolerance(struct clocks *c, int64_t tolerance_ms)
{
	if (tolerance_ms <= 0 || tolerance_ms == c->tolerance_ms)
		return;
	c->tolerance_ms = tolerance_ms;
	registry_retimed(c->registry);
}

void clocks_init(struct clocks *c, struct registry *r, struct host *h)
{
	memset(c, 0, sizeof(*c));
	c->registry = r;
	c->tolerance_ms = CLOCKS_TOLERANCE_MS;
	host_timer_init(&c->due, h, on_due, c);
}

void clocks_done(struct clocks *c)
{
	host_timer_done(&c->due);
}
