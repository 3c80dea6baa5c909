#include "daemon/files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define SETTLE_MS     100 /* time without an event before the files are read */
#define SETTLE_MAX_MS 500 /* the longest such wait, even if events go on */
#define POLL_MS	      500
#define UNWATCHED_MS  10000 /* between two reads of a folder that cannot be watched */

static struct file_identity identify(const char *path)
{
	struct stat st;

	if (!path || stat(path, &st) != 0)
		return (struct file_identity){0};
	return (struct file_identity){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = S_ISDIR(st.st_mode) ? 0 : st.st_size,
		/*
		 * Changes in a folder are noticed by inotify, which also waits until they have
		 * settled.
		 */
		.changed_ns = S_ISDIR(st.st_mode) ? 0
						  : (int64_t)st.st_mtim.tv_sec * 1000000000 +
							    st.st_mtim.tv_nsec,
	};
}

static bool same(const struct file_identity *a, const struct file_identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}

static void on_settled(uv_timer_t *timer);

static void on_event(uv_fs_event_t *events, const char *name, int what, int status)
{
	struct files *f = events->data;
	int64_t now = clock_boot_ms();

	(void)name, (void)what, (void)status;
	if (f->first_event_ms == 0)
		f->first_event_ms = now;
	if (!uv_is_active((uv_handle_t *)&f->settle) || now - f->first_event_ms < SETTLE_MAX_MS)
		uv_timer_start(&f->settle, on_settled, SETTLE_MS, 0);
}

static void watch_dir(struct files *f)
{
	if (f->watching)
		uv_fs_event_stop(&f->events);
	int error = uv_fs_event_start(&f->events, on_event, f->task_dir, 0);
	f->watching = error == 0;
	if (f->watching || error == UV_ENOENT)
		return;
	/* The usual reason is the limit fs.inotify.max_user_instances. */
	if (f->read_again_ms == 0)
		log_warning("the task-dir cannot be watched, and is read now and then",
			    LOG_STR("task-dir", f->task_dir), LOG_STR("why", uv_strerror(error)),
			    LOG_INT("every_ms", UNWATCHED_MS));
	f->read_again_ms = clock_boot_ms() + UNWATCHED_MS;
}

/*
 * The folder may have been replaced by another one with the same inode number, which stat(2) cannot
 * tell. So it is watched anew after each change, before it is read.
 */
static void on_settled(uv_timer_t *timer)
{
	struct files *f = timer->data;

	f->first_event_ms = 0;
	f->dir = identify(f->task_dir);
	watch_dir(f);
	f->tasks_changed(f->arg);
}

static void on_poll(uv_timer_t *timer)
{
	struct files *f = timer->data;
	struct file_identity dir = identify(f->task_dir), version = identify(f->version_file);

	bool again = !f->watching && dir.inode != 0 && clock_boot_ms() >= f->read_again_ms;

	if (!same(&dir, &f->dir) || again) {
		f->dir = dir;
		watch_dir(f);
		f->tasks_changed(f->arg);
	}
	if (!same(&version, &f->version)) {
		f->version = version;
		f->version_changed(f->arg);
	}
}

void files_init(struct files *f, uv_loop_t *loop, void (*tasks_changed)(void *arg),
		void (*version_changed)(void *arg), void *arg)
{
	memset(f, 0, sizeof(*f));
	f->tasks_changed = tasks_changed;
	f->version_changed = version_changed;
	f->arg = arg;
	uv_fs_event_init(loop, &f->events);
	uv_timer_init(loop, &f->settle);
	uv_timer_init(loop, &f->poll);
	f->events.data = f;
	f->settle.data = f;
	f->poll.data = f;
}

void files_done(struct files *f)
{
	free(f->task_dir);
	free(f->version_file);
}

void files_watch(struct files *f, const char *task_dir, const char *version_file)
{
	files_done(f);
	f->task_dir = mem_strdup(task_dir);
	f->version_file = version_file ? mem_strdup(version_file) : NULL;
	f->dir = identify(f->task_dir);
	f->version = identify(f->version_file);
	watch_dir(f);
	uv_timer_start(&f->poll, on_poll, POLL_MS, POLL_MS);
}
