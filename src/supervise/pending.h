/*
 * A request that may wait for hours for its answer, such as a claim or a lock. Meanwhile pings
 * check the sidecar, and after its restart the request is sent again with the same id.
 */
#ifndef ZKLEADER_SUPERVISE_PENDING_H
#define ZKLEADER_SUPERVISE_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/call.h"
#include "supervise/signals.h"
#include "wire/reader.h"

#define PENDING_ID_SIZE	    33	  /* size of an id in hexadecimal, with its NUL */
#define PENDING_PATIENCE_MS 10000 /* for a sidecar that is being restarted */

struct pending {
	struct zkleader *z;
	const struct signals *signals;
	int64_t patience_ms; /* for a sidecar that is being started, from the first request on */
	bool for_ever;	     /* or from each loss of the connection on */
	/* Sends the request; p->sent: it was sent before, to a sidecar that is gone. */
	int (*send)(const struct pending *p, uint32_t *ret_id);
	/* Sends a question that is answered at once. */
	int (*ping)(const struct pending *p, uint32_t *ret_id);
	/* Takes the answer to what was sent at sent_ms, CLOCK_BOOTTIME: 0 or -EBADMSG. */
	int (*take)(const struct pending *p, struct reader result, int64_t sent_ms);
	/*
	 * Handles a signal during the wait; false: stop waiting. NULL: signals have their usual
	 * effect.
	 */
	bool (*on_signal)(const struct pending *p, int sig);
	size_t answer_max; /* bytes of the answer; 0: HANDLE_ANSWER_MAX */
	void *arg;	   /* for these functions */
	char id[PENDING_ID_SIZE];
	/* private to pending.c: */
	bool sent;
	uint32_t ping_id; /* id of the outstanding ping; 0: none */
	int64_t heard_ms; /* when the sidecar last answered or was pinged */
};

/* Draws an id, and waits for the answer: 0 and take() has accepted it, or how it failed. */
int pending_wait(struct pending *p);

/* For send: sends it; within CONTEXT_TIMEOUT_MS, as handle_send(). */
int pending_send(const struct pending *p, const char *method, struct request *request,
		 uint32_t *ret_id);
/* For ping: a question that the sidecar answers by itself. */
int pending_ask_at_once(const struct pending *p, uint32_t *ret_id);

#endif
