/* Watches the task-dir and the version-file, and reports when one of them has changed. */
#ifndef ZKLEADER_DAEMON_FILES_H
#define ZKLEADER_DAEMON_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

struct file_identity { /* all zero: it is not there */
	dev_t device;
	ino_t inode;
	off_t size;
	int64_t changed_ns;
};

struct files {
	void (*tasks_changed)(void *arg);
	void (*version_changed)(void *arg);
	void *arg;
	char *task_dir;
	char *version_file; /* NULL: none */
	struct file_identity dir, version;
	uv_fs_event_t events; /* of the folder */
	uv_timer_t settle;    /* a file is often written in several steps */
	uv_timer_t poll;      /* notices what inotify cannot: a replaced folder, a symlinked file */
	int64_t first_event_ms;
	int64_t read_again_ms; /* while it cannot be watched: when to look again; 0: it could be */
	bool watching;
};

void files_init(struct files *f, uv_loop_t *loop, void (*tasks_changed)(void *arg),
		void (*version_changed)(void *arg), void *arg);
void files_done(struct files *f);
/* What to watch from now on; version_file may be NULL. The present state is not reported. */
void files_watch(struct files *f, const char *task_dir, const char *version_file);

#endif
