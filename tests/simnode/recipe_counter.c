/*
 * Counters: each addition is of a number of its own, so that a committed transaction tells which one it is.
 * What was answered as done was made once, what was not done never, what is unknown at most once; and what is
 * read is a value that the counter had while it was asked for.
 */
#include <stdio.h>
#include <string.h>

#include "recipes.h"
#include "wire/records/recipe_record.h"

#define COUNTERS  2
#define ASKED_MAX (1 << 16)

static struct addition {
	enum { ASKED_OPEN, ASKED_DONE, ASKED_NOT_DONE, ASKED_UNKNOWN } outcome;
	unsigned counter;
	bool adds, made, lost; /* lost: with all data */
	int64_t value;	       /* behind it; of a question: the value when it was asked */
} additions[ASKED_MAX];
static int64_t n_asked; /* an addition adds its place here, and one */

static struct {
	char name[8];
	path_id path;
	int64_t value;
} counters[COUNTERS];

static void made(unsigned counter, int64_t from, int64_t to)
{
	int64_t number = to - from - 1;
	struct addition *a = number >= 0 && number < n_asked ? &additions[number] : NULL;

	if (!a || !a->adds || a->counter != counter)
		sim_violation("counter %u went from %lld to %lld, which nobody asked for", counter,
			      (long long)from, (long long)to);
	else if (a->made)
		sim_violation("addition %lld was made twice", (long long)number);
	else if (a->outcome == ASKED_NOT_DONE)
		sim_violation("addition %lld was made, and told as not done", (long long)number);
	if (!a || sim.stop)
		return;
	a->made = true;
	a->value = to;
}

void counter_commit(const struct transaction *x)
{
	static struct counter_record record;
	const char *why;

	for (size_t i = 0; i < x->n_ops; i++) {
		const struct op *op = &x->ops[i];
		for (unsigned k = 0; k < COUNTERS; k++) {
			if (op->path != counters[k].path ||
			    (op->type != STORE_OP_SET && op->type != STORE_OP_CREATE))
				continue;
			if (record_parse_counter(op->data->bytes, op->data->len, &record, &why) !=
			    0) {
				sim_violation("a counter's record is bad: %s", why);
				return;
			}
			made(k, counters[k].value, record.value);
			counters[k].value = record.value;
		}
	}
}

static void on_answer(void *arg, const struct counter_answer *answer)
{
	struct addition *a = arg;
	int64_t number = a - additions;

	a->outcome = answer->outcome == COUNTER_DONE	   ? ASKED_DONE
		     : answer->outcome == COUNTER_NOT_DONE ? ASKED_NOT_DONE
							   : ASKED_UNKNOWN;
	sim.figures.counted[answer->outcome]++;
	if (a->lost)
		return;
	if (a->adds && a->outcome == ASKED_DONE && (!a->made || a->value != answer->value))
		sim_violation("addition %lld is told as done with %lld", (long long)number,
			      (long long)answer->value);
	if (a->adds && a->outcome == ASKED_NOT_DONE && a->made)
		sim_violation("addition %lld is told as not done, and was made", (long long)number);
	if (!a->adds && a->outcome == ASKED_DONE &&
	    (answer->value < a->value || answer->value > counters[a->counter].value))
		sim_violation("counter %u was read as %lld, and had %lld when it was asked for",
			      a->counter, (long long)answer->value, (long long)a->value);
}

void counter_use(struct site *s)
{
	unsigned n = (unsigned)random_range(1, 3);

	for (; n > 0 && n_asked < ASKED_MAX; n--) {
		struct addition *a = &additions[n_asked++];
		*a = (struct addition){.counter = (unsigned)random_range(0, COUNTERS - 1),
				       .adds = random_chance(800)};
		a->value = counters[a->counter].value;
		counters_add(&s->node.recipes.counters, counters[a->counter].name, a->adds, n_asked,
			     on_answer, a);
	}
}

void counter_forget(void)
{
	for (unsigned k = 0; k < COUNTERS; k++)
		counters[k].value = 0;
	for (int64_t i = 0; i < n_asked; i++) {
		additions[i].lost = true;
		additions[i].made = false;
	}
}

void counter_reset(void)
{
	n_asked = 0;
	for (unsigned k = 0; k < COUNTERS; k++) {
		char path[64];
		snprintf(counters[k].name, sizeof(counters[k].name), "c%u", k);
		snprintf(path, sizeof(path), SITE_ROOT "/counters/%s", counters[k].name);
		counters[k].path = path_intern(path);
		counters[k].value = 0;
	}
}
