#include "config/tasks/taskfile.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/sort.h"
#include "base/text/names.h"
#include "config/tasks/notify_files.h"
#include "config/tasks/task_room.h"
#include "config/tasks/task_zones.h"
#include "config/text/textfile.h"

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

/* Reads one file, and adds its problems. False: the file was removed meanwhile. */
static bool load_file(const struct task_files *before, struct task_file *file,
		      struct task_room *room, struct problems *problems)
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
	} else if (r == 0 && (!task_room_check(room, file, &found) ||
			      !notify_configs_fit(before, file, &found))) {
		task_file_refuse(file);
	}
	task_room_add(room, file->tasks, file->n_tasks);
	if (!gone)
		problems_append(problems, &found);
	problems_done(&found);
	return !gone;
}

static void load_files(const struct config *config, char *const *file_names, size_t n,
		       struct task_files *files, struct problems *problems)
{
	struct task_room room;

	task_room_init(&room, files->prefix);
	files->list = mem_calloc(n + 1, sizeof(*files->list));
	for (size_t i = 0; i < n; i++) {
		struct task_file *file = &files->list[files->n];

		*file = (struct task_file){.name = mem_strdup(file_names[i]),
					   .path = join(config->task_dir, file_names[i])};
		if (load_file(files, file, &room, problems)) {
			files->n++;
		} else {
			free(file->name);
			free(file->path);
		}
	}
	task_room_done(&room);
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

/* Copies the last good tasks of a refused file, if no other file has them now and there is room. */
static void copy_last_good(const struct task_file *last, struct task_file *copy,
			   struct task_room *room)
{
	if (!last)
		return;
	copy->notifies = notify_configs_copy(&last->notifies);
	copy->tasks = mem_calloc(last->n_tasks + 1, sizeof(struct task_config *));
	for (size_t i = 0; i < last->n_tasks; i++) {
		if (!task_room_has(room, last->tasks[i]))
			continue;
		copy->tasks[copy->n_tasks] = task_config_copy(last->tasks[i]);
		task_room_add(room, &copy->tasks[copy->n_tasks++], 1);
	}
}

void taskdir_merge(const struct task_files *previous, const struct task_files *loaded,
		   struct task_files *ret_effective)
{
	/* If the folder cannot be read, every file of the previous load counts as refused. */
	const struct task_files *files = loaded->unreadable ? previous : loaded;
	struct task_room room;

	task_room_init(&room, loaded->prefix);
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
			task_room_add(&room, copy->tasks, copy->n_tasks);
		}
	}
	for (size_t i = 0; i < ret_effective->n; i++) {
		struct task_file *copy = &ret_effective->list[i];

		if (copy->refused)
			copy_last_good(find_file(previous, copy->name), copy, &room);
	}
	task_room_done(&room);
}
