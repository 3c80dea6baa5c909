#include "runner/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

/*
 * A file that was changed so recently may change again with the same timestamps. Until this time is
 * over it is read again, but at most every AGAIN_MS, and not for each of a thousand tasks.
 */
#define SETTLED_MS 2000
#define AGAIN_MS   50

/* A task of the user, or one that the sidecar has taken for one. */
struct tasks_entry {
	char *name, *file; /* file: NULL: no file says that it is the user's */
	char *why;	   /* why the task is refused; NULL: it is not */
};

struct tasks_file {
	char *path;
	struct stat is; /* the state of the file when it was read */
	bool settled;
	int64_t read_ms; /* CLOCK_BOOTTIME; 0: not read yet */
	struct task_config **tasks;
	size_t n;
};

/* --- the state of the folder ---------------------------------------------- */

static uint64_t mix(uint64_t sum, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ p[i]) * UINT64_C(1099511628211); /* FNV-1a */
	return sum;
}

/* Adds to the sum what differs between two states of a file. */
static uint64_t mix_file(uint64_t sum, int folder, const char *path)
{
	struct stat st;

	if (fstatat(folder, path, &st, 0) < 0)
		return mix(sum, &errno, sizeof(errno));
	sum = mix(sum, &st.st_dev, sizeof(st.st_dev));
	sum = mix(sum, &st.st_ino, sizeof(st.st_ino));
	sum = mix(sum, &st.st_size, sizeof(st.st_size));
	sum = mix(sum, &st.st_mtim, sizeof(st.st_mtim));
	return mix(sum, &st.st_ctim, sizeof(st.st_ctim));
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/*
 * A sum of the state of the configuration and all task files. The sums of the files are added, so
 * their order does not matter.
 */
static uint64_t look_of(const struct config *config, const char *config_file)
{
	uint64_t sum = mix_file(UINT64_C(14695981039346656037), AT_FDCWD, config_file);
	DIR *folder = config->task_dir ? opendir(config->task_dir) : NULL;
	const struct dirent *entry;

	if (!folder)
		return mix(sum, &errno, sizeof(errno));
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			sum += mix_file(mix(1, entry->d_name, strlen(entry->d_name)), dirfd(folder),
					entry->d_name);
	closedir(folder);
	return sum;
}

/* --- one file ------------------------------------------------------------- */

static void forget_tasks(struct tasks_file *f)
{
	taskfile_free(f->tasks, f->n);
	f->tasks = NULL;
	f->n = 0;
	f->settled = false;
	f->read_ms = 0;
}

static struct tasks_file *file_of(struct tasks *t, const char *path)
{
	for (size_t i = 0; i < t->n_files; i++)
		if (strcmp(t->files[i].path, path) == 0)
			return &t->files[i];
	t->files = mem_resize(t->files, t->n_files + 1, sizeof(*t->files));
	t->files[t->n_files] = (struct tasks_file){.path = mem_strdup(path)};
	return &t->files[t->n_files++];
}

/* Reads the file through the descriptor that was checked: by now another file may have its name. */
static int read_tasks(struct tasks_file *f, int fd, const struct stat *st,
		      char why[TRUSTED_WHY_SIZE])
{
	int64_t changed_ms =
		(int64_t)st->st_ctim.tv_sec * 1000 + (int64_t)st->st_ctim.tv_nsec / 1000000;
	struct problems problems;
	char path[40];
	int e;

	forget_tasks(f);
	problems_init(&problems);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	e = taskfile_load(path, f->path, &f->tasks, &f->n, &problems);
	if (e < 0 && problems.n > 0)
		snprintf(why, TRUSTED_WHY_SIZE, "%.100s:%d: %.250s", f->path, problems.list[0].line,
			 problems.list[0].message);
	else if (e < 0)
		snprintf(why, TRUSTED_WHY_SIZE, "%.100s: %s", f->path, strerror(-e));
	problems_done(&problems);
	if (e < 0) {
		forget_tasks(f);
		return e;
	}
	f->is = *st;
	f->settled = clock_wall_ms() - changed_ms > SETTLED_MS;
	f->read_ms = clock_boot_ms();
	return 0;
}

/* Reads the file again if it has changed. 0, or a negative errno and why it cannot be used. */
static int refresh(struct tasks *t, struct tasks_file *f, char why[TRUSTED_WHY_SIZE])
{
	const struct account *account = t->account;
	struct stat st;
	int fd = trusted_open(f->path, &st, why), e = access(account->home, X_OK) < 0 ? -errno : 0;

	if (fd < 0) {
		forget_tasks(f);
		return fd;
	}
	if (e < 0)
		snprintf(why, TRUSTED_WHY_SIZE, "the home folder of %.60s, %.200s: %s",
			 account->user, account->home, strerror(-e));
	else if (f->read_ms == 0 || !is_same(&f->is, &st) ||
		 (!f->settled && clock_boot_ms() - f->read_ms > AGAIN_MS)) {
		t->reads++;
		e = read_tasks(f, fd, &st, why);
	}
	close(fd);
	return e;
}

/* --- one task ------------------------------------------------------------- */

static bool is_ours(const struct tasks *t, const struct task_config *task)
{
	const char *user = task_config_user(task);

	return user && strcmp(user, t->account->user) == 0;
}

static const struct task_config *task_in(const struct tasks *t, const struct tasks_file *f,
					 const char *name, char why[TRUSTED_WHY_SIZE])
{
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->tasks[i]->name, name) == 0 && is_ours(t, f->tasks[i]))
			return f->tasks[i];
	snprintf(why, TRUSTED_WHY_SIZE, "%.200s does not say any more that %.60s runs it", f->path,
		 t->account->user);
	return NULL;
}

/* Sets why a task is refused. Returns whether that has changed. */
static bool set_why(struct tasks_entry *e, const char *why)
{
	if (e->why && why ? strcmp(e->why, why) == 0 : e->why == why)
		return false;
	free(e->why);
	e->why = why ? mem_strdup(why) : NULL;
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tasks_entry *)a)->name, ((const struct tasks_entry *)b)->name);
}

static struct tasks_entry *entry_of(const struct tasks *t, const char *name)
{
	const union {
		const char *in;
		char *out; /* the search only reads it */
	} text = {.in = name};
	const struct tasks_entry key = {.name = text.out};

	return t->n ? bsearch(&key, t->list, t->n, sizeof(*t->list), by_name) : NULL;
}

static void add(struct tasks *t, const char *name, const char *file, const char *why)
{
	t->list = mem_resize(t->list, t->n + 1, sizeof(*t->list));
	t->list[t->n++] = (struct tasks_entry){.name = mem_strdup(name),
					       .file = file ? mem_strdup(file) : NULL,
					       .why = why ? mem_strdup(why) : NULL};
}

static void free_entries(struct tasks_entry *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].name);
		free(list[i].file);
		free(list[i].why);
	}
	free(list);
}

/* --- all tasks ------------------------------------------------------------ */

static bool is_refused(const struct task_files *files, const char *path)
{
	for (size_t i = 0; i < files->n; i++)
		if (strcmp(files->list[i].path, path) == 0)
			return files->list[i].refused;
	return files->unreadable;
}

/*
 * Makes the list of the user's tasks. Of a bad file the sidecar keeps the last good state, so its
 * tasks are kept here as well.
 */
static void take_files(struct tasks *t, const struct task_files *files)
{
	struct tasks_entry *before = t->list;
	size_t n_before = t->n, n_now;

	t->list = NULL;
	t->n = 0;
	for (size_t i = 0; i < files->n; i++)
		for (size_t j = 0; j < files->list[i].n_tasks; j++)
			if (is_ours(t, files->list[i].tasks[j]))
				add(t, files->list[i].tasks[j]->name, files->list[i].path, NULL);
	n_now = t->n;
	for (size_t i = 0; i < n_before; i++)
		if (before[i].file && is_refused(files, before[i].file))
			add(t, before[i].name, before[i].file, before[i].why);
	if (t->n > 0)
		qsort(t->list, t->n, sizeof(*t->list), by_name);
	/* Tasks keep why they were refused, so that check_each() can tell whether that changes. */
	for (size_t i = 0; n_now > 0 && i < n_before; i++) {
		struct tasks_entry *now = entry_of(t, before[i].name);

		if (now && !now->why)
			set_why(now, before[i].why);
	}
	free_entries(before, n_before);
}

static bool any_refused(const struct tasks *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->list[i].why)
			return true;
	return false;
}

static void free_files(struct tasks *t)
{
	for (size_t i = 0; i < t->n_files; i++) {
		forget_tasks(&t->files[i]);
		free(t->files[i].path);
	}
	free(t->files);
	t->files = NULL;
	t->n_files = 0;
}

/* Reads the task folder if it has changed. Returns whether that has removed the last refusal. */
static bool read_folder(struct tasks *t)
{
	struct problems problems;
	struct config *config = NULL;
	struct task_files files;
	bool was_refused = any_refused(t);
	uint64_t look;

	problems_init(&problems);
	/* This user need not be allowed to read the version-file and the auth-file. */
	config_examine(t->config_file, &config, &problems);
	look = config ? look_of(config, t->config_file) : 0;
	if (config && (look != t->look || t->look == 0)) {
		taskdir_load(config, &files, &problems);
		take_files(t, &files);
		task_files_done(&files);
		free_files(t);
		t->look = look;
	}
	config_free(config);
	problems_done(&problems);
	return was_refused && !any_refused(t);
}

static bool check_each(struct tasks *t)
{
	bool changed = false;

	for (size_t i = 0; i < t->n; i++) {
		struct tasks_entry *e = &t->list[i];
		char why[TRUSTED_WHY_SIZE];
		struct tasks_file *f;

		if (!e->file)
			continue;
		f = file_of(t, e->file);
		if (refresh(t, f, why) == 0 && task_in(t, f, e->name, why))
			changed |= set_why(e, NULL);
		else
			changed |= set_why(e, why);
	}
	return changed;
}

bool tasks_look(struct tasks *t)
{
	bool mended = read_folder(t);

	return check_each(t) || mended;
}

const struct task_config *tasks_find(struct tasks *t, const char *name, char why[TRUSTED_WHY_SIZE])
{
	struct tasks_entry *e = entry_of(t, name);
	const struct task_config *found = NULL;

	if (!e || !e->file) {
		tasks_look(t);
		e = entry_of(t, name);
	}
	if (!e || !e->file) {
		snprintf(why, TRUSTED_WHY_SIZE, "no task file here says that %.60s runs it",
			 t->account->user);
	} else {
		struct tasks_file *f = file_of(t, e->file);

		if (refresh(t, f, why) == 0)
			found = task_in(t, f, name, why);
	}
	if (found)
		return found;
	if (!e) {
		add(t, name, NULL, why);
		qsort(t->list, t->n, sizeof(*t->list), by_name);
	} else {
		set_why(e, why);
	}
	return NULL;
}

bool tasks_refused(const struct tasks *t, size_t i, struct tasks_refusal *ret)
{
	for (size_t k = 0; k < t->n; k++) {
		const struct tasks_entry *e = &t->list[k];

		if (!e->why || i-- > 0)
			continue;
		*ret = (struct tasks_refusal){e->name, e->file ? e->file : "", e->why};
		return true;
	}
	return false;
}

void tasks_init(struct tasks *t, const char *config_file, const struct account *account)
{
	*t = (struct tasks){.config_file = config_file, .account = account};
}

void tasks_done(struct tasks *t)
{
	free_entries(t->list, t->n);
	free_files(t);
}
