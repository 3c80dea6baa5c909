#include "rest.h"

#include "core/election/election_times.h"
#include "disagree.h"
#include "lists.h"
#include "oracle.h"
#include "recipes.h"
#include "roll.h"
#include "server.h"
#include "simq.h"
#include "truth.h"

/* For the fleet to settle after a decision has ended, or a clock was set. */
#define DECIDED_US (60 * SECOND)

static int64_t decided_at; /* when something was there last that has to end by itself */
/* Before the present change. */
static uint64_t cuts_before, requests_before, records_before;
static struct {
	uint64_t moves;
	int leader;
	uint64_t passed, behind; /* bits of sites */
	uint64_t meanwhile;	 /* that were passed over at any time since */
	uint64_t admitted;	 /* that were not, at any time since */
} before[TASKS_MAX];

void rest_reset(void)
{
	decided_at = -DECIDED_US;
	truth_reset();
}

/* --- who leads ------------------------------------------------------------------------------------- */

static const char *task_problem(const struct truth *truth, unsigned task, int64_t *ret_until)
{
	int leader = oracle_leader(task);
	const char *reason;
	int64_t at;

	if (!truth_has_candidate(truth, task))
		return leader < 0 ? NULL : "a task is led by no candidate";
	if (leader < 0)
		return "a task is led by nobody";
	if (truth_may_lead(truth, task, (unsigned)leader))
		return NULL;
	struct site *s = &sites[leader];
	struct task *t = site_task(s, task);
	struct election_time now = leaders_time(&s->node.leaders);
	if (t && election_yield_at(&t->election, now, &at, &reason) && at > now.boot_ms)
		*ret_until = sim.now + (at - now.boot_ms) * MS * 101 / 100;
	return "a task is not led by its best candidate";
}

static const char *tasks_problem(int64_t *ret_until)
{
	const char *problem;
	const struct truth *truth = truth_now(&problem);

	for (unsigned k = 0; k < sim.n_tasks; k++) {
		uint64_t passed = truth_passed_over(truth, k);
		before[k].meanwhile |= passed;
		before[k].admitted |= ~passed;
	}
	if (problem)
		decided_at = *ret_until = sim.now;
	for (unsigned k = 0; k < sim.n_tasks && *ret_until != sim.now; k++) {
		int64_t until = 0;
		const char *one = task_problem(truth, k, &until);
		if (one && (until == 0 || !problem))
			problem = one;
		if (until > *ret_until)
			*ret_until = until;
	}
	sim.figures.checks++;
	if (problem && sim.now < decided_at + DECIDED_US)
		*ret_until = sim.now;
	return problem ? problem : recipes_at_rest();
}

const char *rest_problem(int64_t *ret_until)
{
	*ret_until = 0;
	if (!servers_agree())
		return "the servers are not one quorum";
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (sites[i].running &&
		    (sites[i].stopping || !session_is_up(&sites[i].node.session)))
			return "a sidecar is not connected";
	if (lists_problem())
		return lists_problem();
	if (roll_problem())
		return roll_problem();
	if (!sim.options.ticks && !sim.options.disagree)
		return tasks_problem(ret_until);
	/* Jobs and other files keep leaders that are not the best; but whose clock is off is looked at. */
	const char *pending;
	truth_now(&pending);
	return disagree_problem();
}

bool rest_sessions_left(void)
{
	const struct tree *t = servers_tree();
	size_t running = 0;

	for (unsigned i = 0; i < sim.n_hosts; i++)
		running += sites[i].running;
	return !t || t->n_sessions > running;
}

/* --- around one change ---------------------------------------------------------------------------- */

void rest_before(void)
{
	const char *pending;
	const struct truth *truth = truth_now(&pending);

	cuts_before = sim.cuts;
	requests_before = sim.caused;
	records_before = sim.records;
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		before[k].moves = oracle_moves(k);
		before[k].leader = oracle_leader(k);
		before[k].passed = truth_passed_over(truth, k);
		before[k].behind = truth_behind(truth, k);
		before[k].meanwhile = before[k].admitted = 0;
		oracle_gap(k);
	}
}

/*
 * Whether the task is led by a last resort, which leads only if nobody else can. Such workers have
 * not looked at the leader node for as long as there were others: the best of them may not know who
 * led last, and waits for that one's lease.
 */
static bool is_led_by_a_last_resort(const struct truth *truth, unsigned task)
{
	uint64_t passed = truth_passed_over(truth, task);
	int leader = oracle_leader(task);

	return leader >= 0 && (before[task].passed & ~passed) >> leader & 1;
}

/* Its leader had jobs, so it has registered without tasks first, and left once they had ended. */
static bool has_withdrawn(enum change what, unsigned task)
{
	return what == CHANGE_LEAVE && before[task].leader >= 0 &&
	       sites[before[task].leader].withdrawn;
}

/*
 * Whether a lease may be waited for: of one that blinked so fast that nobody has seen whose node it was, or
 * registered without tasks and was gone before that was read; and where one that had not looked at the node is
 * suddenly the best, as those before it are gone, or clocks are judged otherwise without one of them.
 */
static bool may_wait(const struct truth *truth, enum change what, unsigned task)
{
	int leader = oracle_leader(task);
	bool gone = what == CHANGE_LEAVE || what == CHANGE_KILL;

	return what == CHANGE_BLINK || is_led_by_a_last_resort(truth, task) ||
	       has_withdrawn(what, task) ||
	       (gone && leader >= 0 && before[task].behind >> leader & 1);
}

/*
 * Whether the turn of the second-best may come before the best one's claim has arrived. The best reads the list
 * of workers, the leader node and, as that is not there, whether it is: where each of the three waits behind a
 * write of its recipes or queues, and servers are far apart, that takes longer than a turn.
 */
static bool is_slower_than_a_turn(enum change what)
{
	int64_t write = 2 * sim.delay_us + 4 * sim.server_delay_us;
	bool gone = what == CHANGE_LEAVE || what == CHANGE_KILL;
	bool writes = sim.options.recipes || sim.options.queues;

	return writes && gone && 3 * write > ELECTION_STAGGER_MS * MS;
}

/*
 * Whether another's clock is off without the one that has gone, as most of those that are left agree: it may
 * have led for as long as that takes to show.
 */
static bool is_passed_over_since(const struct truth *truth, enum change what, unsigned task)
{
	bool gone = what == CHANGE_LEAVE || what == CHANGE_KILL;

	return gone && (truth_passed_over(truth, task) & ~before[task].passed) != 0;
}

/*
 * Whether a clock was judged otherwise only while the one that blinked was there, as the majority was another.
 * If it was off: its worker gives up to the one that blinked, another worker leads after its stagger, and then
 * the first is the best again. If it was right: the one that blinked gets the task, then the worker with the
 * clock, until it shows that the others are the majority again.
 */
static bool was_judged_otherwise_meanwhile(const struct truth *truth, enum change what,
					   unsigned task)
{
	uint64_t then = before[task].passed, now = truth_passed_over(truth, task);
	uint64_t otherwise =
		(before[task].meanwhile & ~then & ~now) | (before[task].admitted & then & now);

	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (!sites[i].running)
			otherwise &= ~(UINT64_C(1) << i);
	return what == CHANGE_BLINK && otherwise != 0;
}

/*
 * How often a task may move for one change. One that joins and leaves at once may have led it between; while
 * the best of those who lead if nobody else can waits, another has its turn; and who withdraws before it leaves
 * has changed twice.
 */
static uint64_t moves_allowed(const struct truth *truth, enum change what, unsigned task)
{
	bool twice = what == CHANGE_BLINK || has_withdrawn(what, task) ||
		     is_slower_than_a_turn(what) || is_passed_over_since(truth, what, task);

	if (was_judged_otherwise_meanwhile(truth, what, task))
		return 3;
	if (sim.options.roll)
		return 4; /* while it is without a keeper, sidecars hear of the change one by one */
	return twice || is_led_by_a_last_resort(truth, task) ? 2 : 1;
}

static void check_moves(const struct truth *truth, enum change what, unsigned task)
{
	uint64_t moves = oracle_moves(task) - before[task].moves;
	bool stays = before[task].leader >= 0 && what != CHANGE_KILL && what != CHANGE_BLINK &&
		     truth_may_lead(truth, task, (unsigned)before[task].leader);

	if (moves > moves_allowed(truth, what, task) || (moves > 0 && stays))
		sim_violation("task %u moved %llu times for one change%s", task,
			      (unsigned long long)moves,
			      stays ? ", and its leader was still the best" : "");
}

/*
 * For how long nobody may lead a task that moves, although its leader has not died: a few round trips and,
 * where the next one has led nothing before, a second write for its lease.
 */
static int64_t gap_bound(void)
{
	return 20 * (sim.delay_us + 4 * sim.server_delay_us) + (500 + sim.timeout_ms / 50) * MS;
}

static void check_gap(const struct truth *truth, enum change what, unsigned task)
{
	bool waits = may_wait(truth, what, task);
	int64_t gap = oracle_gap(task), bound = gap_bound();
	int64_t *worst = what == CHANGE_KILL	? &sim.figures.worst_kill
			 : what == CHANGE_LEAVE ? &sim.figures.worst_leave
						: &sim.figures.worst_yield;

	if (before[task].leader < 0 || gap == 0)
		return;
	if (waits)
		bound += (sim.timeout_ms * 101 / 100 + ELECTION_STAGGER_MS) * MS;
	if (what == CHANGE_KILL)
		gap -= sim.timeout_ms * MS;
	if (!waits && gap > *worst)
		*worst = gap;
	if (what != CHANGE_KILL && gap > bound)
		sim_violation("task %u: nobody led it for %.3f s", task, (double)gap / 1e6);
}

/*
 * A list, the records that it names, and for each task a few reads, a claim and a release; a list and a read
 * for each record beyond the one of the change, as clocks drift and timeouts change. One of them may be the
 * first by id now: it reads the roster's entries, which are of all hosts that ever were, and writes down who
 * has come and who has gone. All that again behind a connection that was lost.
 */
static void check_requests(enum change what)
{
	uint64_t records = sim.records - records_before;
	unsigned running = 0;

	for (unsigned i = 0; i < sim.n_hosts; i++)
		running += sites[i].running;
	double each = (double)(sim.caused - requests_before) / (running ? running : 1);
	double roster = (sim.n_hosts + 4.0) / (running ? running : 1);
	unsigned elections = sim.n_tasks + (sim.options.queues ? QUEUES : 0);
	double begins = sim.options.roll ? 40 : 0; /* a roll, or ends */
	double bound = 10 + begins + running + 8 * elections + 2 * (double)records + roster;
	sim.figures.sum_requests += each;
	if (each > sim.figures.worst_requests)
		sim.figures.worst_requests = each;
	if (each > bound * (what == CHANGE_BLINK || sim.cuts != cuts_before ? 2 : 1))
		sim_violation("%.0f requests per worker for one change", each);
}

void rest_after(enum change what)
{
	const char *pending;
	const struct truth *truth = truth_now(&pending);

	/* A server that learns only now where a session is ends its connection. */
	for (unsigned k = 0; k < sim.n_tasks && sim.cuts == cuts_before; k++) {
		check_moves(truth, what, k);
		check_gap(truth, what, k);
	}
	if (!sim.options.recipes) /* whose clients ask at any time */
		check_requests(what);
	sim.figures.changes++;
}
