/* Runs one fleet size after the other, and prints what the servers had to do. */
#include "scale.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "machine.h"
#include "server.h"

#define SIZES_MAX 16

struct plan plan = {.tasks = 1000,
		    .servers = 5,
		    .timeout_ms = 10000,
		    .yield_delay_ms = 2000,
		    .roll_from = 200,
		    .start_us = SECOND,
		    .restart_us = 100 * MS,
		    .read_us = 20,
		    .write_us = 60,
		    .event_us = 5,
		    .bytes_per_us = 1000};
const char *const *task_name;
static int64_t began_at; /* when the servers were ready */
unsigned groups;

static const char help[] =
	"usage: sim-scale [OPTIONS] [WORKERS...]      (10 50 200)\n"
	"  --tasks N         of the fleet (1000)\n"
	"  --spread N        each task is listed by about N workers (0: by all)\n"
	"  --servers N       that serve clients (5)\n"
	"  --timeout S       session timeout, seconds (10)\n"
	"  --yield-delay S   (2)\n"
	"  --roll-from N     workers from which a roll is kept; 0: never (200)\n"
	"  --start-within S  all workers (1)\n"
	"  --restart-every MS  of the rolling upgrade (100)\n"
	"  --restarts N      of so many workers alone (0: all)\n"
	"  --read-us N --write-us N --event-us N --bytes-per-us N   what it costs a server\n";

/* --- records --------------------------------------------------------------------------------------------- */

static void name_tasks(void)
{
	char(*names)[16] = mem_calloc(plan.tasks, sizeof(*names));
	const char **list = mem_calloc(plan.tasks, sizeof(*list));

	for (unsigned k = 0; k < plan.tasks; k++) {
		snprintf(names[k], sizeof(names[k]), "job-%05u", k);
		list[k] = names[k];
	}
	task_name = list;
}

/* --- phases ---------------------------------------------------------------------------------------------- */

static void on_start(void *arg, uint64_t number)
{
	(void)arg;
	place_start((unsigned)number);
}

static void on_restart(void *arg, uint64_t number)
{
	(void)arg;
	place_restart((unsigned)number);
}

static void run_until(int64_t end)
{
	while (event_next(end))
		;
	sim.now = end;
}

/* A quarter of a minute behind a full one, around which nobody yields. */
static void keep_clear(void)
{
	int64_t in_minute = (EPOCH_MS * MS + sim.now) % (60 * SECOND);

	run_until(sim.now + (75 * SECOND - in_minute) % (60 * SECOND));
}

/* Until all is as it should be, and has been for a while; false: not within a time. */
static bool settle(int64_t atleast)
{
	int64_t limit = atleast + 600 * SECOND;

	run_until(atleast);
	while (sim.now < limit) {
		if (best.n_wrong == 0 && sim.now > best.right_since + 5 * SECOND &&
		    sim.now > best.changed_at + 5 * SECOND)
			return true;
		run_until(sim.now + SECOND / 4);
	}
	return false;
}

static double processor_time(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
}

/* changes: of membership. */
static void report(const char *what, int64_t began, unsigned changes, bool ok)
{
	double workers = plan.workers, tasks = plan.tasks;

	printf("%6u %-8s %8.2f %8.2f %6.2f %6.2f %5llu %10llu %9llu %10llu %9.1f %8.1f %9llu %8.1f "
	       "%8.1f "
	       "%8lld %7.2f%s\n",
	       plan.workers, what,
	       best.right_since > began ? (double)(best.right_since - began) / 1e6 : 0,
	       best.right_since > best.changed_at
		       ? (double)(best.right_since - best.changed_at) / 1e6
		       : 0,
	       (double)best.worst_unled / 1e6, (double)best.claims / tasks,
	       (unsigned long long)best.worst_claims, (unsigned long long)load.reads,
	       (unsigned long long)load.writes, (unsigned long long)load.events,
	       (double)load.out / 1e6, (double)load.in / 1e6,
	       (unsigned long long)load.worst_requests, (double)load.worst_out / 1e6,
	       changes ? (double)(load.reads + load.writes) / workers / changes : 0,
	       (long long)watches_set(), (double)load.worst_wait / 1e6, ok ? "" : "  NOT SETTLED");
	fflush(stdout);
}

static void begin(void)
{
	sim.now = 0;
	sim.random = 1;
	sim.n_servers = plan.servers;
	sim.tick_ms = 2000;
	sim.sync_ms = 5 * sim.tick_ms;
	sim.timeout_ms = plan.timeout_ms;
	sim.delay_us = 500;
	sim.server_delay_us = 200;
	groups = plan.spread && plan.spread < plan.workers ? plan.workers / plan.spread : 1;
	events_reset(net_dispose);
	net_reset();
	servers_reset();
	machines_reset();
	best_begin();
	load_begin();
	places_begin();
	while (!servers_agree())
		event_next(INT64_MAX);
	keep_clear();
	began_at = sim.now;
}

static void phase(void)
{
	load_reset();
	best_reset();
}

static bool cold(void)
{
	for (unsigned i = 0; i < plan.workers; i++)
		event_at(began_at + random_range(0, plan.start_us), on_start, NULL, i);
	bool ok = settle(began_at + plan.start_us + SECOND);
	report("cold", began_at, plan.workers, ok);
	return ok;
}

static void steady(void)
{
	phase();

	run_until(sim.now + 60 * SECOND);
	printf("%6u steady   each second: %.0f reads, %.0f writes, %.3f MB out; in the worst %llu "
	       "requests; watches %lld; record of a worker %zu B\n",
	       plan.workers, (double)load.reads / 60, (double)load.writes / 60,
	       (double)load.out / 60e6, (unsigned long long)load.worst_requests,
	       (long long)watches_set(), best.record_bytes);
}

static bool roll(void)
{
	unsigned n = plan.restarts && plan.restarts < plan.workers ? plan.restarts : plan.workers;
	keep_clear();
	int64_t began = sim.now;
	phase();
	for (unsigned i = 0; i < n; i++)
		event_at(began + plan.restart_us * i, on_restart, NULL, i);
	bool ok = settle(began + plan.restart_us * n + SECOND);
	report("rolling", began, 2 * n, ok);
	return ok;
}

/* Kills the worker `at` and every so many behind it, all at once. */
static bool killed(const char *what, unsigned every, unsigned at)
{
	unsigned n = 0;

	keep_clear();
	int64_t began = sim.now;
	phase();
	for (unsigned i = at; i < plan.workers; i += every, n++)
		place_kill(i);
	bool ok = settle(began + plan.timeout_ms * MS + 5 * SECOND);
	report(what, began, n, ok);
	return ok;
}

static bool one_size(unsigned workers)
{
	double before = processor_time();

	plan.workers = workers;
	begin();
	bool ok = cold();
	steady();
	ok &= roll();
	run_until(sim.now + 90 * SECOND);
	ok &= killed("rack", 20, 7);
	ok &= killed("half", 2, 0);
	places_end();
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%6u took %.1f s of a processor, %.0f simulated s, at most %ld MiB\n", workers,
	       processor_time() - before, (double)sim.now / 1e6, usage.ru_maxrss / 1024);
	return ok;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"tasks", 1, NULL, 'k'},	{"spread", 1, NULL, 's'},
		{"servers", 1, NULL, 'S'},	{"timeout", 1, NULL, 't'},
		{"yield-delay", 1, NULL, 'y'},	{"roll-from", 1, NULL, 'o'},
		{"start-within", 1, NULL, 'w'}, {"restart-every", 1, NULL, 'r'},
		{"restarts", 1, NULL, 'n'},	{"read-us", 1, NULL, 'R'},
		{"write-us", 1, NULL, 'W'},	{"event-us", 1, NULL, 'E'},
		{"bytes-per-us", 1, NULL, 'B'}, {NULL, 0, NULL, 0},
	};
	unsigned sizes[SIZES_MAX] = {10, 50, 200}, n = 3;
	bool ok = true;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'k': plan.tasks = (unsigned)strtoul(optarg, NULL, 10); break;
		case 's': plan.spread = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'S': plan.servers = (unsigned)strtoul(optarg, NULL, 10); break;
		case 't': plan.timeout_ms = (int64_t)(strtod(optarg, NULL) * 1000); break;
		case 'y': plan.yield_delay_ms = (int64_t)(strtod(optarg, NULL) * 1000); break;
		case 'o': plan.roll_from = strtoul(optarg, NULL, 10); break;
		case 'w': plan.start_us = (int64_t)(strtod(optarg, NULL) * SECOND); break;
		case 'r': plan.restart_us = (int64_t)(strtod(optarg, NULL) * MS); break;
		case 'n': plan.restarts = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'R': plan.read_us = strtol(optarg, NULL, 10); break;
		case 'W': plan.write_us = strtol(optarg, NULL, 10); break;
		case 'E': plan.event_us = strtol(optarg, NULL, 10); break;
		case 'B': plan.bytes_per_us = strtod(optarg, NULL); break;
		default: fputs(help, stderr); return 2;
		}
	}
	if (optind < argc)
		n = 0;
	for (int i = optind; i < argc && n < SIZES_MAX; i++)
		sizes[n++] = (unsigned)strtoul(argv[i], NULL, 10);
	if (plan.tasks == 0 || plan.servers == 0 || n == 0 || sizes[0] == 0) {
		fputs(help, stderr);
		return 2;
	}
	name_tasks();
	printf("%u tasks, listed by %u workers each (0: all); %u servers; T %lld ms\n"
	       "workers phase   all best  after   unled claims  most      reads    writes     "
	       "events "
	       "   MB out    MB in   req/s   MB/s  per worker          slowest\n"
	       "                  after s  last s  most s a task of one                            "
	       "      "
	       "                      worst   worst and change  watches answer s\n",
	       plan.tasks, plan.spread, plan.servers, (long long)plan.timeout_ms);
	for (unsigned i = 0; i < n; i++)
		ok &= one_size(sizes[i]);
	return ok ? 0 : 1;
}
