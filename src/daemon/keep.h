/*
 * What a sidecar keeps for the one that comes after it on this host: its session, so that a restart
 * moves nothing. The file lies beside the socket, whose lock sees to it that there is one sidecar.
 */
#ifndef ZKLEADER_DAEMON_KEEP_H
#define ZKLEADER_DAEMON_KEEP_H

#include <stddef.h>
#include <stdint.h>

#include "base/worker.h"
#include "node/store.h"

#define KEEP_TEXT_MAX 1000	    /* bytes of what the session belongs to */
#define KEEP_JOBS_MAX (1024 * 1024) /* bytes of the list of runs */

struct kept {
	int64_t session;
	int64_t session_since; /* wall clock: when it began; 0: not known */
	uint8_t password[STORE_PASSWORD_SIZE];
	int64_t asked_ms; /* the session timeout in the configuration */
	char worker[NAME_ID_MAX + 1];
	int32_t random_ints[WORKER_RANDOM_INTS];
	int64_t started_at;
	int64_t timeout_ms; /* negotiated */
	int64_t jobs; /* that were going when it ended; it is 1 where it was not asked to end */
	char of[KEEP_TEXT_MAX +
		1]; /* servers, root and identity: another's session is none of ours */
};

/*
 * Reads the file of the sidecar on that socket. 0, -ENOENT where there is none, or a negative errno and
 * in *ret_why a constant text why it is ignored: it is not ours alone, damaged, or of before the boot.
 */
int keep_read(const char *socket, struct kept *ret_kept, const char **ret_why);
/* Puts this in its place, for our eyes alone. 0 or a negative errno. */
int keep_write(const char *socket, const struct kept *kept);
/* The runs that are going on, for whoever comes after us: a line for each, "TASK TICK ID", TICK "-" if none. */
int keep_jobs_write(const char *socket, const void *lines, size_t len);
/* 0 and the lines, ended by a NUL and freed by the caller; -ENOENT where there are none; or a negative errno. */
int keep_jobs_read(const char *socket, char **ret_lines);
/* The session is being closed: nobody is to take it over. */
void keep_remove(const char *socket);

#endif
