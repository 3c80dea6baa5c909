/*
 * The handoff file of a sidecar: its session, for the next sidecar on this host, so that a restart
 * moves no task. The file lies beside the socket, whose lock ensures that there is one sidecar.
 */
#ifndef ZKLEADER_DAEMON_FILES_HANDOFF_FILE_H
#define ZKLEADER_DAEMON_FILES_HANDOFF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/session/handoff.h"

#define HANDOFF_TEXT_MAX 1000	       /* bytes of what the session belongs to */
#define HANDOFF_JOBS_MAX (1024 * 1024) /* bytes of the list of runs */

struct kept {
	struct handoff handoff;
	int64_t asked_ms; /* the session timeout in the configuration */
	int64_t jobs;	  /* running jobs at its end; 1 if it was not asked to end */
	/* servers, root and identity, which have to be ours */
	char of[HANDOFF_TEXT_MAX + 1];
};

/* The path of the session's file, for the caller to free. */
char *handoff_file_session(const char *socket);
/*
 * Reads the file of the sidecar on that socket. 0, -ENOENT if there is none, or a negative errno
 * and in *ret_why a constant text why it is ignored: others have access to it, it is damaged, a
 * copy, or older than the boot, or the boot's id cannot be read.
 */
int handoff_file_read(const char *socket, struct kept *ret_kept, const char **ret_why);
/*
 * Replaces the file, readable by us alone. 0, or a negative errno and in *ret_why why not. The
 * caller holds the lock of the socket.
 */
int handoff_file_write(const char *socket, const struct kept *kept, const char **ret_why);
/* Writes the runs that go on, for the next sidecar. */
int handoff_file_write_runs(const char *socket, const struct handoff_run *runs, size_t n);
/*
 * Reads the runs. 0 and the runs, which the caller frees, and whether the whole file was
 * understood; -ENOENT if there are none; or a negative errno.
 */
int handoff_file_read_runs(const char *socket, struct handoff_run **ret_runs, size_t *ret_n,
			   bool *ret_all);
/* The session is being closed: nobody is to take it over. */
void handoff_file_remove(const char *socket);

#endif
