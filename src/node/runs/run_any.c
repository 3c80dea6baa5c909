#include "node/runs/run_any.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "node/ledger/last_run.h"
#include "node/ledger/unclaimed.h"
#include "node/tree/paths.h"

#define LOOKS 3 /* partitions whose record is asked for before all are */

static bool is_tried(const struct run *r, unsigned k)
{
	return r->any.tried[k / 64] >> (k % 64) & 1;
}

static void set_tried(struct run *r, unsigned k)
{
	r->any.tried[k / 64] |= UINT64_C(1) << (k % 64);
}

/* Whether another run of this host is about that tick of the partition. */
static bool is_in_work(const struct run *r, const struct task *t)
{
	for (const struct run *other = TAILQ_FIRST(&r->runs->list); other;
	     other = TAILQ_NEXT(other, link))
		if (other != r && other->task == t && strcmp(other->tick, r->tick) == 0 &&
		    other->state.phase != RUN_OVER)
			return true;
	return false;
}

/* Whether a run of that tick has ended. For ticks before the newest, only the ledger tells. */
static bool is_over(const struct run *r, const struct task *t)
{
	const struct last_run *last = last_run_of(t);

	return r->tick[0] && strcmp(last->tick, r->tick) == 0 &&
	       strcmp(last->state, "running") != 0 && strcmp(last->state, "lost") != 0;
}

static bool is_free(const struct run *r, const struct task *t)
{
	bool busy = t->settings->overlap == TASK_OVERLAP_FORBID && t->holds > 0;

	return leaders_may_begin(t) && !t->withdrawn && !busy && t->dying == 0 &&
	       !is_tried(r, t->partition) && !is_over(r, t) && !is_in_work(r, t);
}

/* Jobs of the task that run here, or are about to. */
static unsigned jobs_of(const struct run *r, const struct listing *listing)
{
	size_t len = strlen(listing->name);
	unsigned n = 0;

	for (const struct run *other = TAILQ_FIRST(&r->runs->list); other;
	     other = TAILQ_NEXT(other, link))
		n += other != r && run_holds(&other->state) &&
		     strncmp(other->task_name, listing->name, len) == 0 &&
		     other->task_name[len] == ':';
	return n;
}

static struct task *find_free(const struct run *r, const struct listing *listing)
{
	for (size_t i = 0; i < listing->n; i++)
		if (is_free(r, listing->tasks[i]))
			return listing->tasks[i];
	return NULL;
}

static void begin(struct run *r, int64_t wait_ms)
{
	run_begin(&r->state, host_now_ms(r->runs->host), wait_ms, r->runs->quiet_ms,
		  r->tick[0] != '\0', r->options.once, r->options.again);
}

static void become(struct run *r, struct task *t)
{
	r->task = t;
	snprintf(r->task_name, sizeof(r->task_name), "%s", t->name);
	begin(r, 0);
}

/* Waits for another partition again; the record of the old one is checked once that is back. */
static void let_go(struct run *r)
{
	r->options.again |= r->state.unsure;
	run_let_go(r);
	begin(r, 0);
	runs_changed(r->runs);
}

bool run_any_goes_on(struct run *r, enum run_action action)
{
	if (!r->whole[0] || !r->task)
		return false;
	if (action != RUN_TAKEN && action != RUN_WAITED && action != RUN_BUSY &&
	    action != RUN_PAUSED && action != RUN_OLDER)
		return false;
	if (action == RUN_OLDER)
		memcpy(r->any.older, r->task_name, sizeof(r->any.older));
	if (action == RUN_TAKEN || action == RUN_OLDER)
		set_tried(r, r->task->partition);
	else /* the obstacle may last a while: pause before the next try */
		r->any.not_before_ms = host_now_ms(r->runs->host) + RUN_AGAIN_MS;
	let_go(r);
	return true;
}

void run_any_removed(struct run *r)
{
	let_go(r);
}

/* --- the end -------------------------------------------------------------- */

/* The requester is gone, or was answered. */
static void abandon(struct run *r)
{
	run_give_up(&r->state);
	run_settle(r);
}

static void finish(struct run *r, const char *outcome, bool busy, const char *why,
		   const char *notice)
{
	run_answer_end(r, outcome, busy, why, notice);
	abandon(r);
}

/* Answers that the tick is too old to tell whether it was run; no other partition was left. */
static void tell_older(struct run *r)
{
	memcpy(r->task_name, r->any.older, sizeof(r->task_name));
	run_tell_refused(r, RUN_OLDER);
	abandon(r);
}

static void tell_unclaimed(struct run *r, const struct listing *listing)
{
	char notice[UNCLAIMED_TEXT_MAX] = "", problem[PARTITIONS_TEXT_MAX];
	bool up = session_is_up(r->runs->leaders->session);

	if (listing->n > 0 && up && r->tick[0] && r->options.wait_ms > 0)
		unclaimed_tell(listing->tasks[0], r->tick, r->options.wait_ms, notice);
	if (!up)
		finish(r, "waited", false, SESSION_NONE, "");
	else if (partitions_problem(listing, problem))
		finish(r, "waited", false, problem, "");
	else
		finish(r, "waited", false,
		       listing->n > 0 ? "" : "how many partitions are in force is not known yet",
		       r->options.once ? "" : notice);
}

static void look_on(struct run *r, const struct listing *listing);

static void on_record(void *arg, const struct store_reply *reply)
{
	struct run *r = arg;

	r->any.looks--;
	r->any.found |= reply->code == STORE_OK;
	if (r->any.looks > 0 || r->state.phase == RUN_OVER)
		return;
	const struct listing *listing = listings_find(r->runs->leaders, r->whole, strlen(r->whole));
	if (!r->held.owner)
		abandon(r);
	else if (r->any.found)
		finish(r, "taken", false, "", "");
	else if (!listing)
		finish(r, "waited", false, "the task has been removed", "");
	else if (r->any.looked < listing->n && reply->code == STORE_NO_NODE)
		look_on(r, listing);
	else
		tell_unclaimed(r, listing);
	runs_changed(r->runs);
}

/* Looks at a few records first: usually one exists. */
static void look_on(struct run *r, const struct listing *listing)
{
	size_t most = r->any.looked == 0 ? LOOKS : listing->n;
	size_t from = (size_t)r->held.number % listing->n;
	char path[STORE_PATH_MAX];

	for (; r->any.looked < listing->n && r->any.looked < most; r->any.looked++) {
		const struct task *t = listing->tasks[(from + r->any.looked) % listing->n];
		path_of_tick(r->runs->leaders->session->settings, t->name, r->tick, path);
		r->any.looks++;
		store_exists(r->runs->leaders->session->store, path, false, on_record, r);
	}
}

static bool is_paused(const struct listing *listing)
{
	for (size_t i = 0; i < listing->n; i++)
		if (!listing->tasks[i]->standing.paused)
			return false;
	return listing->n > 0;
}

/* The wait is over, and no partition here is left to run. */
static void end(struct run *r, const struct listing *listing)
{
	const struct member *self = registry_self(r->runs->leaders->registry);

	if (r->options.ran > 0)
		finish(r, "taken", false, "", "");
	else if (r->any.older[0])
		tell_older(r);
	else if (r->tick[0] && listing->n > 0 && session_is_up(r->runs->leaders->session) &&
		 r->any.looked == 0)
		look_on(r, listing);
	else if (self && self->drained)
		finish(r, "nobody", false, "this node is drained", "");
	else
		tell_unclaimed(r, listing);
}

/* The time before which no claim is made. */
static int64_t first_ms(const struct run *r)
{
	int64_t quiet_ms = r->runs->quiet_ms;

	return r->any.not_before_ms > quiet_ms ? r->any.not_before_ms : quiet_ms;
}

bool run_any_advance(struct run *r)
{
	const struct listing *listing;
	int64_t now = host_now_ms(r->runs->host);
	unsigned most;

	if (r->any.looks > 0)
		return false;
	if (!r->held.owner) {
		abandon(r);
		return false;
	}
	listing = listings_find(r->runs->leaders, r->whole, strlen(r->whole));
	if (!listing) {
		finish(r, "waited", false, "the task has been removed", "");
		return false;
	}
	if (is_paused(listing)) {
		finish(r, "nobody", false, "the task is paused", "");
		return false;
	}
	if (now < first_ms(r))
		return false;
	struct task *t = find_free(r, listing);
	most = listing->settings.partition_jobs > 0 ? listing->settings.partition_jobs : 1;
	if (t && jobs_of(r, listing) < most) {
		become(r, t);
		return true;
	}
	if (!t && now >= r->any.until_ms)
		end(r, listing);
	return false;
}

int64_t run_any_due(const struct run *r, int64_t now_ms)
{
	int64_t first = first_ms(r);

	if (first > now_ms)
		return first;
	return r->any.until_ms > now_ms ? r->any.until_ms : INT64_MAX;
}
