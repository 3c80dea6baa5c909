/* Requests about queues that wait for the node, and what is said of how they went. */
#ifndef ZKLEADER_CONTROL_QUEUE_ASKS_H
#define ZKLEADER_CONTROL_QUEUE_ASKS_H

#include <stdbool.h>

#include "control/methods.h"
#include "node/listing.h"
#include "node/queues.h"

/* One that waits. */
struct queue_ask {
	struct queue_ask *prev, *next;
	struct methods *methods;
	struct peer *client;	  /* NULL: gone */
	const struct peer *owner; /* of a job: when it has gone the node calls back no more; NULL */
	uint32_t msgid;
	size_t held;		   /* bytes that the node keeps for it */
	bool asks;		   /* it waits for ZooKeeper alone, and counts as such */
	bool outputs;		   /* who asks may see what jobs wrote */
	bool attaches;		   /* job_attach, and not job_begin */
	bool again;		   /* it is tried again when the timer is due */
	int64_t attempt, until_ms; /* of what is attached, and until when that is tried */
	const char *word;	   /* of what is counted in the answer */
	size_t left, done;	   /* of several jobs: that are on their way, and that were done */
	struct job_id id;
	enum job_outcome outcome; /* the worst of several */
	char *why;		  /* of that */
	struct buffer views;	  /* of queues, packed */
	size_t n_views;
	bool one; /* of one queue, and not of all */
	/* Of those that are led here alone, for this answer; NULL: for `queue`. */
	void (*finish)(struct queue_ask *a);
};

/* asks: it counts as one that waits for ZooKeeper; a submit does not, which is bounded itself. */
struct queue_ask *queue_ask_new(const struct call *call, bool asks, size_t held);
/* Behind its answer. */
void queue_ask_free(struct queue_ask *a);
/* Behind its answer, where the node is still to call back. */
void queue_ask_release(struct queue_ask *a);
void queue_asks_client_gone(struct methods *m, struct peer *c);
/* Answers with an error what is not done; the text of the outcome where why is NULL. */
void queue_ask_fail(const struct queue_ask *a, enum job_outcome outcome, const char *why);

/* The queue of that name; tells what is so where there is none here: NULL. */
struct listing *queue_ask_find(const struct call *call, const char *name, size_t len);
/* The next parameter, likewise. */
struct listing *queue_ask_take(struct call *call);
/* The next parameter as the id of a job of a queue that is here; else tells: NULL. */
struct listing *queue_ask_take_job(struct call *call, struct job_id *ret_id);
/* Whether it may see what jobs of the queue wrote: who may submit, and who does them. */
bool queue_ask_may_read(const struct peer *c, const struct listing *l);

#endif
