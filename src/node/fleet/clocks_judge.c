/* Judges, from what all workers publish, whose clock is off, and which one jobs go by. */
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "core/fleet/identity.h"
#include "node/fleet/clocks.h"
#include "node/fleet/registry.h"

#define CLEARED_MS 5000 /* time that an outvoted clock stays off once votes have gone */

static int64_t now_ms(const struct clocks *c)
{
	return host_now_ms(c->due.host);
}

/*
 * The clocks as the records say, but for our own; an array of the caller's, with room for one more.
 */
static struct skew_clock *list_clocks(const struct clocks *c, const char *own_id, int64_t own_ms)
{
	const struct fleet *f = &c->registry->fleet;
	struct skew_clock *list = mem_calloc(f->n_members + 1, sizeof(*list));

	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		bool own = strcmp(w->id, own_id) == 0;
		list[i] = (struct skew_clock){.machine = w->machine,
					      .host = identity_host(w),
					      .tolerance_ms = w->clock_tolerance_ms,
					      .offset_ms = own ? own_ms : w->clock_offset_ms};
	}
	return list;
}

static void judge(const struct clocks *c, const char *own_id, int64_t own_ms, bool *ret_off)
{
	struct skew_clock *list = list_clocks(c, own_id, own_ms);

	skew_judge(list, c->registry->fleet.n_members, ret_off);
	free(list);
}

static int64_t own_offset(const struct clocks *c)
{
	return skew_offset(&c->skew, now_ms(c), host_wall_ms(c->due.host), c->offset_ms,
			   c->tolerance_ms);
}

static void set_jobs(struct clocks *c, int64_t offset_ms)
{
	if (llabs(offset_ms - c->jobs_offset_ms) > c->tolerance_ms)
		log_warning("the clock of jobs differs from the ZooKeeper server's",
			    LOG_INT("ahead_ms", offset_ms),
			    LOG_INT("before_ms", c->jobs_offset_ms));
	c->jobs_known = true;
	c->jobs_doubted = false;
	c->jobs_offset_ms = offset_ms;
	c->jobs_base_ms = c->skew.base_ms + offset_ms;
	c->jobs_error_ms = c->skew.error_ms;
}

void clocks_judge_jobs(struct clocks *c)
{
	const struct member *self = registry_self(c->registry);
	size_t n = c->registry->fleet.n_members;
	int64_t now = now_ms(c), own_ms = own_offset(c), offset;

	if (!c->skew.known || now < c->skew.settled_ms || now < c->jobs_settled_ms)
		return;
	/* The offsets of the others may be older than a change of the server's clock. */
	if (!c->jobs_known && llabs(own_ms) > c->tolerance_ms) {
		c->jobs_settled_ms = now + CLOCKS_JOBS_SETTLE_MS;
		set_jobs(c, own_ms < 0 ? own_ms : 0);
		c->jobs_doubted = true;
		return;
	}
	/* Records of a former session may be older than a change of the server's clock. */
	if (c->jobs_known && !registry_settled(c->registry))
		return;
	struct skew_clock *list = list_clocks(c, self ? self->worker->id : "", own_ms);
	if (!self)
		list[n++] = (struct skew_clock){.machine = "",
						.host = c->registry->hostname,
						.tolerance_ms = c->tolerance_ms,
						.offset_ms = own_ms};
	offset = skew_jobs(list, n, c->tolerance_ms);
	free(list);
	set_jobs(c, offset);
}

bool clocks_jobs(const struct clocks *c, int64_t *ret_ms)
{
	*ret_ms = c->jobs_known ? c->jobs_base_ms + now_ms(c) : host_wall_ms(c->due.host);
	return c->jobs_known || c->mute;
}

int64_t clocks_jobs_error(const struct clocks *c)
{
	return c->jobs_known ? c->jobs_error_ms : 0;
}

bool clocks_jobs_doubted(const struct clocks *c)
{
	return c->jobs_doubted;
}

int64_t clocks_jobs_offset(const struct clocks *c)
{
	return c->jobs_known ? c->jobs_offset_ms : 0;
}

/* How many workers' clocks differ from that one. */
static size_t count_against(const struct clocks *c, const struct member *self)
{
	const struct fleet *f = &c->registry->fleet;
	size_t n = 0;

	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		n += w->clock_tolerance_ms > 0 &&
		     llabs(w->clock_offset_ms - self->worker->clock_offset_ms) > c->tolerance_ms;
	}
	return n;
}

/*
 * Notes whether our clock is off. A worker that registers anew is away until its record is read,
 * and its vote with it. So a clock that was off stays off for a while after votes against it have
 * gone. Votes for it count at once.
 */
static void set_off(struct clocks *c, const struct member *self, bool off)
{
	size_t against = count_against(c, self);

	if (c->off && !off && against < c->against) {
		c->cleared_ms = now_ms(c) + CLEARED_MS;
		host_timer_start(&c->due, 0);
	} else if (off) {
		c->cleared_ms = 0;
	}
	c->off = off;
	c->against = against;
}

bool clocks_judge(struct clocks *c, bool *ret_off)
{
	const struct fleet *f = &c->registry->fleet;
	const struct member *self = registry_self(c->registry);

	if (now_ms(c) < c->skew.settled_ms)
		return false;
	judge(c, "", 0, ret_off);
	clocks_judge_jobs(c);
	for (size_t i = 0; i < f->n_members; i++)
		if (f->by_id[i] == self)
			set_off(c, self, ret_off[i]);
	return true;
}

bool clocks_is_off(const struct clocks *c)
{
	const struct fleet *f = &c->registry->fleet;
	const struct member *self = registry_self(c->registry);
	int64_t offset = own_offset(c);
	bool off = false;

	if (!self)
		return false;
	/* We may have registered again since it was judged. */
	if (now_ms(c) < c->skew.settled_ms)
		return c->off;
	if (offset == self->worker->clock_offset_ms)
		return self->clock_off || now_ms(c) < c->cleared_ms;
	/* Our clock was set since its offset was published, so it is judged by the new one. */
	bool *list = mem_calloc(f->n_members, sizeof(*list));
	judge(c, self->worker->id, offset, list);
	for (size_t i = 0; i < f->n_members; i++)
		off |= f->by_id[i] == self && list[i];
	free(list);
	return off;
}
