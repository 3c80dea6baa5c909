/* Requests about queues that wait for the node, and their answers. */
#ifndef ZKLEADER_CONTROL_QUEUES_QUEUE_ASKS_H
#define ZKLEADER_CONTROL_QUEUES_QUEUE_ASKS_H

#include <stdbool.h>

#include "control/ask/methods.h"
#include "node/election/listing.h"
#include "node/queue/queues.h"

/* A waiting request. */
struct queue_ask {
	struct queue_ask *prev, *next;
	struct methods *methods;
	struct peer *client;	  /* NULL: it is gone */
	const struct peer *owner; /* of a job: once it is gone the node calls back no more; NULL */
	uint32_t msgid;
	size_t held;		   /* bytes that the node keeps for it */
	bool asks;		   /* it waits for ZooKeeper, and counts in peer.asking */
	bool outputs;		   /* the client may see the output of jobs */
	bool attaches;		   /* job_attach, and not job_begin */
	bool again;		   /* it is retried when the timer is due */
	int64_t attempt, until_ms; /* of the job to attach, and until when that is tried */
	const char *word;	   /* the key of the count in the answer */
	size_t left, done;	   /* of several jobs: outstanding, and done */
	struct job_id id;
	enum job_outcome outcome; /* of several jobs: the first failure */
	char *why;		  /* of the outcome */
	bool more;		  /* of all jobs of a queue: those behind `id` are left */
	struct buffer views;	  /* of queues, packed */
	size_t n_views;
	bool one; /* of one queue, and not of all */
	/* Makes the answer from the queues led here alone; NULL: the answer to `queue`. */
	void (*finish)(struct queue_ask *a);
};

/* asks: it counts in peer.asking; not for a submit, which has a bound of its own. */
struct queue_ask *queue_ask_new(const struct call *call, bool asks, size_t held);
/* After its answer. */
void queue_ask_free(struct queue_ask *a);
/* After its answer, if the node will still call back. */
void queue_ask_release(struct queue_ask *a);
void queue_asks_client_gone(struct methods *m, struct peer *c);
/* Answers with an error; if why is NULL, with the text of the outcome. */
void queue_ask_fail(const struct queue_ask *a, enum job_outcome outcome, const char *why);

/* The queue of that name; NULL after an error answer if it is not configured here. */
struct listing *queue_ask_find(const struct call *call, const char *name, size_t len);
/* The next parameter, likewise. */
struct listing *queue_ask_take(struct call *call);
/* The next parameter as the id of a job of a queue configured here; NULL after an error answer. */
struct listing *queue_ask_take_job(struct call *call, struct job_id *ret_id);
/* Whether it may see the output of jobs of the queue: submitters, and the user that runs them. */
bool queue_ask_may_read(const struct peer *c, const struct listing *l);

#endif
