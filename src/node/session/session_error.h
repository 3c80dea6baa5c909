/* The last word of a server, or why it said nothing, while there is no session. */
#ifndef ZKLEADER_NODE_SESSION_SESSION_ERROR_H
#define ZKLEADER_NODE_SESSION_SESSION_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include "node/host.h"

struct session_error {
	char server[128];  /* "": not known */
	char message[320]; /* with the remedy; "": nothing is known */
	int64_t time;	   /* wall clock */
	int64_t first_ms;  /* CLOCK_BOOTTIME: since when there is trouble; 0: there is none */
	int64_t told_ms;   /* CLOCK_BOOTTIME: logged last; 0: never */
};

/* Logged once a minute, and not where it was over at once. */
void session_error_set(struct session_error *e, struct host *host, const char *server,
		       const char *message);
/* Logs that authentication was refused, once a minute likewise, but at once. */
void session_error_refused(struct session_error *e, struct host *host, int64_t retry_ms);
/* There is a session. */
void session_error_clear(struct session_error *e);

#endif
