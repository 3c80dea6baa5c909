#include "daemon/files/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "daemon/machine/offload.h"

#define SETTLE_MS     100 /* time without an event before the files are read */
#define SETTLE_MAX_MS 500 /* the longest such wait, even if events go on */
#define POLL_MS	      500
#define UNWATCHED_MS  10000 /* between two reads of a folder that cannot be watched */
#define EVENTS_SIZE   4096

#define EVENTS                                                                           \
	(IN_ATTRIB | IN_CREATE | IN_MODIFY | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | \
	 IN_MOVED_FROM | IN_MOVED_TO)

/* A look at a path, in a thread of its own, which uses nothing but this. */
struct file_look {
	struct files *files;
	struct watched_file *file; /* NULL: its result is not wanted any more */
	char *path;
	bool links;
	int inotify, watch; /* the folder is to be watched by that, in place of that; -1: not */
	struct file_identity is;
	int error; /* of watching */
};

static struct file_identity identity_of(const struct stat *s)
{
	return (struct file_identity){
		.device = s->st_dev,
		.inode = s->st_ino,
		.size = S_ISDIR(s->st_mode) ? 0 : s->st_size,
		/*
		 * Changes in a folder are noticed by inotify, which also waits until they have
		 * settled.
		 */
		.changed_ns = S_ISDIR(s->st_mode) ? 0
						  : (int64_t)s->st_mtim.tv_sec * 1000000000 +
							    s->st_mtim.tv_nsec,
	};
}

static struct file_identity identify(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? identity_of(&st) : (struct file_identity){0};
}

/* Files to which the links of a folder lead: nobody watches them. */
static uint64_t identify_links(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	uint64_t sum = 0;

	while (dir && (e = readdir(dir))) {
		struct file_identity is = {0};
		struct stat st;

		if (e->d_type != DT_LNK && e->d_type != DT_UNKNOWN)
			continue;
		if (fstatat(dirfd(dir), e->d_name, &st, 0) == 0)
			is = identity_of(&st);
		sum += hash_bytes(&is, sizeof(is), hash_bytes(e->d_name, strlen(e->d_name), 0));
	}
	if (dir)
		closedir(dir);
	return sum;
}

static bool same(const struct file_identity *a, const struct file_identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->changed_ns == b->changed_ns && a->links == b->links;
}

/* --- in the thread ------------------------------------------------------------ */

/*
 * The folder may have been replaced by another one with the same inode number, which stat(2) cannot
 * tell. So it is watched anew after each change, before it is read.
 */
static void work(void *arg)
{
	struct file_look *l = arg;

	l->is = identify(l->path);
	if (l->links)
		l->is.links = identify_links(l->path);
	if (l->inotify < 0)
		return;
	if (l->watch >= 0)
		inotify_rm_watch(l->inotify, l->watch);
	l->watch = inotify_add_watch(l->inotify, l->path, EVENTS);
	l->error = l->watch < 0 ? errno : 0;
}

/* --- on the loop -------------------------------------------------------------- */

static void take_watch(struct files *f, const struct file_look *l)
{
	f->watch = l->watch;
	if (l->watch >= 0 || l->error == ENOENT)
		return;
	/* The usual reason is the limit fs.inotify.max_user_instances. */
	if (f->read_again_ms == 0)
		log_warning("the task-dir cannot be watched, and is read now and then",
			    LOG_STR("task-dir", l->path), LOG_STR("why", strerror(l->error)),
			    LOG_INT("every_ms", UNWATCHED_MS));
	f->read_again_ms = clock_boot_ms() + UNWATCHED_MS;
}

static struct file_look *look_new(struct files *f, struct watched_file *file)
{
	struct file_look *l = mem_calloc(1, sizeof(*l));
	bool watch = file == &f->dir && f->rewatch;

	l->files = f;
	l->file = file;
	l->path = mem_strdup(file->path);
	l->links = watch || file->is.links != 0; /* a new link is a change of the folder */
	l->inotify = watch ? f->inotify : -1;
	l->watch = watch ? f->watch : -1;
	l->error = f->error;
	return l;
}

static void look_free(struct file_look *l)
{
	free(l->path);
	free(l);
}

/* Takes what was seen. Returns whether the file is another than before, or was watched anew. */
static bool take(struct files *f, const struct file_look *l, struct watched_file *file)
{
	bool changed = !same(&l->is, &file->is);

	file->is = l->is;
	if (file != &f->dir)
		return changed;
	if (l->inotify >= 0 || (f->inotify < 0 && f->rewatch)) {
		changed |= f->rewatch;
		f->rewatch = false;
		take_watch(f, l);
	} else if (changed) {
		f->rewatch = true; /* before it is read */
	}
	return changed && !f->rewatch;
}

static void look(struct files *f, struct watched_file *file);

static void on_looked(void *arg)
{
	struct file_look *l = arg;
	struct files *f = l->files;
	struct watched_file *file = l->file;
	bool changed;

	if (file)
		file->look = NULL;
	if (file && !uv_is_closing((uv_handle_t *)&f->poll)) {
		changed = take(f, l, file);
		if (file == &f->dir && f->rewatch)
			look(f, file);
		if (changed)
			file->changed(f->arg);
	}
	look_free(l);
}

/* A look that goes on may take for ever; then there is no other. */
static void look(struct files *f, struct watched_file *file)
{
	if (!file->path || file->look)
		return;
	file->look = look_new(f, file);
	if (offload(f->loop, work, on_looked, file->look) == 0)
		return;
	look_free(file->look); /* no thread could be started: the next poll tries again */
	file->look = NULL;
}

static void look_anew(struct files *f)
{
	f->rewatch = true;
	look(f, &f->dir);
}

static void on_settled(uv_timer_t *timer)
{
	struct files *f = timer->data;

	f->first_event_ms = 0;
	look_anew(f);
}

/* Whether something has happened. That a watch was taken away is no change of the folder. */
static bool read_events(const struct files *f)
{
	char data[EVENTS_SIZE];
	bool any = false;
	ssize_t n;

	while ((n = read(f->inotify, data, sizeof(data))) > 0) {
		struct inotify_event event;

		for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(event) + event.len)) {
			memcpy(&event, data + at, sizeof(event));
			any |= (event.mask & IN_IGNORED) == 0;
		}
	}
	return any;
}

static void on_event(uv_poll_t *events, int status, int what)
{
	struct files *f = events->data;
	int64_t now = clock_boot_ms();

	(void)status, (void)what;
	if (!read_events(f))
		return;
	if (f->first_event_ms == 0)
		f->first_event_ms = now;
	if (!uv_is_active((uv_handle_t *)&f->settle) || now - f->first_event_ms < SETTLE_MAX_MS)
		uv_timer_start(&f->settle, on_settled, SETTLE_MS, 0);
}

static void on_poll(uv_timer_t *timer)
{
	struct files *f = timer->data;

	if (f->watch < 0 && f->dir.is.inode != 0 && clock_boot_ms() >= f->read_again_ms)
		f->rewatch = true;
	look(f, &f->dir);
	look(f, &f->version);
}

void files_init(struct files *f, uv_loop_t *loop, void (*tasks_changed)(void *arg),
		void (*version_changed)(void *arg), void *arg)
{
	*f = (struct files){.arg = arg, .loop = loop, .watch = -1};
	f->dir.changed = tasks_changed;
	f->version.changed = version_changed;
	uv_timer_init(loop, &f->settle);
	uv_timer_init(loop, &f->poll);
	f->events.data = f;
	f->settle.data = f;
	f->poll.data = f;
	f->inotify = fd_private(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
	f->error = f->inotify < 0 ? errno : 0;
	if (f->inotify < 0)
		return;
	uv_poll_init(loop, &f->events, f->inotify);
	uv_poll_start(&f->events, UV_READABLE, on_event);
}

static void forget(struct watched_file *file)
{
	if (file->look)
		file->look->file = NULL;
	file->look = NULL;
	free(file->path);
	file->path = NULL;
}

void files_done(struct files *f)
{
	forget(&f->dir);
	forget(&f->version);
	if (f->inotify >= 0)
		close(f->inotify);
	f->inotify = -1;
}

static void set_paths(struct files *f, const char *task_dir, const char *version_file)
{
	forget(&f->dir);
	forget(&f->version);
	f->dir.path = mem_strdup(task_dir);
	f->version.path = version_file ? mem_strdup(version_file) : NULL;
	f->rewatch = true;
	uv_timer_start(&f->poll, on_poll, POLL_MS, POLL_MS);
}

void files_begin(struct files *f, const char *task_dir, const char *version_file)
{
	set_paths(f, task_dir, version_file);
	for (int i = 0; i < 2; i++) {
		struct watched_file *file = i == 0 ? &f->dir : &f->version;
		struct file_look *l = file->path ? look_new(f, file) : NULL;

		if (!l)
			continue;
		work(l);
		(void)take(f, l, file);
		look_free(l);
	}
}

void files_watch(struct files *f, const char *task_dir, const char *version_file)
{
	set_paths(f, task_dir, version_file);
	/*
	 * Both files are reported as changed: they may have changed between their reading and this.
	 */
	f->dir.is = f->version.is = (struct file_identity){0};
	look(f, &f->dir);
	look(f, &f->version);
}
