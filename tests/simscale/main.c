/* Runs one fleet size after the other, and prints what the servers had to do. */
#include "scale.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "wire/record.h"

#define SIZES_MAX 16

struct plan plan = {.tasks = 1000,
		    .servers = 5,
		    .timeout_ms = 10000,
		    .yield_delay_ms = 2000,
		    .start_us = SECOND,
		    .list_every_ms = -1,
		    .restart_us = 100 * MS,
		    .read_us = 20,
		    .write_us = 60,
		    .event_us = 5,
		    .bytes_per_us = 1000};
const char *const *task_name;
static bool details;

static const char help[] =
	"usage: sim-scale [OPTIONS] [WORKERS...]      (10 50 200 1000 5000)\n"
	"  --tasks N         of the fleet (1000)\n"
	"  --spread N        each task is listed by about N workers (0: by all)\n"
	"  --servers N       that serve clients (5)\n"
	"  --timeout S       session timeout, seconds (10)\n"
	"  --yield-delay S   (2)\n"
	"  --start-within S  all workers (1)\n"
	"  --list-every MS   between two lists of the workers; -1: as the sidecar does (-1)\n"
	"  --restart-every MS  of the rolling upgrade (100)\n"
	"  --restarts N      of so many workers alone (0: all)\n"
	"  --read-us N --write-us N --event-us N --bytes-per-us N   what it costs a server\n"
	"  -v                how many requests of each kind\n";

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

/* As big as the sidecar writes it. */
static size_t measure_record(void)
{
	struct worker *w = worker_new();
	const char **names = mem_calloc(plan.tasks, sizeof(*names));
	struct buffer data;
	size_t n = 0;

	for (unsigned k = 0; k < plan.tasks; k += groups)
		names[n++] = task_name[k];
	strcpy(w->id, "01234567-89ab-cdef-0123-456789abcdef");
	strcpy(w->version, "1.0");
	strcpy(w->ip, "10.20.30.40");
	strcpy(w->hostname, "host0001.example.net");
	strcpy(w->node, "host0001.example.net:/run/zkleader/zkleader.sock");
	w->started_at = 1790000000000;
	w->timeout_ms = plan.timeout_ms;
	w->scheme = 1;
	for (int i = 0; i < WORKER_RANDOM_INTS; i++)
		w->random_ints[i] = 1 << 30;
	worker_set_tasks(w, names, n);
	w->digests = mem_calloc(n + 1, sizeof(*w->digests));
	w->n_digests = n;
	for (size_t i = 0; i < n; i++)
		w->digests[i] = UINT32_MAX;
	buffer_init(&data, RECORD_WORKER_MAX);
	int error = record_pack_worker(&data, w);
	n = data.len;
	buffer_done(&data);
	worker_free(w);
	free(names);
	if (error)
		exit(1);
	return n;
}

/* --- phases ---------------------------------------------------------------------------------------------- */

static void on_start(void *arg, uint64_t number)
{
	(void)number;
	sidecar_start(arg);
}

static void on_restart(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	if (number == 0) {
		sidecar_stop(s);
		event_at(sim.now + 200 * MS, on_restart, s, 1);
		return;
	}
	s->version++;
	sidecar_start(s);
}

static void run_until(int64_t end)
{
	while (event_next(end))
		;
	sim.now = end;
}

/* Until all is as it should be, and has been for a while; false: not within a time. */
static bool settle(int64_t atleast)
{
	int64_t limit = atleast + 600 * SECOND;

	run_until(atleast);
	while (sim.now < limit) {
		if (n_wrong == 0 && sim.now > right_since + 5 * SECOND &&
		    sim.now > changed_at + 5 * SECOND)
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

static void print_kinds(void)
{
	if (!details)
		return;
	printf("        ");
	for (int i = 0; i < CALL_KINDS; i++)
		printf(" %s %llu,", call_names[i], (unsigned long long)load.calls[i]);
	printf(" events %llu\n", (unsigned long long)load.events);
}

/* changes: of membership. */
static void report(const char *what, int64_t began, unsigned changes, bool ok)
{
	double workers = plan.workers, tasks = plan.tasks;

	printf("%6u %-8s %8.2f %8.2f %6.2f %5llu %10llu %9llu %10llu %9.1f %8.1f %9llu %8.1f %8.1f "
	       "%8lld %7.2f%s\n",
	       plan.workers, what, right_since > began ? (double)(right_since - began) / 1e6 : 0,
	       right_since > changed_at ? (double)(right_since - changed_at) / 1e6 : 0,
	       (double)load.claims / tasks, (unsigned long long)load.worst_claims,
	       (unsigned long long)load.reads, (unsigned long long)load.writes,
	       (unsigned long long)load.events, (double)load.out / 1e6, (double)load.in / 1e6,
	       (unsigned long long)load.worst_requests, (double)load.worst_out / 1e6,
	       changes ? (double)(load.reads + load.writes) / workers / changes : 0,
	       (long long)n_watches, (double)load.worst_answer / 1e6, ok ? "" : "  NOT SETTLED");
	print_kinds();
	fflush(stdout);
}

/* What a fleet before this one had still to do. */
static void forget(event_fn fn, void *arg)
{
	(void)fn, (void)arg;
}

static void begin(void)
{
	sim.now = 0;
	sim.random = 1;
	events_reset(forget);
	ranking_reset();
	server_reset();
	sidecars_reset();
	record_bytes = measure_record();
}

static bool cold(void)
{
	for (unsigned i = 0; i < plan.workers; i++)
		event_at(random_range(0, plan.start_us), on_start, &sidecars[i], 0);
	bool ok = settle(plan.start_us + SECOND);
	report("cold", 0, plan.workers, ok);
	return ok;
}

static void steady(void)
{
	load_reset();
	int64_t began = sim.now;

	run_until(sim.now + 60 * SECOND);
	printf("%6u steady   each second: %.0f reads, %.0f writes, %.3f MB out; in the worst %llu "
	       "requests; watches %lld; record of a worker %zu B\n",
	       plan.workers, (double)load.reads / 60, (double)load.writes / 60,
	       (double)load.out / 60e6, (unsigned long long)load.worst_requests,
	       (long long)n_watches, record_bytes);
	print_kinds();
	(void)began;
}

static bool roll(void)
{
	unsigned n = plan.restarts && plan.restarts < plan.workers ? plan.restarts : plan.workers;
	int64_t began = sim.now;

	load_reset();
	for (unsigned i = 0; i < n; i++)
		event_at(began + plan.restart_us * i, on_restart, &sidecars[i], 0);
	bool ok = settle(began + plan.restart_us * n + SECOND);
	report("rolling", began, 2 * n, ok);
	return ok;
}

static bool rack(void)
{
	unsigned n = plan.workers / 20 > 0 ? plan.workers / 20 : 1;
	int64_t began = sim.now;

	load_reset();
	for (unsigned i = 0; i < n; i++)
		sidecar_kill(&sidecars[plan.workers - 1 - i]);
	bool ok = settle(began + plan.timeout_ms * MS + 5 * SECOND);
	report("rack", began, n, ok);
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
	ok &= rack();
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
		{"list-every", 1, NULL, 'l'},	{"yield-delay", 1, NULL, 'y'},
		{"start-within", 1, NULL, 'w'}, {"restart-every", 1, NULL, 'r'},
		{"restarts", 1, NULL, 'n'},	{"read-us", 1, NULL, 'R'},
		{"write-us", 1, NULL, 'W'},	{"event-us", 1, NULL, 'E'},
		{"bytes-per-us", 1, NULL, 'B'}, {NULL, 0, NULL, 0},
	};
	unsigned sizes[SIZES_MAX] = {10, 50, 200, 1000, 5000}, n = 5;
	bool ok = true;
	int c;

	while ((c = getopt_long(argc, argv, "v", options, NULL)) != -1) {
		switch (c) {
		case 'k': plan.tasks = (unsigned)strtoul(optarg, NULL, 10); break;
		case 's': plan.spread = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'S': plan.servers = (unsigned)strtoul(optarg, NULL, 10); break;
		case 't': plan.timeout_ms = (int64_t)(strtod(optarg, NULL) * 1000); break;
		case 'y': plan.yield_delay_ms = (int64_t)(strtod(optarg, NULL) * 1000); break;
		case 'w': plan.start_us = (int64_t)(strtod(optarg, NULL) * SECOND); break;
		case 'l': plan.list_every_ms = strtol(optarg, NULL, 10); break;
		case 'r': plan.restart_us = (int64_t)(strtod(optarg, NULL) * MS); break;
		case 'n': plan.restarts = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'R': plan.read_us = strtol(optarg, NULL, 10); break;
		case 'W': plan.write_us = strtol(optarg, NULL, 10); break;
		case 'E': plan.event_us = strtol(optarg, NULL, 10); break;
		case 'B': plan.bytes_per_us = strtod(optarg, NULL); break;
		case 'v': details = true; break;
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
	       "workers phase   all best  after   claims  most      reads    writes     events "
	       "   MB out    MB in   req/s   MB/s  per worker          slowest\n"
	       "                  after s  last s  a task of one                                  "
	       "                      worst   worst and change  watches answer s\n",
	       plan.tasks, plan.spread, plan.servers, (long long)plan.timeout_ms);
	for (unsigned i = 0; i < n; i++)
		ok &= one_size(sizes[i]);
	return ok ? 0 : 1;
}
