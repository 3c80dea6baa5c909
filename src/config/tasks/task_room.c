#include "config/tasks/task_room.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A group of tasks that are spread together. */
struct group {
	const char *name; /* borrowed */
	size_t n;
};

static int compare_tasks(const void *a, const void *b)
{
	const struct task_config *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static const struct task_config *find(const struct task_room *room, const struct task_config *t)
{
	void *const *node = tfind(t, &room->tree, compare_tasks);

	return node ? *node : NULL;
}

/* --- sums ----------------------------------------------------------------- */

/* Bytes of the paths of a task's leader nodes. */
static size_t path_bytes(const struct task_room *room, const struct task_config *t)
{
	size_t each = room->prefix + strlen(t->name), n = t->partitions;

	/* A partition's name has a colon and one to three digits more. */
	return n ? n * (each + 2) + (n > 10 ? n - 10 : 0) + (n > 100 ? n - 100 : 0) : each;
}

/* Whether the worker's record names the queue among those that it serves. */
static bool is_served(const struct task_config *t)
{
	return t->queue && t->queue->told.slots > 0;
}

static size_t record_bytes(const struct task_config *t)
{
	return worker_task_bytes(strlen(t->name), t->partitions, t->spread, is_served(t),
				 t->renamed_from) +
	       (t->keys && t->keys[0] ? 1 + strlen(t->keys) : 0);
}

static void count(struct task_room *room, const struct task_config *t)
{
	room->n += task_config_elections(t);
	room->n_served += is_served(t);
	room->bytes += path_bytes(room, t);
	room->record += record_bytes(t);
}

/* --- groups --------------------------------------------------------------- */

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* The task's group, added if it is new; NULL: the task has none. */
static struct group *group_of(struct task_room *room, const struct task_config *t)
{
	struct group key = {.name = t->spread}, *made;
	void **node;

	if (!t->spread)
		return NULL;
	node = tfind(&key, &room->groups, compare_groups);
	if (node)
		return *node;
	made = mem_alloc(sizeof(*made));
	*made = key;
	if (!tsearch(made, &room->groups, compare_groups))
		abort(); /* out of memory, as in base/mem.h */
	return made;
}

/* Whether no group is too big with the file's tasks; if one is, adds a problem. */
static bool check_groups(struct task_room *room, const struct task_file *file,
			 struct problems *problems)
{
	const struct task_config *over = NULL;
	size_t most = 0;

	for (size_t i = 0; i < file->n_tasks; i++) {
		struct group *group = group_of(room, file->tasks[i]);

		if (group && ++group->n > TASK_SPREAD_MAX && !over)
			over = file->tasks[i];
	}
	if (over)
		most = group_of(room, over)->n;
	for (size_t i = 0; i < file->n_tasks; i++) {
		struct group *group = group_of(room, file->tasks[i]);

		if (group)
			group->n--;
	}
	if (over)
		problems_add(problems, over->file, over->line,
			     "task \"%s\": the group \"%s\" has %zu tasks with it: no more than %d "
			     "are allowed, give some of them another group in spread",
			     over->name, over->spread, most, TASK_SPREAD_MAX);
	return !over;
}

/* --- checks --------------------------------------------------------------- */

static bool check_names(const struct task_room *room, const struct task_file *file,
			struct problems *problems)
{
	bool fits = true;

	for (size_t i = 0; i < file->n_tasks; i++) {
		const struct task_config *t = file->tasks[i], *other = find(room, t);

		if (other && !t->queue != !other->queue)
			problems_add(problems, t->file, t->line,
				     "%s \"%s\" has the name of the %s in %s:%d: give one of them "
				     "another",
				     task_config_kind(t), t->name, task_config_kind(other),
				     other->file, other->line);
		else if (other)
			problems_add(problems, t->file, t->line,
				     "%s \"%s\" is in %s:%d already: keep one of them",
				     task_config_kind(t), t->name, other->file, other->line);
		fits &= !other;
	}
	return fits;
}

/*
 * Checks the sums over all tasks in ZooKeeper; adds a problem for the first limit that is passed.
 */
static bool check_sums(const struct task_room *room, const struct task_file *file,
		       struct problems *problems)
{
	struct task_room sum = *room;

	for (size_t i = 0; i < file->n_tasks; i++)
		count(&sum, file->tasks[i]);
	if (sum.n > WORKER_TASKS_MAX)
		problems_add(problems, file->path, 1,
			     "has %zu tasks%s where there are %zu in the files before it: no more "
			     "than %d are allowed",
			     sum.n - room->n,
			     sum.n - room->n > file->n_tasks ? " with their partitions" : "",
			     room->n, WORKER_TASKS_MAX);
	else if (sum.n_served > WORKER_QUEUES_MAX)
		problems_add(problems, file->path, 1,
			     "with its queues this worker serves %zu, and no more than %d are "
			     "allowed: spread them over more sidecars",
			     sum.n_served, WORKER_QUEUES_MAX);
	else if (sum.bytes > TASKDIR_PATHS_MAX)
		problems_add(problems, file->path, 1,
			     "with its tasks the paths of all leader znodes have %zu bytes, and no "
			     "more than %d are allowed: give the tasks shorter names, or spread "
			     "them over more sidecars",
			     sum.bytes, TASKDIR_PATHS_MAX);
	else if (sum.record > WORKER_TASK_BYTES_MAX)
		problems_add(problems, file->path, 1,
			     "with its tasks this worker's record says up to %zu bytes of them, "
			     "and no more than %d are allowed: give the tasks and their groups in "
			     "spread shorter names, or spread them over more sidecars",
			     sum.record, WORKER_TASK_BYTES_MAX);
	else
		return true;
	return false;
}

bool task_room_check(struct task_room *room, const struct task_file *file,
		     struct problems *problems)
{
	bool fits = check_groups(room, file, problems);

	fits &= check_names(room, file, problems);
	return fits && check_sums(room, file, problems);
}

bool task_room_has(struct task_room *room, const struct task_config *t)
{
	const struct group *group = group_of(room, t);
	struct task_room sum = *room;

	count(&sum, t);
	return !find(room, t) && !(group && group->n >= TASK_SPREAD_MAX) &&
	       sum.n <= WORKER_TASKS_MAX && sum.n_served <= WORKER_QUEUES_MAX &&
	       sum.bytes <= TASKDIR_PATHS_MAX && sum.record <= WORKER_TASK_BYTES_MAX;
}

void task_room_add(struct task_room *room, struct task_config *const *tasks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct group *group = group_of(room, tasks[i]);

		if (!tsearch(tasks[i], &room->tree, compare_tasks))
			abort(); /* out of memory, as in base/mem.h */
		if (group)
			group->n++;
		count(room, tasks[i]);
	}
}

void task_room_init(struct task_room *room, size_t prefix)
{
	*room = (struct task_room){.prefix = prefix};
}

static void keep(void *task)
{
	(void)task;
}

void task_room_done(struct task_room *room)
{
	tdestroy(room->tree, keep);
	tdestroy(room->groups, free);
}
