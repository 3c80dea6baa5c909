/* Random numbers, events, clocks and the trace. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim.h"

#define TRACE_LINES 400
#define TRACE_WIDTH 240
#define CLOCK_PPM   5000 /* so two clocks are up to 1 % apart */

struct sim sim;

#define FAULT_TEXT(name, text) [FAULT_##name] = text,
const char *const fault_names[FAULT_KINDS] = {FAULTS(FAULT_TEXT)};

/* --- trace ---------------------------------------------------------------------------------------- */

static struct {
	char lines[TRACE_LINES][TRACE_WIDTH];
	size_t n;
} trace;

void trace_line(const char *format, ...)
{
	char *line = trace.lines[trace.n++ % TRACE_LINES];
	int len = snprintf(line, TRACE_WIDTH, "%12.6f ", (double)sim.now / 1e6);
	va_list args;

	va_start(args, format);
	vsnprintf(line + len, (size_t)(TRACE_WIDTH - len), format, args);
	va_end(args);
	if (sim.options.verbose)
		puts(line);
}

void trace_print(void)
{
	size_t first = trace.n > TRACE_LINES ? trace.n - TRACE_LINES : 0;

	for (size_t i = first; i < trace.n; i++)
		puts(trace.lines[i % TRACE_LINES]);
	trace.n = 0;
}

void sim_violation(const char *format, ...)
{
	va_list args;

	if (sim.stop)
		return;
	va_start(args, format);
	vsnprintf(sim.problem, sizeof(sim.problem), format, args);
	va_end(args);
	TRACE("VIOLATION %s", sim.problem);
	sim.stop = true;
}

/* --- random numbers: splitmix64 (Steele, Lea and Flood, 2014) --------------------------------------- */

uint64_t random_bits(void)
{
	uint64_t z = (sim.random += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

int64_t random_range(int64_t low, int64_t high)
{
	return low + (int64_t)(random_bits() % (uint64_t)(high - low + 1));
}

bool random_chance(unsigned per_mille)
{
	return random_bits() % 1000 < per_mille;
}

int64_t random_exp(int64_t mean)
{
	/* Minus the logarithm of a number in (0, 1], by the bits of its exponent and a line between. */
	uint64_t bits = random_bits() | 1;
	int zeros = __builtin_clzll(bits);
	double fraction = (double)(bits << zeros) / 18446744073709551616.0; /* in [0.5, 1) */
	double x = zeros * 0.6931471805599453 + 1.3862943611198906 * (1 - fraction);

	return (int64_t)((double)mean * (x < 20 ? x : 20));
}

/* --- events: a binary heap by time, then by the order in which they were made ----------------------- */

struct event {
	int64_t at;
	uint64_t sequence;
	event_fn fn;
	void *arg;
	uint64_t number;
};

static struct {
	struct event *list;
	size_t n, capacity;
	uint64_t sequence;
} heap;

static bool is_before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->sequence < b->sequence;
}

void events_reset(void (*dispose)(event_fn fn, void *arg))
{
	for (size_t i = 0; i < heap.n; i++)
		dispose(heap.list[i].fn, heap.list[i].arg);
	heap.n = 0;
	heap.sequence = 0;
}

void event_at(int64_t at, event_fn fn, void *arg, uint64_t number)
{
	struct event e = {at > sim.now ? at : sim.now, heap.sequence++, fn, arg, number};

	if (heap.n == heap.capacity) {
		heap.capacity = heap.capacity ? 2 * heap.capacity : 1024;
		heap.list = mem_resize(heap.list, heap.capacity, sizeof(*heap.list));
	}
	size_t at_index = heap.n++;
	while (at_index > 0) {
		size_t parent = (at_index - 1) / 2;
		if (!is_before(&e, &heap.list[parent]))
			break;
		heap.list[at_index] = heap.list[parent];
		at_index = parent;
	}
	heap.list[at_index] = e;
}

static void sink(struct event e)
{
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= heap.n)
			break;
		if (child + 1 < heap.n && is_before(&heap.list[child + 1], &heap.list[child]))
			child++;
		if (!is_before(&heap.list[child], &e))
			break;
		heap.list[at] = heap.list[child];
		at = child;
	}
	heap.list[at] = e;
}

bool event_next(int64_t end)
{
	if (heap.n == 0 || heap.list[0].at >= end)
		return false;
	struct event e = heap.list[0];
	heap.n--;
	if (heap.n > 0)
		sink(heap.list[heap.n]);
	if (sim.now < e.at) /* else a turn has lasted until now: machine.c */
		sim.now = e.at;
	sim.figures.events++;
	e.fn(e.arg, e.number);
	return true;
}

/* --- clocks ----------------------------------------------------------------------------------------- */

void clock_draw(struct clock *c)
{
	c->start = random_range(1000 * SECOND, 1000 * HOUR);
	c->ppm = random_chance(500) ? random_range(-CLOCK_PPM, CLOCK_PPM)
				    : (random_chance(500) ? CLOCK_PPM : -CLOCK_PPM);
}

int64_t clock_us(const struct clock *c, int64_t at)
{
	return c->start + at + at * c->ppm / 1000000;
}

int64_t clock_when(const struct clock *c, int64_t us)
{
	int64_t at = (us - c->start) * 1000000 / (1000000 + c->ppm);

	while (clock_us(c, at) >= us)
		at--;
	while (clock_us(c, at) < us)
		at++;
	return at;
}
