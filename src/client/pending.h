/*
 * A request that may wait for hours before it is answered, as a claim or a lock does: the sidecar
 * is checked meanwhile, and asked again with the same id where it has been started anew.
 */
#ifndef ZKLEADER_CLIENT_PENDING_H
#define ZKLEADER_CLIENT_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/signals.h"
#include "wire/reader.h"

#define PENDING_ID_SIZE	    33	  /* of an id in hexadecimal, with its NUL */
#define PENDING_PATIENCE_MS 10000 /* for a sidecar that is being started again */

struct pending {
	struct zkleader *z;
	const struct signals *signals;
	int64_t patience_ms; /* for one that is being started, from the first request on */
	bool for_ever;	     /* or, each time, from when one was lost */
	/* Sends the request; p->sent says whether one has been, to a sidecar that went. */
	int (*send)(const struct pending *p, uint32_t *ret_id);
	/* Sends a question that is answered at once. */
	int (*ping)(const struct pending *p, uint32_t *ret_id);
	/* Takes the answer to what was sent at sent_ms, CLOCK_BOOTTIME: 0 or -EBADMSG. */
	int (*take)(const struct pending *p, struct reader result, int64_t sent_ms);
	/* What is done with a signal meanwhile, false: wait no more; NULL: its usual effect. */
	bool (*on_signal)(const struct pending *p, int sig);
	size_t answer_max; /* bytes of the answer; 0: HANDLE_ANSWER_MAX */
	void *arg;	   /* for these */
	char id[PENDING_ID_SIZE];
	/* pending.c's: */
	bool sent;
	uint32_t ping_id; /* 0: none is on its way */
	int64_t heard_ms; /* when the sidecar said something or was asked whether it is there */
};

/* Draws an id, and waits until the request is answered: 0 and it was taken, or how it failed. */
int pending_wait(struct pending *p);

/* For ping: needs nothing but the sidecar. */
int pending_ask_at_once(const struct pending *p, uint32_t *ret_id);

#endif
