/*
 * Watches the task-dir and the version-file, and reports when one of them has changed. Both may lie
 * on a disk that does not answer, so the loop never touches their paths: a thread looks at each.
 */
#ifndef ZKLEADER_DAEMON_FILES_FILES_H
#define ZKLEADER_DAEMON_FILES_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

struct file_identity { /* all zero: it is not there */
	dev_t device;
	ino_t inode;
	off_t size;
	int64_t changed_ns;
	uint64_t links; /* of a folder: sum of the files to which its links lead; 0: it has none */
};

struct file_look;

/* A watched path: the task-dir or the version-file. */
struct watched_file {
	char *path; /* NULL: none */
	void (*changed)(void *arg);
	struct file_identity is;
	struct file_look *look; /* goes on; NULL: none */
};

struct files {
	void *arg;
	uv_loop_t *loop;
	struct watched_file dir, version;
	int error;	   /* why there is no inotify */
	int inotify;	   /* -1: there is none */
	int watch;	   /* of the folder, by inotify; -1: it is not watched */
	uv_poll_t events;  /* of the folder */
	uv_timer_t settle; /* a file is often written in several steps */
	uv_timer_t poll; /* notices what inotify cannot: a replaced folder, a file behind a link */
	int64_t first_event_ms;
	int64_t read_again_ms; /* while it cannot be watched: when to look again; 0: it could be */
	bool rewatch;	       /* the folder may be another one, and is to be watched anew */
};

void files_init(struct files *f, uv_loop_t *loop, void (*tasks_changed)(void *arg),
		void (*version_changed)(void *arg), void *arg);
void files_done(struct files *f);
/*
 * Sets the paths to watch; version_file may be NULL. files_begin() is for the start of the sidecar:
 * it looks in the calling thread, and does not report the present state. files_watch() reports it
 * once a thread has looked.
 */
void files_begin(struct files *f, const char *task_dir, const char *version_file);
void files_watch(struct files *f, const char *task_dir, const char *version_file);

#endif
