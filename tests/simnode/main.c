/* Runs seeds, adds up the figures, and for one that fails prints how to see it again. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "crowd.h"
#include "jobs.h"
#include "plants.h"
#include "scenario.h"
#include "server.h"

#define JOBS_MAX 64

/* In sim-node-planted alone. */
#pragma weak plant_set
#pragma weak plant_name

static const char *plant = "none";

struct plan {
	struct options options;
	uint64_t from, seeds; /* seeds 0: as many as fit into seconds */
	double seconds;
	unsigned jobs;
};

static const char *program;
static const char usage[] =
	"usage: sim-node [OPTIONS]\n"
	"  --seed N      this seed alone\n"
	"  --seeds N     so many seeds, from --from (1)\n"
	"  --from S      the first seed; 'clock': another one each second\n"
	"  --seconds S   seeds until so much real time has passed\n"
	"  --hours H     simulated hours per seed (1)\n"
	"  --jobs N      processes (1)\n"
	"  --hosts N, --tasks N     instead of what the seed draws\n"
	"  --ticks       runs of tasks at each tick\n"
	"  --partitions  the tasks are the partitions of one\n"
	"  --schedules   runs of tasks that have schedules\n"
	"  --recipes     counters are used\n"
	"  --queues      jobs are handed in and done\n"
	"  --alerts      with --ticks: alert-after is judged\n"
	"  --notices     with --ticks: people are told of events\n"
	"  --disagree    the files of every other site name another best\n"
	"  --crowd       hundreds of tasks, and a user who waits for thousands of ticks\n"
	"  --hostages    servers keep sessions whose requests they do not do\n"
	"  --lists       what workers list is apart, in lists that are damaged\n"
	"  --roll        fleets of two and more have a roll, which is damaged and lies\n"
	"  --creep       time goes on within a turn of a loop\n"
	"  --plant NAME  in sim-node-planted: a planted bug; 'list' says what each makes wrong\n"
	"  -v            print all that happens\n";

static double real_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- one seed ---------------------------------------------------------------------------------------------- */

static bool run(const struct options *options, bool tracing, struct figures *ret_figures)
{
	int64_t end = (int64_t)(options->hours * (double)HOUR);

	memset(&sim, 0, sizeof(sim));
	sim.options = *options;
	sim.random = options->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	sim.tracing = tracing;
	events_reset(net_dispose);
	scenario_begin();
	while (!sim.stop && event_next(end))
		;
	if (!sim.stop)
		crowd_judge();
	if (sim.stop)
		log_fleet();
	sim.figures.runs = 1;
	sim.figures.failed = sim.stop;
	sim.figures.time = sim.now;
	*ret_figures = sim.figures;
	jobs_done();
	sites_done();
	return !sim.stop;
}

static void keep_greater(int64_t *worst, int64_t one)
{
	if (one > *worst)
		*worst = one;
}

static void add_renames(struct figures *sum, const struct figures *one)
{
	sum->renamed += one->renamed;
	sum->moved += one->moved;
	sum->beside += one->beside;
	sum->lists += one->lists;
	sum->roll += one->roll;
	for (unsigned i = 0; i < 4; i++)
		sum->roll_rest[i] += one->roll_rest[i];
}

static void add_figures(struct figures *sum, const struct figures *one)
{
	sum->runs += one->runs;
	sum->failed += one->failed;
	sum->events += one->events;
	sum->time += one->time;
	for (int i = 0; i < FAULT_KINDS; i++)
		sum->faults[i] += one->faults[i];
	sum->elections += one->elections;
	sum->questions += one->questions;
	sum->changes += one->changes;
	sum->taken_over += one->taken_over;
	sum->requests += one->requests;
	sum->excused += one->excused;
	sum->checks += one->checks;
	sum->forgotten += one->forgotten;
	sum->offers += one->offers;
	add_renames(sum, one);
	sum->missed += one->missed;
	sum->retried += one->retried;
	sum->ordered += one->ordered;
	sum->triggers += one->triggers;
	sum->expired += one->expired;
	keep_greater(&sum->worst_offer, one->worst_offer);
	sum->asked += one->asked;
	sum->starts += one->starts;
	sum->reruns += one->reruns;
	sum->finished += one->finished;
	sum->killed += one->killed;
	sum->died += one->died;
	sum->refused += one->refused;
	for (int i = 0; i < 3; i++)
		sum->counted[i] += one->counted[i];
	sum->opened += one->opened;
	for (int i = 0; i < 10; i++) {
		sum->barrier_told[i] += one->barrier_told[i];
		sum->gang_told[i] += one->gang_told[i];
	}
	for (int i = 0; i < 3; i++)
		sum->gangs[i] += one->gangs[i];
	sum->numbered += one->numbered;
	sum->slots += one->slots;
	sum->rolled += one->rolled;
	sum->seen += one->seen;
	sum->noted += one->noted;
	sum->told += one->told;
	sum->ended_badly += one->ended_badly;
	sum->ended_noted += one->ended_noted;
	sum->forgot += one->forgot;
	sum->indexed[0] += one->indexed[0];
	sum->indexed[1] += one->indexed[1];
	for (int i = 0; i < 3; i++)
		sum->locks[i] += one->locks[i];
	for (int i = 0; i < 3; i++)
		sum->submits[i] += one->submits[i];
	for (int i = 0; i < 4; i++)
		sum->jobs[i] += one->jobs[i];
	for (int i = 0; i < 4; i++)
		sum->hostages[i] += one->hostages[i];
	keep_greater(&sum->worst_hostage, one->worst_hostage);
	sum->crowd_asked += one->crowd_asked;
	sum->crowd_left += one->crowd_left;
	sum->crowd_claimed += one->crowd_claimed;
	keep_greater(&sum->worst_packet, one->worst_packet);
	keep_greater(&sum->worst_looks, one->worst_looks);
	sum->sum_requests += one->sum_requests;
	keep_greater(&sum->worst_settle, one->worst_settle);
	keep_greater(&sum->worst_yield, one->worst_yield);
	keep_greater(&sum->worst_leave, one->worst_leave);
	keep_greater(&sum->worst_kill, one->worst_kill);
	if (one->worst_requests > sum->worst_requests)
		sum->worst_requests = one->worst_requests;
}

/* Once more, with the trace on. */
static void show(const struct options *options)
{
	struct figures figures;

	run(options, true, &figures);
	if (!options->verbose)
		trace_print();
	printf("seed %llu failed: %s\nreplay: %s --seed %llu --hours %g",
	       (unsigned long long)options->seed, sim.problem, program,
	       (unsigned long long)options->seed, options->hours);
	if (options->schedules)
		printf(" --schedules");
	else if (options->ticks)
		printf(" --ticks");
	if (options->partitions)
		printf(" --partitions");
	if (options->recipes)
		printf(" --recipes");
	if (options->queues)
		printf(" --queues");
	if (options->alerts)
		printf(" --alerts");
	if (options->notices)
		printf(" --notices");
	if (options->disagree)
		printf(" --disagree");
	if (options->creep)
		printf(" --creep");
	if (options->lists)
		printf(" --lists");
	if (options->roll)
		printf(" --roll");
	if (options->crowd)
		printf(" --crowd");
	if (options->hostages)
		printf(" --hostages");
	if (strcmp(plant, "none") != 0)
		printf(" --plant %s", plant);
	if (options->hosts)
		printf(" --hosts %u", options->hosts);
	if (options->tasks)
		printf(" --tasks %u", options->tasks);
	printf(" -v\n");
	fflush(stdout);
}

/* --- many ---------------------------------------------------------------------------------------------------- */

static bool any_failed(const struct plan *plan, const struct figures *of_jobs)
{
	for (unsigned i = 0; i < plan->jobs; i++)
		if (__atomic_load_n(&of_jobs[i].failed, __ATOMIC_RELAXED) > 0)
			return true;
	return false;
}

/* Every jobs-th seed, until they are through, time is up, or one has failed in any of the jobs. */
static void work(const struct plan *plan, unsigned job, struct figures *of_jobs)
{
	double end = real_time() + plan->seconds;

	for (uint64_t i = job; plan->seeds == 0 || i < plan->seeds; i += plan->jobs) {
		struct options options = plan->options;
		struct figures one;
		options.seed = plan->from + i;
		if ((plan->seconds > 0 && real_time() >= end) || any_failed(plan, of_jobs))
			break;
		bool ok = run(&options, options.verbose, &one);
		add_figures(&of_jobs[job], &one);
		if (ok)
			continue;
		if (!options.verbose)
			show(&options);
		break;
	}
}

/* Seconds of processor time of this process and of those that it has waited for. */
static double processor_time(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec +
			children.ru_stime.tv_sec) +
	       (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec + children.ru_utime.tv_usec +
			children.ru_stime.tv_usec) /
		       1e6;
}

static void print_jobs(const struct figures *f)
{
	printf("jobs: %llu submits told as committed, %llu refused, %llu unknown; %llu assigned, "
	       "%llu processes begun, %llu ends recorded, %llu not\n",
	       (unsigned long long)f->submits[0], (unsigned long long)f->submits[1],
	       (unsigned long long)f->submits[2], (unsigned long long)f->jobs[1],
	       (unsigned long long)f->jobs[0], (unsigned long long)f->jobs[2],
	       (unsigned long long)f->jobs[3]);
}

static void print_notices(const struct figures *f)
{
	printf("notices: %llu events, %llu taken; %llu runs ended badly, %llu with a note "
	       "in the same transaction\n",
	       (unsigned long long)f->noted, (unsigned long long)f->told,
	       (unsigned long long)f->ended_badly, (unsigned long long)f->ended_noted);
}

static void print_schedules(const struct figures *f)
{
	printf("schedules: %llu offers, at most %.3f s behind their tick in quiet times; "
	       "%llu ticks missed, %llu tried again, %llu triggered\n",
	       (unsigned long long)f->offers, (double)f->worst_offer / 1e6,
	       (unsigned long long)f->missed, (unsigned long long)f->retried,
	       (unsigned long long)f->triggers);
	if (f->renamed > 0)
		printf("a renamed task: %llu files changed, %llu records moved, led under both "
		       "names %llu times\n",
		       (unsigned long long)f->renamed, (unsigned long long)f->moved,
		       (unsigned long long)f->beside);
}

static void print_watches(const struct plan *plan, const struct figures *f)
{
	printf("watches: at most %lld bytes of a session, and %lld paths looked at by time",
	       (long long)f->worst_packet, (long long)f->worst_looks);
	if (plan->options.crowd)
		printf("; %llu requests of the crowd, %llu given up, %llu ticks claimed",
		       (unsigned long long)f->crowd_asked, (unsigned long long)f->crowd_left,
		       (unsigned long long)f->crowd_claimed);
	printf("\n");
	if (plan->options.lists)
		printf("lists: %llu damaged by hand\n", (unsigned long long)f->lists);
	if (plan->options.roll)
		printf("roll: %llu times damaged by hand; followed by %llu sidecars at rest, kept "
		       "by "
		       "%llu, listed by %llu\n",
		       (unsigned long long)f->roll,
		       (unsigned long long)f->roll_rest[ROLL_FOLLOWING],
		       (unsigned long long)f->roll_rest[ROLL_KEEPING],
		       (unsigned long long)(f->roll_rest[ROLL_OFF] + f->roll_rest[ROLL_SEEKING]));
	if (plan->options.hostages)
		printf("hostages: %llu whose writes were refused, %llu answered by nobody, %llu "
		       "hung up on; another led twice the session timeout and %.3f s later at the "
		       "latest\n",
		       (unsigned long long)f->hostages[HOSTAGE_REFUSED],
		       (unsigned long long)f->hostages[HOSTAGE_SILENT],
		       (unsigned long long)f->hostages[HOSTAGE_HUNG_UP],
		       (double)f->worst_hostage / 1e6);
}

static void print_gangs(const struct figures *f)
{
	printf("gangs: %llu begun, %llu members came back, %llu commands killed; told to "
	       "%llu, timeouts to %llu, in use to %llu, not known to %llu\n",
	       (unsigned long long)f->gangs[0], (unsigned long long)f->gangs[1],
	       (unsigned long long)f->gangs[2], (unsigned long long)f->gang_told[PARTY_OPENED],
	       (unsigned long long)f->gang_told[PARTY_TIMEOUT],
	       (unsigned long long)f->gang_told[PARTY_IN_USE],
	       (unsigned long long)f->gang_told[PARTY_FAILED]);
}

static void print_figures(const struct plan *plan, const struct figures *f, double took, bool ok)
{
	double hours = (double)f->time / (double)HOUR;

	printf("%llu seeds from %llu, %.0f simulated fleet-hours in %.0f s, of which %.0f s of a "
	       "processor: %.0f in ten minutes of two processors; %llu events\n",
	       (unsigned long long)f->runs, (unsigned long long)plan->from, hours, took,
	       processor_time(), hours / processor_time() * 1200, (unsigned long long)f->events);
	printf("faults:");
	for (int i = 0; i < FAULT_KINDS; i++)
		printf("%s %llu %s", i ? "," : "", (unsigned long long)f->faults[i],
		       fault_names[i]);
	printf("\n%llu elections, %llu changes in quiet times, %llu looks at the whole fleet, %llu "
	       "questions; at rest %.1f s after the last fault at the latest\n",
	       (unsigned long long)f->elections, (unsigned long long)f->changes,
	       (unsigned long long)f->checks, (unsigned long long)f->questions,
	       (double)f->worst_settle / 1e6);
	if (!plan->options.ticks)
		printf("nobody led for at most %.3f s when handed over, %.3f s when stopped, "
		       "the session timeout and %.3f s when killed; requests per worker and "
		       "change: %.1f on average, %.1f at "
		       "most\n",
		       (double)f->worst_yield / 1e6, (double)f->worst_leave / 1e6,
		       (double)f->worst_kill / 1e6,
		       f->sum_requests / (double)(f->changes ? f->changes : 1), f->worst_requests);
	printf("tokens began anew %llu times, as all data was lost; %llu overlaps after a deletion "
	       "by hand that the next leader could not know of; %llu sessions taken over\n",
	       (unsigned long long)f->forgotten, (unsigned long long)f->excused,
	       (unsigned long long)f->taken_over);
	if (plan->options.ticks)
		printf("ticks asked for %llu times; %llu jobs begun, %llu of them again; %llu "
		       "ended, "
		       "%llu killed at the end of their lease, %llu with what supervised them; "
		       "%llu not begun\n",
		       (unsigned long long)f->asked, (unsigned long long)f->starts,
		       (unsigned long long)f->reruns, (unsigned long long)f->finished,
		       (unsigned long long)f->killed, (unsigned long long)f->died,
		       (unsigned long long)f->refused);
	print_watches(plan, f);
	if (plan->options.schedules)
		print_schedules(f);
	if (plan->options.recipes)
		printf("counters: %llu done, %llu not done, %llu unknown; roster: %llu numbers "
		       "given out, %llu taken back, %llu told, %llu not; rolling: %llu slots, %llu "
		       "of them healthy again; locks: %llu commands begun, %llu not, %llu killed\n",
		       (unsigned long long)f->counted[0], (unsigned long long)f->counted[1],
		       (unsigned long long)f->counted[2], (unsigned long long)f->numbered,
		       (unsigned long long)f->forgot, (unsigned long long)f->indexed[1],
		       (unsigned long long)f->indexed[0], (unsigned long long)f->slots,
		       (unsigned long long)f->rolled, (unsigned long long)f->locks[0],
		       (unsigned long long)f->locks[1], (unsigned long long)f->locks[2]);
	if (plan->options.recipes)
		print_gangs(f);
	if (plan->options.notices)
		print_notices(f);
	if (plan->options.queues)
		print_jobs(f);
	if (plan->options.alerts)
		printf("alerts: the time of the last good run written %llu times\n",
		       (unsigned long long)f->seen);
	if (plan->options.recipes)
		printf("barriers: %llu rounds opened; told to %llu, that they have left to %llu, "
		       "timeouts to %llu, another count to %llu, unknown to %llu\n",
		       (unsigned long long)f->opened,
		       (unsigned long long)f->barrier_told[PARTY_OPENED],
		       (unsigned long long)f->barrier_told[PARTY_LEFT],
		       (unsigned long long)f->barrier_told[PARTY_TIMEOUT],
		       (unsigned long long)f->barrier_told[PARTY_OTHER_COUNT],
		       (unsigned long long)f->barrier_told[PARTY_FAILED]);
	printf("sim-node: %llu seeds, %.0f fleet-hours, %llu violations, %s\n",
	       (unsigned long long)f->runs, hours, (unsigned long long)f->failed,
	       ok && f->failed == 0 ? "ok" : "FAILED");
}

static bool run_jobs(const struct plan *plan)
{
	struct figures *shared = mmap(NULL, JOBS_MAX * sizeof(*shared), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct figures sum = {0};
	double began = real_time();
	bool ok = true;

	if (shared == MAP_FAILED)
		return false;
	for (unsigned i = 0; i < plan->jobs; i++) {
		pid_t child = plan->jobs > 1 ? fork() : 0;
		if (child != 0)
			continue;
		work(plan, i, shared);
		if (plan->jobs > 1)
			_exit(0);
	}
	for (unsigned i = 0; plan->jobs > 1 && i < plan->jobs; i++) {
		int status = 1;
		while (wait(&status) < 0 && errno == EINTR)
			;
		if (status != 0)
			printf("a process of the simulator ended with status %d\n", status);
		ok &= status == 0;
	}
	for (unsigned i = 0; i < plan->jobs; i++)
		add_figures(&sum, &shared[i]);
	print_figures(plan, &sum, real_time() - began, ok);
	return ok && sum.failed == 0;
}

static void choose_plant(const char *name)
{
	const char *bug, *wrong;

	if (plant_set && plant_set(name)) {
		plant = name;
		return;
	}
	for (size_t i = 1; plant_name && (bug = plant_name(i, &wrong)); i++)
		printf("%-16s %s\n", bug, wrong);
	exit(plant_name && strcmp(name, "list") == 0 ? 0 : 2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", 1, NULL, 's'},	      {"seeds", 1, NULL, 'n'},	 {"from", 1, NULL, 'f'},
		{"seconds", 1, NULL, 't'},    {"hours", 1, NULL, 'h'},	 {"jobs", 1, NULL, 'j'},
		{"hosts", 1, NULL, 'w'},      {"tasks", 1, NULL, 'k'},	 {"plant", 1, NULL, 'p'},
		{"ticks", 0, NULL, 'T'},      {"verbose", 0, NULL, 'v'}, {"recipes", 0, NULL, 'R'},
		{"partitions", 0, NULL, 'K'}, {"alerts", 0, NULL, 'A'},	 {"notices", 0, NULL, 'N'},
		{"schedules", 0, NULL, 'S'},  {"queues", 0, NULL, 'Q'},	 {"creep", 0, NULL, 'C'},
		{"disagree", 0, NULL, 'D'},   {"crowd", 0, NULL, 'W'},	 {"hostages", 0, NULL, 'H'},
		{"lists", 0, NULL, 'L'},      {"roll", 0, NULL, 'O'},	 {NULL, 0, NULL, 0},
	};
	struct plan plan = {.options.hours = 1, .from = 1, .seeds = 50, .jobs = 1};
	int c;

	program = argv[0];
	while ((c = getopt_long(argc, argv, "v", options, NULL)) != -1) {
		switch (c) {
		case 's':
			plan.from = strtoull(optarg, NULL, 10);
			plan.seeds = 1;
			break;
		case 'n': plan.seeds = strtoull(optarg, NULL, 10); break;
		case 'f':
			plan.from = strcmp(optarg, "clock") == 0 ? (uint64_t)time(NULL) * 10000
								 : strtoull(optarg, NULL, 10);
			break;
		case 't':
			plan.seconds = strtod(optarg, NULL);
			plan.seeds = 0;
			break;
		case 'h': plan.options.hours = strtod(optarg, NULL); break;
		case 'j': plan.jobs = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'w': plan.options.hosts = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'k': plan.options.tasks = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'p': choose_plant(optarg); break;
		case 'T': plan.options.ticks = true; break;
		case 'K': plan.options.partitions = true; break;
		case 'R': plan.options.recipes = true; break;
		case 'Q': plan.options.queues = true; break;
		case 'A': plan.options.alerts = plan.options.ticks = true; break;
		case 'N': plan.options.notices = plan.options.ticks = true; break;
		case 'S': plan.options.schedules = plan.options.ticks = true; break;
		case 'D': plan.options.disagree = true; break;
		case 'C': plan.options.creep = true; break;
		case 'W': plan.options.crowd = true; break;
		case 'H': plan.options.hostages = true; break;
		case 'L': plan.options.lists = true; break;
		case 'O': plan.options.roll = true; break;
		case 'v': plan.options.verbose = true; break;
		default: fputs(usage, stderr); return 2;
		}
	}
	if (optind < argc || plan.jobs < 1 || plan.jobs > JOBS_MAX ||
	    plan.options.hosts > HOSTS_MAX || plan.options.tasks > TASKS_MAX) {
		fputs(usage, stderr);
		return 2;
	}
	return run_jobs(&plan) ? 0 : 1;
}
