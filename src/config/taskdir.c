#include "config/taskfile.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/names.h"
#include "base/sort.h"
#include "config/task_zones.h"
#include "config/textfile.h"

#define SUFFIX	  ".conf"
#define NAMES_MAX 100000 /* names of *.conf that are sorted to find the first TASKDIR_FILES_MAX */

void task_files_init(struct task_files *files)
{
	memset(files, 0, sizeof(*files));
}

void task_files_done(struct task_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		taskfile_free(files->list[i].tasks, files->list[i].n_tasks);
		notify_configs_done(&files->list[i].notifies);
		free(files->list[i].name);
		free(files->list[i].path);
	}
	free(files->list);
	task_files_init(files);
}

void task_file_refuse(struct task_file *file)
{
	notify_configs_done(&file->notifies);
	taskfile_free(file->tasks, file->n_tasks);
	file->tasks = NULL;
	file->n_tasks = 0;
	file->refused = true;
}

static int task_by_name(const void *a, const void *b)
{
	const struct task_config *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

const struct task_config *task_files_find(const struct task_files *files, const char *name)
{
	for (size_t i = 0; i < files->n; i++)
		for (size_t j = 0; j < files->list[i].n_tasks; j++)
			if (strcmp(files->list[i].tasks[j]->name, name) == 0)
				return files->list[i].tasks[j];
	return NULL;
}

const struct task_config **task_files_tasks(const struct task_files *files, size_t *ret_n)
{
	const struct task_config **tasks;
	size_t n = 0;

	for (size_t i = 0; i < files->n; i++)
		n += files->list[i].n_tasks;
	tasks = mem_calloc(n + 1, sizeof(struct task_config *));
	n = 0;
	for (size_t i = 0; i < files->n; i++) {
		for (size_t j = 0; j < files->list[i].n_tasks; j++)
			tasks[n++] = files->list[i].tasks[j];
	}
	sort_pointers(tasks, n, task_by_name);
	*ret_n = n;
	return tasks;
}

/* --- a set of tasks by name ----------------------------------------------- */

/* A group of tasks that are spread together. */
struct group {
	const char *name; /* borrowed */
	size_t n;
};

struct names {
	void *tree;    /* of tsearch(3); the tasks are borrowed */
	void *groups;  /* of tsearch(3), of struct group; owned */
	size_t n;      /* elections of the tasks */
	size_t prefix; /* bytes of a leader node's path before its name */
	size_t bytes;  /* of all these paths */
};

static int compare_tasks(const void *a, const void *b)
{
	const struct task_config *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static const struct task_config *names_find(const struct names *names, const struct task_config *t)
{
	void *const *node = tfind(t, &names->tree, compare_tasks);

	return node ? *node : NULL;
}

/* Bytes of the paths of a task's leader nodes. */
static size_t path_bytes(const struct names *names, const struct task_config *t)
{
	size_t each = names->prefix + strlen(t->name), n = t->partitions;

	/* A partition's name has a colon and one to three digits more. */
	return n ? n * (each + 2) + (n > 10 ? n - 10 : 0) + (n > 100 ? n - 100 : 0) : each;
}

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* The task's group, added if it is new; NULL: the task has none. */
static struct group *names_group(struct names *names, const struct task_config *t)
{
	struct group key = {.name = t->spread}, *made;
	void **node;

	if (!t->spread)
		return NULL;
	node = tfind(&key, &names->groups, compare_groups);
	if (node)
		return *node;
	made = mem_alloc(sizeof(*made));
	*made = key;
	if (!tsearch(made, &names->groups, compare_groups))
		abort(); /* out of memory, as in base/mem.h */
	return made;
}

static void names_add(struct names *names, struct task_config *const *tasks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct group *group = names_group(names, tasks[i]);

		if (!tsearch(tasks[i], &names->tree, compare_tasks))
			abort(); /* out of memory, as in base/mem.h */
		if (group)
			group->n++;
		names->bytes += path_bytes(names, tasks[i]);
		names->n += task_config_elections(tasks[i]);
	}
}

static void keep(void *task)
{
	(void)task;
}

static void names_done(struct names *names)
{
	tdestroy(names->tree, keep);
	tdestroy(names->groups, free);
}

/* --- the folder ----------------------------------------------------------- */

static bool is_task_file(const char *name)
{
	size_t len = strlen(name), suffix = sizeof(SUFFIX) - 1;

	return name[0] != '.' && len > suffix && strcmp(name + len - suffix, SUFFIX) == 0;
}

/* The names of the task files in the folder, sorted. Returns 0 or a negative errno. */
static int list_folder(const char *path, char ***ret_names, size_t *ret_n)
{
	DIR *dir = opendir(path);
	char **names = NULL;
	size_t n = 0, cap = 0;
	int r;

	if (!dir)
		return -errno;
	for (;;) {
		struct dirent *entry;

		errno = 0;
		entry = readdir(dir);
		if (!entry || n == NAMES_MAX)
			break;
		if (!is_task_file(entry->d_name))
			continue;
		if (n == cap) {
			cap = cap ? cap * 2 : 64;
			names = mem_resize(names, cap, sizeof(*names));
		}
		names[n++] = mem_strdup(entry->d_name);
	}
	r = -errno;
	closedir(dir);
	if (r < 0) {
		names_free(names, n);
		return r;
	}
	if (n > 0)
		qsort(names, n, sizeof(*names), names_compare);
	*ret_names = names;
	*ret_n = n;
	return 0;
}

static char *join(const char *folder, const char *name)
{
	size_t len = strlen(folder);
	size_t size = len + strlen(name) + 2;
	char *path = mem_alloc(size);

	snprintf(path, size, "%s%s%s", folder, len > 0 && folder[len - 1] == '/' ? "" : "/", name);
	return path;
}

/* Whether no group is too big with the file's tasks; if one is, adds a problem. */
static bool check_groups(struct names *names, const struct task_file *file,
			 struct problems *problems)
{
	const struct task_config *over = NULL;
	size_t most = 0;

	for (size_t i = 0; i < file->n_tasks; i++) {
		struct group *group = names_group(names, file->tasks[i]);

		if (group && ++group->n > TASK_SPREAD_MAX && !over)
			over = file->tasks[i];
	}
	if (over)
		most = names_group(names, over)->n;
	for (size_t i = 0; i < file->n_tasks; i++) {
		struct group *group = names_group(names, file->tasks[i]);

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

/*
 * Whether the file's tasks fit with those of the files before it; adds a problem for each misfit.
 */
static bool check_against(struct names *names, const struct task_file *file,
			  struct problems *problems)
{
	bool fits = check_groups(names, file, problems);
	size_t elections = 0, bytes = names->bytes;

	for (size_t i = 0; i < file->n_tasks; i++) {
		elections += task_config_elections(file->tasks[i]);
		bytes += path_bytes(names, file->tasks[i]);
	}
	for (size_t i = 0; i < file->n_tasks; i++) {
		const struct task_config *t = file->tasks[i], *other = names_find(names, t);

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
	if (fits && names->n + elections > WORKER_TASKS_MAX) {
		problems_add(
			problems, file->path, 1,
			"has %zu tasks%s where there are %zu in the files before it: no more than "
			"%d are allowed",
			elections, elections > file->n_tasks ? " with their partitions" : "",
			names->n, WORKER_TASKS_MAX);
		fits = false;
	}
	if (fits && bytes > TASKDIR_PATHS_MAX) {
		problems_add(
			problems, file->path, 1,
			"with its tasks the paths of all leader znodes have %zu bytes, and no "
			"more than %d are allowed: give the tasks shorter names, or spread them "
			"over more sidecars",
			bytes, TASKDIR_PATHS_MAX);
		fits = false;
	}
	return fits;
}

/* Reads one file, and adds its problems. False: the file was removed meanwhile. */
static bool load_file(const struct task_files *before, struct task_file *file, struct names *names,
		      struct problems *problems)
{
	struct problems found;
	bool gone = false;
	int r;

	problems_init(&found);
	if (text_is_printable(file->name)) {
		r = taskfile_load_all(file->path, file->path, &file->tasks, &file->n_tasks,
				      &file->notifies, &found);
	} else {
		r = -EINVAL;
		problems_add(&found, file->path, 1,
			     "its name has a control character in it, or is not UTF-8: rename it");
	}
	file->refused = r < 0;
	if (r == -ENOENT) {
		struct stat st;

		gone = lstat(file->path, &st) < 0 && errno == ENOENT;
	} else if (r == 0 && (!check_against(names, file, &found) ||
			      !notify_configs_fit(before, file, &found))) {
		task_file_refuse(file);
	}
	names_add(names, file->tasks, file->n_tasks);
	if (!gone)
		problems_append(problems, &found);
	problems_done(&found);
	return !gone;
}

static void load_files(const struct config *config, char *const *file_names, size_t n,
		       struct task_files *files, struct problems *problems)
{
	struct names names = {.prefix = files->prefix};

	files->list = mem_calloc(n + 1, sizeof(*files->list));
	for (size_t i = 0; i < n; i++) {
		struct task_file *file = &files->list[files->n];

		*file = (struct task_file){.name = mem_strdup(file_names[i]),
					   .path = join(config->task_dir, file_names[i])};
		if (load_file(files, file, &names, problems)) {
			files->n++;
		} else {
			free(file->name);
			free(file->path);
		}
	}
	names_done(&names);
}

/* --- loading -------------------------------------------------------------- */

size_t taskdir_load(const struct config *config, struct task_files *ret_files,
		    struct problems *problems)
{
	size_t before = problems->total;
	char **names = NULL;
	size_t n = 0;
	int r = list_folder(config->task_dir, &names, &n);

	task_files_init(ret_files);
	ret_files->prefix = (config->chroot ? strlen(config->chroot) : 0) +
			    (config->root ? strlen(config->root) : 0) + strlen("/leaders/");
	if (r < 0) {
		ret_files->unreadable = r != -ENOENT && r != -ENOTDIR;
		problems_add(problems, config->file, config->task_dir_line, "task-dir: \"%s\" %s",
			     config->task_dir,
			     r == -ENOTDIR ? "is not a folder" : textfile_error(r));
		return problems->total - before;
	}
	if (n > TASKDIR_FILES_MAX)
		problems_add(
			problems, config->file, config->task_dir_line,
			"task-dir: \"%s\" has more than %d files: those after \"%s\" are not read",
			config->task_dir, TASKDIR_FILES_MAX, names[TASKDIR_FILES_MAX - 1]);
	load_files(config, names, n < TASKDIR_FILES_MAX ? n : TASKDIR_FILES_MAX, ret_files,
		   problems);
	task_zones_set(config, ret_files, problems);
	names_free(names, n);
	return problems->total - before;
}

/* --- what is in force ----------------------------------------------------- */

static const struct task_file *find_file(const struct task_files *files, const char *name)
{
	for (size_t i = 0; i < files->n; i++) {
		if (strcmp(files->list[i].name, name) == 0)
			return &files->list[i];
	}
	return NULL;
}

static void copy_accepted(const struct task_file *file, struct task_file *copy)
{
	copy->notifies = notify_configs_copy(&file->notifies);
	copy->tasks = mem_calloc(file->n_tasks + 1, sizeof(struct task_config *));
	for (; copy->n_tasks < file->n_tasks; copy->n_tasks++)
		copy->tasks[copy->n_tasks] = task_config_copy(file->tasks[copy->n_tasks]);
}

static bool names_has_room(struct names *names, const struct task_config *t)
{
	const struct group *group = names_group(names, t);

	return !names_find(names, t) && !(group && group->n >= TASK_SPREAD_MAX) &&
	       names->n + task_config_elections(t) <= WORKER_TASKS_MAX &&
	       names->bytes + path_bytes(names, t) <= TASKDIR_PATHS_MAX;
}

/* Copies the last good tasks of a refused file, if no other file has them now and there is room. */
static void copy_last_good(const struct task_file *last, struct task_file *copy,
			   struct names *names)
{
	if (!last)
		return;
	copy->notifies = notify_configs_copy(&last->notifies);
	copy->tasks = mem_calloc(last->n_tasks + 1, sizeof(struct task_config *));
	for (size_t i = 0; i < last->n_tasks; i++) {
		if (!names_has_room(names, last->tasks[i]))
			continue;
		copy->tasks[copy->n_tasks] = task_config_copy(last->tasks[i]);
		names_add(names, &copy->tasks[copy->n_tasks++], 1);
	}
}

void taskdir_merge(const struct task_files *previous, const struct task_files *loaded,
		   struct task_files *ret_effective)
{
	/* If the folder cannot be read, every file of the previous load counts as refused. */
	const struct task_files *files = loaded->unreadable ? previous : loaded;
	struct names names = {.prefix = loaded->prefix};

	task_files_init(ret_effective);
	ret_effective->prefix = loaded->prefix;
	ret_effective->unreadable = loaded->unreadable;
	ret_effective->list = mem_calloc(files->n + 1, sizeof(*ret_effective->list));
	for (size_t i = 0; i < files->n; i++) {
		const struct task_file *file = &files->list[i];
		struct task_file *copy = &ret_effective->list[ret_effective->n++];

		copy->name = mem_strdup(file->name);
		copy->path = mem_strdup(file->path);
		copy->refused = file->refused || loaded->unreadable;
		if (!copy->refused) {
			copy_accepted(file, copy);
			names_add(&names, copy->tasks, copy->n_tasks);
		}
	}
	for (size_t i = 0; i < ret_effective->n; i++) {
		struct task_file *copy = &ret_effective->list[i];

		if (copy->refused)
			copy_last_good(find_file(previous, copy->name), copy, &names);
	}
	names_done(&names);
}
