#include "disagree.h"

#include <string.h>

#include "core/election/election.h"
#include "oracle.h"
#include "server.h"
#include "truth.h"

#define CALM_US	  (ELECTION_BACKOFF_MIN_MS * MS)
#define LOOKED_US (250 * MS) /* between two looks */
/* A yield in vain, once for each site that has not seen one: they stop for longer and longer. */
#define VAIN_US ((ELECTION_ACCEPT_MS + 20 * ELECTION_STAGGER_MS) * MS)

static enum { KEY_POLICY, KEY_POSITION, KEY_LEAST, KEY_SPREAD, KEYS } differs[TASKS_MAX];

/* Marks of the keys that a site's files have, by its edition. */
static const char *const marks[] = {"", "descr1", "descr2", "descr1histo1"};
static unsigned editions[HOSTS_MAX];

static struct {
	uint64_t moves;
	int64_t moved_at; /* true time of the last leadership in this quiet time, 0 */
	int64_t nobody;	  /* for how long nobody led it */
} seen[TASKS_MAX];
static int64_t began, looked_at;

void disagree_reset(void)
{
	memset(differs, 0, sizeof(differs));
	memset(editions, 0, sizeof(editions));
	for (unsigned k = 0; k < TASKS_MAX && sim.options.disagree; k++)
		differs[k] = (unsigned)random_range(0, KEYS - 1);
}

struct task_settings disagree_settings(const struct site *s, unsigned task)
{
	struct task_settings t = task_settings[task];

	if (!sim.options.disagree)
		return t;
	t.keys = marks[editions[s->id]];
	if (s->id % 2 == 0)
		return t;
	switch (differs[task]) {
	case KEY_POLICY:
		t.version_policy =
			t.version_policy == VERSION_NEWEST ? VERSION_OLDEST : VERSION_NEWEST;
		break;
	case KEY_POSITION: t.rank_position = t.rank_position < 0 ? 2 : -1; break;
	case KEY_LEAST: t.min_version = "99"; break;
	case KEY_SPREAD: t.spread = t.spread ? NULL : "others"; break;
	case KEYS: break;
	}
	return t;
}

void disagree_edit(const struct site *s)
{
	editions[s->id] = (unsigned)random_range(0, sizeof(marks) / sizeof(marks[0]) - 1);
	TRACE("the files of site %u have the marks \"%s\" now", s->id, marks[editions[s->id]]);
}

void disagree_begin(void)
{
	memset(seen, 0, sizeof(seen));
	for (unsigned k = 0; k < sim.n_tasks; k++)
		seen[k].moves = oracle_moves(k);
	began = looked_at = sim.now;
}

/* Whether nobody leads it, and somebody takes itself for a candidate. */
static bool is_free(unsigned task)
{
	for (unsigned i = 0; oracle_leader(task) < 0 && i < sim.n_hosts; i++) {
		const struct task *t = sites[i].running ? site_task(&sites[i], task) : NULL;
		if (t && t->election.view.candidate)
			return true;
	}
	return false;
}

static bool says_its_file(const struct site *s)
{
	const struct member *self = registry_self(&s->node.registry);

	for (size_t i = 0; self && i < self->worker->n_tasks; i++)
		if (self->worker->n_keys != self->worker->n_tasks ||
		    strcmp(self->worker->keys[i], marks[editions[s->id]]) != 0)
			return false;
	return self != NULL;
}

const char *disagree_problem(void)
{
	for (unsigned i = 0; sim.options.disagree && i < sim.n_hosts; i++)
		if (sites[i].running && !says_its_file(&sites[i]))
			return "a record says other keys than its file";
	for (unsigned k = 0; sim.options.disagree && k < sim.n_tasks; k++)
		if (is_free(k))
			return "a task is led by nobody";
	return NULL;
}

void disagree_look(void)
{
	const char *pending;

	/* A decision that ends, or a clock that is judged otherwise, moves tasks as well. */
	truth_now(&pending);
	if (pending || sim.now - looked_at > 2 * LOOKED_US) {
		disagree_begin();
		return;
	}
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		uint64_t moves = oracle_moves(k) - seen[k].moves;
		if (moves > 1 || (moves == 1 && seen[k].moved_at > 0 &&
				  sim.now - seen[k].moved_at < CALM_US - 2 * LOOKED_US))
			sim_violation("task %u changes hands %.3f s after it did, and again", k,
				      (double)(sim.now - seen[k].moved_at) / 1e6);
		if (moves > 0)
			seen[k].moved_at = sim.now;
		seen[k].moves += moves;
		if (is_free(k))
			seen[k].nobody += sim.now - looked_at;
		if (seen[k].nobody > VAIN_US + (sim.now - began) / 4)
			sim_violation("task %u: nobody led it for %.3f of %.3f s", k,
				      (double)seen[k].nobody / 1e6,
				      (double)(sim.now - began) / 1e6);
	}
	looked_at = sim.now;
}
