/*
 * Sends what is spooled: each message by itself, again and again with growing pauses, for a day.
 * One channel that fails does not hold up others.
 */
#ifndef ZKLEADER_NOTIFY_SENDS_H
#define ZKLEADER_NOTIFY_SENDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "notify/channels.h"
#include "notify/http.h"
#include "notify/spool.h"

#define SENDS_AT_ONCE	 20 /* messages */
#define SENDS_OF_CHANNEL 4  /* messages of one channel */
#define SENDS_RETRY_MS	 1000
#define SENDS_RETRY_MAX	 (10 * 60 * 1000)
#define SENDS_DAY_MS	 (INT64_C(24) * 3600 * 1000)
#define SENDS_COMMAND_MS 30000 /* time that a command may take */
#define SENDS_SAY_MS	 60000 /* between log lines about one channel */
#define SENDS_TROUBLED	 4     /* tries that failed: it is a problem */

struct send;

struct sends {
	struct spool *spool;
	struct http *http;
	const struct channels *channels;
	const sigset_t *mask;		 /* for commands */
	LIST_HEAD(send_list, send) list; /* outstanding */
	size_t n;
	char said[SPOOL_CHANNEL_SIZE]; /* channel that was logged last, and when */
	int64_t said_ms;
};

void sends_init(struct sends *s, struct spool *spool, struct http *http,
		const struct channels *channels, const sigset_t *mask);
/* Cancels the outstanding attempts. The next process sends these messages again. */
void sends_done(struct sends *s);
/*
 * Goes on with all messages. Returns when to be called again though nothing came, CLOCK_BOOTTIME.
 */
int64_t sends_advance(struct sends *s);
/* To be called when children have ended. */
void sends_reap(struct sends *s);
/* Describes the failure of the i-th channel with messages that fail; false: there is none. */
bool sends_problem(const struct sends *s, size_t i, const char **ret_channel, size_t *ret_n,
		   const char **ret_why);

#endif
