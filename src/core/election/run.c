#include "core/election/run.h"

#include <assert.h>
#include <string.h>

void run_begin(struct run_state *r, int64_t now_ms, int64_t wait_ms, int64_t quiet_ms, bool ticks,
	       bool once, bool again)
{
	int64_t from_ms = quiet_ms > now_ms ? quiet_ms : now_ms;

	memset(r, 0, sizeof(*r));
	r->ticks = ticks;
	r->once = once;
	r->caller = true;
	r->claimed = r->unsure = again;
	r->wait_ms = wait_ms;
	r->not_before_ms = quiet_ms;
	r->deadline_ms = from_ms + wait_ms;
}

void run_by_schedule(struct run_state *r, int64_t attempt)
{
	r->scheduled = attempt;
}

void run_inherit(struct run_state *r, int64_t until_ms, bool ticks)
{
	memset(r, 0, sizeof(*r));
	r->phase = RUN_INHERITED;
	r->ticks = ticks;
	r->deadline_ms = until_ms;
}

static enum run_action over(struct run_state *r, enum run_action how)
{
	r->phase = RUN_OVER;
	r->calls = false;
	return how;
}

/* Tells the caller, if it is connected, and ends. */
static enum run_action refuse(struct run_state *r, enum run_action how)
{
	return over(r, r->caller ? how : RUN_GONE);
}

static enum run_action ask(struct run_state *r, enum run_action what)
{
	r->asked = what;
	return what;
}

static bool is_rerun(const struct run_state *r, const struct run_sight *sight)
{
	return !r->once && r->scheduled == 0 && sight->rerun;
}

/* Whether the record of the tick matters, and not only that there is one. */
static bool wants_record(const struct run_state *r, const struct run_sight *sight)
{
	return r->unsure || r->scheduled > 1 || is_rerun(r, sight);
}

/* The tick is ours. If the caller left while the claim was outstanding, the tick is spent. */
static enum run_action start(struct run_state *r)
{
	r->calls = false;
	r->orphan_ms = 0;
	if (!r->caller)
		return RUN_SPENT;
	r->phase = r->once ? RUN_OVER : RUN_GOING;
	return RUN_START;
}

/*
 * A run whose tick is ours waits, too: its claim may be one whose answer was lost, and another job
 * may have begun before it is looked at again.
 */
static bool must_wait(const struct run_state *r, const struct run_sight *sight)
{
	return !r->once && (sight->beside || sight->dying);
}

static enum run_action look(struct run_state *r, const struct run_sight *sight)
{
	r->fired = false;
	r->whole = wants_record(r, sight);
	return ask(r, RUN_LOOK);
}

static enum run_action claim(struct run_state *r)
{
	r->there = false;
	r->claimed = true;
	return ask(r, RUN_CLAIM);
}

/* --- waiting -------------------------------------------------------------- */

static int64_t patience(const struct run_state *r)
{
	return r->wait_ms > RUN_ORPHAN_MS ? r->wait_ms : RUN_ORPHAN_MS;
}

/* Until when to stand by for a lost run. The leader may keep the task for another job. */
static int64_t orphan_deadline(const struct run_state *r, const struct run_sight *sight)
{
	int64_t patience_ms = patience(r);

	if (sight->elsewhere && !sight->drained && patience_ms < sight->hold_max_ms)
		patience_ms = sight->hold_max_ms;
	return r->orphan_ms + patience_ms;
}

/* The run is lost, and this node does not lead; the leader may stand by as well, or not. */
static enum run_action await_leadership(struct run_state *r, const struct run_sight *sight)
{
	int64_t now = sight->now_ms;

	if (r->orphan_ms == 0)
		r->orphan_ms = now;
	r->deadline_ms = orphan_deadline(r, sight);
	if (now >= r->deadline_ms)
		return refuse(r, RUN_WAITED);
	r->calls = now >= r->orphan_ms + RUN_CALL_MS;
	return RUN_NOTHING;
}

/* Whether an attempt may follow the recorded one. */
static bool may_follow(const struct run_seen *seen, const struct run_sight *sight)
{
	bool lost = seen->lost || (seen->running && !sight->runner_lives);

	if (!seen->readable || (seen->running && !lost))
		return false;
	return sight->triggered || seen->failed || (lost && sight->rerun);
}

/* An attempt other than the first: it may begin if the one before has ended. */
static enum run_action next_attempt(struct run_state *r, const struct run_sight *sight, bool leads)
{
	const struct run_seen *seen = &r->seen;

	if (seen->attempt != r->scheduled - 1 || !may_follow(seen, sight))
		return refuse(r, RUN_TAKEN);
	if (leads && sight->token >= seen->token)
		return ask(r, RUN_TAKE_OVER);
	if (sight->now_ms < r->deadline_ms)
		return RUN_NOTHING;
	return refuse(r, sight->leads && sight->busy ? RUN_BUSY : RUN_WAITED);
}

/*
 * The tick has a record. A run may be taken over once its job must be dead: the job ends before its
 * lease, the lease before the session, and the worker's node with the session. Or the sidecar that
 * ran it has recorded that it is dead.
 */
static enum run_action next_claimed(struct run_state *r, const struct run_sight *sight, bool leads)
{
	const struct run_seen *seen = &r->seen;
	bool ours = seen->readable && seen->ours; /* a claim of ours whose answer was lost */
	/* Claimed by the previous sidecar: we will lead by its session, but have no lease yet. */
	bool soon = !r->once && !sight->leads && !sight->same && !sight->elsewhere &&
		    !sight->paused && sight->now_ms < r->deadline_ms;

	if (ours && leads && sight->token != seen->token)
		return ask(r, RUN_CLAIM_ANEW);
	if (ours)
		return must_wait(r, sight) || soon ? RUN_NOTHING : start(r);
	if (r->scheduled > 0)
		return next_attempt(r, sight, leads);
	if (!is_rerun(r, sight) || !seen->readable || !(seen->running || seen->lost))
		return refuse(r, RUN_TAKEN);
	r->stands = true;
	r->cut_ms = 0;
	if (seen->running && sight->runner_lives) {
		r->orphan_ms = 0;
		r->calls = false;
		return RUN_NOTHING;
	}
	if (leads && sight->token >= seen->token)
		return ask(r, RUN_TAKE_OVER);
	if (sight->leads && sight->busy)
		return RUN_NOTHING; /* after the run that goes on */
	return await_leadership(r, sight);
}

/* Whether this run may have claimed the tick, with all answers lost. */
static bool may_be_ours(const struct run_state *r)
{
	return r->claimed && (!r->looked || (r->there && r->seen.readable && r->seen.ours));
}

/* The caller is gone: no job begins, but a tick claimed for it must not seem to be running. */
static enum run_action next_forsaken(struct run_state *r, const struct run_sight *sight)
{
	if (!r->unsure || (r->looked && !may_be_ours(r)))
		return over(r, RUN_GONE);
	if (r->looked)
		return start(r);
	return sight->up ? look(r, sight) : RUN_NOTHING;
}

static enum run_action attached(struct run_state *r)
{
	r->phase = RUN_GOING;
	return RUN_ATTACHED;
}

static enum run_action next_waiting(struct run_state *r, const struct run_sight *sight)
{
	/* No job begins beside a dying one, and no two runs of a task overlap. */
	bool blocked = sight->busy && !r->once, leads = sight->leads && !sight->dying && !blocked;
	bool wanted = !sight->paused && (r->scheduled == 0 || sight->offered);

	if (!r->caller)
		return next_forsaken(r, sight);
	if (r->ticks && !may_be_ours(r) && sight->clock == RUN_CLOCK_OFF)
		return refuse(r, RUN_OFF);
	if (r->ticks && !may_be_ours(r) && sight->clock == RUN_CLOCK_EARLY)
		return refuse(r, RUN_EARLY);
	leads = leads && (!r->ticks || sight->clock == RUN_CLOCK_GOOD);
	if (r->scheduled > 0 && !sight->offered && !may_be_ours(r))
		return refuse(r, RUN_TAKEN);
	if (sight->paused && !may_be_ours(r))
		return refuse(r, RUN_PAUSED);
	if (leads && sight->brief) {
		r->not_before_ms = sight->now_ms + RUN_AGAIN_MS;
		return RUN_NOTHING;
	}
	if (!r->ticks && leads)
		return start(r);
	if (sight->up && r->ticks) {
		/*
		 * A run whose earlier claim got no answer may not be wanted any more: then it only
		 * looks.
		 */
		if (!r->looked && !r->counts && leads && wanted && !sight->spent &&
		    r->scheduled <= 1)
			return claim(r);
		if (!r->looked)
			return look(r, sight);
		if (r->there)
			return next_claimed(r, sight, leads);
		/* A record was there a moment ago. */
		if (r->counts || sight->spent || r->scheduled > 1)
			return refuse(r, RUN_TAKEN);
		if (leads)
			return claim(r);
	}
	/* The state of the run it stands by for is unknown: wait as long as for a lost run. */
	if (r->stands && !sight->up) {
		r->cut_ms = r->cut_ms > 0 ? r->cut_ms : sight->now_ms;
		r->deadline_ms = r->cut_ms + patience(r);
	}
	if (sight->now_ms < r->deadline_ms || sight->dying)
		return RUN_NOTHING;
	if (sight->unwatched && sight->up && r->ticks && !r->late) {
		r->late = true;
		return look(r, sight);
	}
	return refuse(r, sight->leads && blocked ? RUN_BUSY : RUN_WAITED);
}

/* A run of the previous sidecar. A supervisor that comes back waits until we lead as it did. */
static enum run_action next_inherited(struct run_state *r, const struct run_sight *sight)
{
	if (sight->now_ms >= r->deadline_ms) {
		if (r->caller) {
			r->caller = false;
			return RUN_UNATTACHED;
		}
		if (!r->ticks)
			return over(r, RUN_GONE);
		return sight->up ? ask(r, RUN_LOOK_INHERITED) : RUN_NOTHING;
	}
	/* The end may have been recorded without an answer. */
	if (sight->up && r->ticks && !r->looked)
		return ask(r, RUN_LOOK_INHERITED);
	if (!r->caller || !sight->up || !sight->same)
		return RUN_NOTHING;
	return r->ticks ? ask(r, RUN_LOOK_ATTACHED) : attached(r);
}

enum run_action run_next(struct run_state *r, const struct run_sight *sight)
{
	bool late = sight->now_ms >= r->deadline_ms;

	if (r->asked != RUN_NOTHING || sight->now_ms < r->not_before_ms)
		return RUN_NOTHING;
	switch (r->phase) {
	case RUN_WAITING: return next_waiting(r, sight);
	case RUN_DYING: return late ? RUN_LOST : RUN_NOTHING;
	case RUN_INHERITED: return next_inherited(r, sight);
	case RUN_FINISHING:
		if (sight->up && !sight->behind)
			return ask(r, RUN_WRITE_END);
		return late ? over(r, RUN_UNRECORDED) : RUN_NOTHING;
	case RUN_GOING:
	case RUN_OVER: break;
	}
	return RUN_NOTHING;
}

/* --- answers -------------------------------------------------------------- */

static enum run_action on_claimed(struct run_state *r, const struct run_sight *sight,
				  enum ledger_result result)
{
	switch (result) {
	case LEDGER_DONE:
		r->unsure = must_wait(r, sight);
		if (r->unsure)
			break;
		r->version = r->there ? r->version + 1 : 0;
		return start(r);
	case LEDGER_PRESENT:
		/* Claimed, perhaps by us with a lost answer, or by a run that we may take over. */
		r->counts = true;
		r->there = false;
		if (!wants_record(r, sight))
			return refuse(r, RUN_TAKEN);
		break;
	case LEDGER_OLDER: return refuse(r, RUN_OLDER);
	case LEDGER_ABSENT:
	case LEDGER_AGAIN:
	case LEDGER_UNKNOWN:
		r->unsure |= result == LEDGER_UNKNOWN;
		r->counts = false;
		r->not_before_ms = sight->now_ms + RUN_AGAIN_MS;
		break;
	case LEDGER_FAILED: return refuse(r, RUN_REFUSED);
	}
	r->looked = false;
	return RUN_NOTHING;
}

static enum run_action on_looked(struct run_state *r, const struct run_sight *sight,
				 enum ledger_result result, const struct run_seen *seen,
				 int32_t version)
{
	if (result == LEDGER_FAILED)
		return refuse(r, RUN_REFUSED);
	if (result == LEDGER_OLDER)
		return refuse(r, RUN_OLDER);
	if (result == LEDGER_UNKNOWN)
		r->not_before_ms = sight->now_ms + RUN_AGAIN_MS;
	r->looked = !r->fired && (result == LEDGER_ABSENT || result == LEDGER_PRESENT);
	r->there = result == LEDGER_PRESENT;
	r->seen = seen ? *seen : (struct run_seen){0};
	r->version = version;
	return RUN_NOTHING;
}

/* A run of the previous sidecar, which alone can have recorded its end. */
static enum run_action on_looked_inherited(struct run_state *r, const struct run_sight *sight,
					   enum ledger_result result, const struct run_seen *seen,
					   int32_t version)
{
	if (result == LEDGER_UNKNOWN) {
		r->not_before_ms = sight->now_ms + RUN_AGAIN_MS;
		return RUN_NOTHING;
	}
	r->looked = true;
	r->version = version;
	if (seen && !(seen->ours && seen->running))
		return over(r, r->caller ? RUN_UNATTACHED : RUN_GONE);
	if (sight->now_ms < r->deadline_ms || r->caller)
		return RUN_NOTHING;
	return seen ? RUN_LOST : over(r, RUN_GONE);
}

/*
 * The supervisor is back, and waits to be attached. The record may have been pruned since; an end
 * in it can only have been written by the previous sidecar.
 */
static enum run_action on_looked_attached(struct run_state *r, const struct run_sight *sight,
					  enum ledger_result result, const struct run_seen *seen,
					  int32_t version)
{
	if (result == LEDGER_UNKNOWN) {
		r->not_before_ms = sight->now_ms + RUN_AGAIN_MS;
		return RUN_NOTHING;
	}
	r->version = version;
	if (!r->caller)
		return RUN_NOTHING; /* the supervisor is gone again */
	if (seen && (!seen->ours || !seen->running))
		return over(r, RUN_UNATTACHED);
	return attached(r);
}

/* Whether to write the end once more, as the connection was lost. */
static bool again(struct run_state *r, const struct run_sight *sight, enum ledger_result result)
{
	if (result != LEDGER_UNKNOWN || sight->now_ms >= r->deadline_ms)
		return false;
	r->unsure = true;
	r->not_before_ms = sight->now_ms + RUN_AGAIN_MS;
	return true;
}

enum run_action run_answered(struct run_state *r, const struct run_sight *sight,
			     enum ledger_result result, const struct run_seen *seen,
			     int32_t version)
{
	enum run_action asked = r->asked;

	r->asked = RUN_NOTHING;
	/* The run was given up while a claim was outstanding. */
	if (r->phase == RUN_OVER)
		return asked != RUN_LOOK && result == LEDGER_DONE ? RUN_SPENT : RUN_NOTHING;
	switch (asked) {
	case RUN_CLAIM:
	case RUN_CLAIM_ANEW:
	case RUN_TAKE_OVER: return on_claimed(r, sight, result);
	case RUN_LOOK: return on_looked(r, sight, result, seen, version);
	case RUN_WRITE_END:
		if (again(r, sight, result))
			return RUN_NOTHING;
		/* The record has changed, perhaps by a write of ours. */
		if (result == LEDGER_AGAIN && r->unsure)
			return ask(r, RUN_LOOK_END);
		return over(r, result == LEDGER_DONE ? RUN_RECORDED : RUN_UNRECORDED);
	case RUN_LOOK_INHERITED: return on_looked_inherited(r, sight, result, seen, version);
	case RUN_LOOK_ATTACHED: return on_looked_attached(r, sight, result, seen, version);
	case RUN_LOOK_END:
		if (again(r, sight, result))
			return RUN_NOTHING;
		return over(r, seen && seen->ours && seen->ended ? RUN_RECORDED : RUN_UNRECORDED);
	case RUN_NOTHING:
	case RUN_START:
	case RUN_SPENT:
	case RUN_TAKEN:
	case RUN_WAITED:
	case RUN_PAUSED:
	case RUN_BUSY:
	case RUN_ATTACHED:
	case RUN_UNATTACHED:
	case RUN_OLDER:
	case RUN_OFF:
	case RUN_EARLY:
	case RUN_REFUSED:
	case RUN_GONE:
	case RUN_LOST:
	case RUN_RECORDED:
	case RUN_UNRECORDED: break;
	}
	assert(false); /* nothing was asked */
	return RUN_NOTHING;
}

/* --- what happens elsewhere ----------------------------------------------- */

void run_fired(struct run_state *r, const struct run_sight *sight, bool made)
{
	if (r->phase != RUN_WAITING || !r->ticks)
		return;
	/* The watch fires for our own claim, before its answer. */
	r->fired = true;
	if (r->asked != RUN_NOTHING)
		return;
	r->there = made;
	r->seen = (struct run_seen){0};
	r->looked = made && !wants_record(r, sight);
}

void run_expired(struct run_state *r)
{
	r->fired = true;
	r->looked = false;
}

void run_caller_gone(struct run_state *r, int64_t now_ms, int64_t lease_ms)
{
	r->caller = false;
	if (r->phase == RUN_GOING) {
		r->phase = RUN_DYING;
		r->deadline_ms = now_ms + lease_ms;
	}
}

void run_give_up(struct run_state *r)
{
	r->caller = false;
	over(r, RUN_NOTHING);
}

enum run_action run_attach(struct run_state *r)
{
	r->caller = true;
	return r->phase == RUN_DYING ? attached(r) : RUN_NOTHING;
}

enum run_action run_finish(struct run_state *r, int64_t now_ms)
{
	r->phase = RUN_FINISHING;
	r->deadline_ms = now_ms + RUN_FINISH_MS;
	return r->ticks ? RUN_NOTHING : over(r, RUN_RECORDED);
}
