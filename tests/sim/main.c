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

#include "oracle.h"
#include "scenario.h"
#include "ticks.h"

#define JOBS_MAX 64

static const char *const plant_names[PLANTS] = {
	[PLANT_NONE] = "none",
	[PLANT_NO_MARGIN] = "no-margin",
	[PLANT_LEASE_MARGIN] = "lease-margin",
	[PLANT_LEASE_ONCE] = "lease-once",
	[PLANT_LEASE_READS] = "lease-reads",
	[PLANT_LEASE_RECEIVED] = "lease-received",
	[PLANT_NO_WAIT] = "no-wait",
	[PLANT_ADOPT] = "adopt",
	[PLANT_EARLY_UP] = "early-up",
	[PLANT_BLIND_RELEASE] = "blind-release",
	[PLANT_LATE_RELEASE] = "late-release",
	[PLANT_HERD] = "herd",
	[PLANT_ORPHAN] = "orphan",
	[PLANT_EARLY_TAKE_OVER] = "early-take-over",
	[PLANT_TRUST_UNKNOWN] = "trust-unknown",
	[PLANT_NO_KILL] = "no-kill",
	[PLANT_OVERLAP] = "overlap",
	[PLANT_FORGET_JOBS] = "forget-jobs",
};

struct plan {
	struct options options;
	uint64_t from, seeds; /* seeds 0: as many as fit into seconds */
	double seconds;
	unsigned jobs;
};

static const char usage[] = "usage: sim [OPTIONS]\n"
			    "  --seed N      this seed alone\n"
			    "  --seeds N     so many seeds, from --from (1)\n"
			    "  --from S      the first seed; 'clock': another one each second\n"
			    "  --seconds S   seeds until so much real time has passed\n"
			    "  --hours H     simulated hours per seed (1)\n"
			    "  --jobs N      processes (1)\n"
			    "  --workers N, --tasks N   instead of what the seed draws\n"
			    "  --ticks       runs of tasks at each tick\n"
			    "  --plant NAME  a planted fault; 'list' names them\n"
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
	events_reset();
	scenario_begin();
	while (!sim.stop && event_next(end))
		;
	if (sim.stop)
		oracle_trace();
	sim.figures.runs = 1;
	sim.figures.failed = sim.stop;
	sim.figures.time = sim.now;
	*ret_figures = sim.figures;
	return !sim.stop;
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
	sum->changes += one->changes;
	sum->excused += one->excused;
	sum->taken_over += one->taken_over;
	sum->attached += one->attached;
	sum->checks += one->checks;
	sum->ticks += one->ticks;
	sum->asked += one->asked;
	sum->starts += one->starts;
	sum->reruns += one->reruns;
	sum->finished += one->finished;
	sum->killed += one->killed;
	sum->died += one->died;
	sum->unbegun += one->unbegun;
	sum->forgotten += one->forgotten;
	sum->sum_requests += one->sum_requests;
#define MAX(field) sum->field = one->field > sum->field ? one->field : sum->field
	MAX(worst_yield);
	MAX(worst_leave);
	MAX(worst_kill);
	MAX(worst_settle);
	MAX(worst_requests);
#undef MAX
}

/* Once more, with the trace on. */
static void show(const struct options *options)
{
	struct figures figures;
	char extra[64] = "";

	run(options, true, &figures);
	if (!options->verbose)
		trace_print();
	if (options->plant)
		snprintf(extra, sizeof(extra), " --plant %s", plant_names[options->plant]);
	printf("seed %llu failed: %s\nreplay: build/release/sim --seed %llu --hours %g%s",
	       (unsigned long long)options->seed, sim.problem, (unsigned long long)options->seed,
	       options->hours, extra);
	if (options->ticks)
		printf(" --ticks");
	if (options->workers)
		printf(" --workers %u", options->workers);
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

/* Of this process and of those that it has waited for. */
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

static void print_figures(const struct plan *plan, const struct figures *f, double took)
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
	printf("\n%llu elections, %llu changes in quiet times, %llu looks at the whole fleet\n",
	       (unsigned long long)f->elections, (unsigned long long)f->changes,
	       (unsigned long long)f->checks);
	printf("nobody led for at most %.3f s when handed over, %.3f s when stopped, the session "
	       "timeout and %.3f s when killed; at rest %.1f s after the last fault at the "
	       "latest\n",
	       (double)f->worst_yield / 1e6, (double)f->worst_leave / 1e6,
	       (double)f->worst_kill / 1e6, (double)f->worst_settle / 1e6);
	printf("requests per worker and change: %.1f on average, %.1f at most\n",
	       f->changes ? f->sum_requests / (double)f->changes : 0, f->worst_requests);
	printf("tokens began anew %llu times, as all data was lost; %llu overlaps after a deletion "
	       "by hand that the next leader could not know of\n",
	       (unsigned long long)f->forgotten, (unsigned long long)f->excused);
	printf("%llu sessions taken over by a process that was started again, and %llu jobs\n",
	       (unsigned long long)f->taken_over, (unsigned long long)f->attached);
	if (plan->options.ticks)
		printf("%llu ticks claimed, asked for %llu times; %llu jobs begun, %llu of them "
		       "again; %llu "
		       "ended, %llu killed at the end of their lease, %llu with what supervised "
		       "them; "
		       "%llu not begun as leadership was lost at that moment\n",
		       (unsigned long long)f->ticks, (unsigned long long)f->asked,
		       (unsigned long long)f->starts, (unsigned long long)f->reruns,
		       (unsigned long long)f->finished, (unsigned long long)f->killed,
		       (unsigned long long)f->died, (unsigned long long)f->unbegun);
	printf("sim: %llu seeds, %.0f fleet-hours, %llu violations, %s\n",
	       (unsigned long long)f->runs, hours, (unsigned long long)f->failed,
	       f->failed ? "FAILED" : "ok");
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
	print_figures(plan, &sum, real_time() - began);
	return ok && sum.failed == 0;
}

static enum plant parse_plant(const char *name)
{
	for (int i = 0; i < PLANTS; i++)
		if (strcmp(plant_names[i], name) == 0)
			return (enum plant)i;
	for (int i = 1; i < PLANTS; i++)
		puts(plant_names[i]);
	exit(strcmp(name, "list") == 0 ? 0 : 2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", 1, NULL, 's'},	   {"seeds", 1, NULL, 'n'},   {"from", 1, NULL, 'f'},
		{"seconds", 1, NULL, 't'}, {"hours", 1, NULL, 'h'},   {"jobs", 1, NULL, 'j'},
		{"workers", 1, NULL, 'w'}, {"tasks", 1, NULL, 'k'},   {"plant", 1, NULL, 'p'},
		{"ticks", 0, NULL, 'T'},   {"verbose", 0, NULL, 'v'}, {NULL, 0, NULL, 0},
	};
	struct plan plan = {.options.hours = 1, .from = 1, .seeds = 50, .jobs = 1};
	int c;

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
		case 'w': plan.options.workers = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'k': plan.options.tasks = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'p': plan.options.plant = parse_plant(optarg); break;
		case 'T': plan.options.ticks = true; break;
		case 'v': plan.options.verbose = true; break;
		default: fputs(usage, stderr); return 2;
		}
	}
	if (optind < argc || plan.jobs < 1 || plan.jobs > JOBS_MAX ||
	    plan.options.workers > SIDECARS_MAX || plan.options.tasks > TASKS_MAX) {
		fputs(usage, stderr);
		return 2;
	}
	return run_jobs(&plan) ? 0 : 1;
}
