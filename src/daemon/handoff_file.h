/*
 * What a sidecar keeps for the one that comes after it on this host: its session, so that a restart
 * moves nothing. The file lies beside the socket, whose lock sees to it that there is one sidecar.
 */
#ifndef ZKLEADER_DAEMON_HANDOFF_FILE_H
#define ZKLEADER_DAEMON_HANDOFF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/handoff.h"

#define HANDOFF_TEXT_MAX 1000	       /* bytes of what the session belongs to */
#define HANDOFF_JOBS_MAX (1024 * 1024) /* bytes of the list of runs */

struct kept {
	struct handoff handoff;
	int64_t asked_ms; /* the session timeout in the configuration */
	int64_t jobs;	  /* that were going when it ended; it is 1 where it was not asked to end */
	/* servers, root and identity: another's session is none of ours */
	char of[HANDOFF_TEXT_MAX + 1];
};

/*
 * Reads the file of the sidecar on that socket. 0, -ENOENT where there is none, or a negative errno
 * and in *ret_why a constant text why it is ignored: it is not ours alone, damaged, a copy, or of
 * before the boot; or the boot's id cannot be read.
 */
int handoff_file_read(const char *socket, struct kept *ret_kept, const char **ret_why);
/*
 * Puts this in its place, for our eyes alone. 0, or a negative errno and in *ret_why why not. The
 * lock of the socket is there.
 */
int handoff_file_write(const char *socket, const struct kept *kept, const char **ret_why);
/* The runs that are going on, for whoever comes after us. */
int handoff_file_write_runs(const char *socket, const struct handoff_run *runs, size_t n);
/*
 * 0 and the runs, freed by the caller, and whether all that was written was understood; -ENOENT
 * where there are none; or a negative errno.
 */
int handoff_file_read_runs(const char *socket, struct handoff_run **ret_runs, size_t *ret_n,
			   bool *ret_all);
/* The session is being closed: nobody is to take it over. */
void handoff_file_remove(const char *socket);

#endif
