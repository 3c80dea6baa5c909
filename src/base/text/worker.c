#include "base/text/worker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/names.h"

struct worker *worker_new(void)
{
	return mem_calloc(1, sizeof(struct worker));
}

/* Frees what it lists, if nobody shares that. */
static void free_tasks(struct worker *w)
{
	if (w->sharers && *w->sharers > 0) {
		(*w->sharers)--;
		return;
	}
	names_free(w->tasks, w->n_tasks);
	free(w->digests);
	names_free(w->keys, w->n_keys);
	names_free(w->groups, w->n_groups);
	names_free(w->renamed, w->n_renamed);
	free(w->splits);
	free(w->queues);
	free(w->sharers);
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	free_tasks(w);
	names_free(w->unhealthy, w->n_unhealthy);
	names_free(w->answers, w->n_answers);
	free(w);
}

/* Sorts the names, drops duplicates, and puts them in the place of those that were there. */
static void take_names(char ***list, size_t *n_list, char **names, size_t n)
{
	size_t kept = 0, sorted = 1;

	/* The names are usually sorted already. */
	while (sorted < n && strcmp(names[sorted - 1], names[sorted]) < 0)
		sorted++;
	if (sorted < n)
		qsort(names, n, sizeof(names[0]), names_compare);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && strcmp(names[kept - 1], names[i]) == 0)
			free(names[i]);
		else
			names[kept++] = names[i];
	}
	names_free(*list, *n_list);
	if (kept == 0) {
		free(names);
		names = NULL;
	}
	*list = names;
	*n_list = kept;
}

void worker_take_tasks(struct worker *w, char **names, size_t n)
{
	assert(!w->sharers);
	take_names(&w->tasks, &w->n_tasks, names, n);
}

static bool same_names(char *const *a, size_t n_a, char *const *b, size_t n_b)
{
	return names_same((const char *const *)a, n_a, (const char *const *)b, n_b);
}

static bool same_parts(const struct worker *a, const struct worker *b)
{
	if (a->n_splits != b->n_splits || a->n_queues != b->n_queues ||
	    a->knows_splits != b->knows_splits)
		return false;
	for (size_t i = 0; i < a->n_splits; i++)
		if (strcmp(a->splits[i].task, b->splits[i].task) != 0 ||
		    a->splits[i].partitions != b->splits[i].partitions)
			return false;
	for (size_t i = 0; i < a->n_queues; i++)
		if (strcmp(a->queues[i].queue, b->queues[i].queue) != 0 ||
		    a->queues[i].slots != b->queues[i].slots)
			return false;
	return true;
}

static bool same_tasks(const struct worker *a, const struct worker *b)
{
	return same_names(a->tasks, a->n_tasks, b->tasks, b->n_tasks) &&
	       a->n_digests == b->n_digests &&
	       (a->n_digests == 0 ||
		memcmp(a->digests, b->digests, a->n_digests * sizeof(a->digests[0])) == 0) &&
	       same_names(a->keys, a->n_keys, b->keys, b->n_keys) &&
	       same_names(a->groups, a->n_groups, b->groups, b->n_groups) &&
	       same_names(a->renamed, a->n_renamed, b->renamed, b->n_renamed) && same_parts(a, b);
}

bool worker_share_tasks(struct worker *w, struct worker *other)
{
	if (w->tasks == other->tasks)
		return w->sharers != NULL;
	if (w->n_tasks == 0 || !same_tasks(w, other))
		return false;
	worker_adopt(w, other);
	return true;
}

void worker_adopt(struct worker *w, struct worker *other)
{
	free_tasks(w);
	if (!other->sharers)
		other->sharers = mem_calloc(1, sizeof(*other->sharers));
	(*other->sharers)++;
	w->sharers = other->sharers;
	w->tasks = other->tasks;
	w->n_tasks = other->n_tasks;
	w->digests = other->digests;
	w->n_digests = other->n_digests;
	w->keys = other->keys;
	w->n_keys = other->n_keys;
	w->groups = other->groups;
	w->n_groups = other->n_groups;
	w->renamed = other->renamed;
	w->n_renamed = other->n_renamed;
	w->splits = other->splits;
	w->n_splits = other->n_splits;
	w->knows_splits = other->knows_splits;
	w->queues = other->queues;
	w->n_queues = other->n_queues;
	w->unlisted = false;
}

void worker_take_unhealthy(struct worker *w, char **names, size_t n)
{
	take_names(&w->unhealthy, &w->n_unhealthy, names, n);
}

bool worker_is_unhealthy(const struct worker *w, const char *task)
{
	return w->sick || names_has(w->unhealthy, w->n_unhealthy, task);
}

/*
 * The lists of a record (record_pack.c): tasks, digests, groups, and perhaps unhealthy,
 * partitions, queues and former names. A text has up to two bytes in front, a number of 32 bits
 * one.
 */
size_t worker_task_bytes(size_t name, unsigned partitions, const char *group, bool is_queue,
			 const char *former)
{
	size_t bytes = 2 * (2 + name) + 5 + 2;

	bytes += group ? 2 + strlen(group) : 1;
	bytes += partitions > 0 ? 2 + name + 3 : 0;
	bytes += is_queue ? 2 + name + 3 : 0;
	bytes += former ? 2 + name + 2 + strlen(former) : 0;
	return bytes;
}

static int by_task(const void *task, const void *split)
{
	return strcmp(task, ((const struct worker_split *)split)->task);
}

unsigned worker_partitions(const struct worker *w, const char *task)
{
	const struct worker_split *s =
		w->n_splits > 0 ? bsearch(task, w->splits, w->n_splits, sizeof(*w->splits), by_task)
				: NULL;

	return s ? s->partitions : 0;
}

unsigned worker_slots(const struct worker *w, const char *queue)
{
	for (size_t i = 0; i < w->n_queues; i++)
		if (strcmp(w->queues[i].queue, queue) == 0)
			return w->queues[i].slots;
	return 0;
}

void worker_take_answers(struct worker *w, char **names, size_t n)
{
	take_names(&w->answers, &w->n_answers, names, n);
}

bool worker_answers_for(const struct worker *w, const char *node, const char *queue)
{
	return strcmp(w->node, node) == 0 && (w->unlisted || worker_slots(w, queue) > 0 ||
					      names_has(w->answers, w->n_answers, queue));
}

const char *worker_group(const struct worker *w, const char *task)
{
	char **at = w->n_groups > 0
			    ? bsearch(&task, w->tasks, w->n_tasks, sizeof(*w->tasks), names_compare)
			    : NULL;
	const char *group = at ? w->groups[at - w->tasks] : "";

	return group[0] ? group : NULL;
}

void worker_set_tasks(struct worker *w, const char *const *names, size_t n)
{
	/* The names are copied before the old ones are freed, as they may be the worker's own. */
	worker_take_tasks(w, names_copy(names, n), n);
}
