/* Requests about queues that wait for the node, and their answers. */
#ifndef ZKLEADER_CONTROL_QUEUES_QUEUE_ASKS_H
#define ZKLEADER_CONTROL_QUEUES_QUEUE_ASKS_H

#include <stdbool.h>

#include "control/ask/methods.h"
#include "node/election/listing.h"
#include "node/queue/queues.h"

/* A waiting request. */
struct queue_ask {
	struct ask ask;
	bool outputs;	   /* the client may see the output of jobs */
	bool attaches;	   /* job_attach; false: job_begin */
	int64_t attempt;   /* attempt of the job to attach */
	int64_t until_ms;  /* attaching is tried until then */
	const char *word;  /* the key of the count in the answer */
	size_t left, done; /* requests about several jobs: outstanding, and done */
	struct job_id id;
	enum job_outcome outcome; /* requests about several jobs: the first failure */
	char *why;		  /* text of the outcome */
	bool more;		  /* requests about all jobs: those behind `id` are left */
	struct buffer views;	  /* packed views of queues */
	size_t n_views;
	bool one; /* answers for a single queue */
	/* Packs the answer from the queues led here alone; NULL: the answer to `queue`. */
	void (*finish)(struct queue_ask *a, struct pack *p);
};

/* The request waits for ZooKeeper, and is answered even if its client has gone. */
extern const struct ask_kind queue_ask_kind;
/* For other kinds of struct queue_ask. */
void queue_ask_done(struct ask *ask);

/* Ends the request with an error; why: NULL: the text of the outcome. */
void queue_ask_fail(struct queue_ask *a, enum job_outcome outcome, const char *why);
/* Answers that ZooKeeper could not be read. */
void queue_ask_no_session(struct queue_ask *a);

/* The queue of that name; NULL after an error answer if it is not configured here. */
struct listing *queue_ask_find(const struct call *call, const char *name, size_t len);
/* The next parameter, likewise. */
struct listing *queue_ask_take(struct call *call);
/* The next parameter as the id of a job of a queue configured here; NULL after an error answer. */
struct listing *queue_ask_take_job(struct call *call, struct job_id *ret_id);
/* Whether the peer may see outputs of the queue's jobs: submitters, and the user that runs them. */
bool queue_ask_may_read(const struct peer *c, const struct listing *l);

#endif
