/*
 * Requests to ZooKeeper that queues of jobs make: counted, so that what is urgent never waits
 * behind many of them, and each can be forgotten by who has asked.
 */
#ifndef ZKLEADER_NODE_QUEUE_CALLS_H
#define ZKLEADER_NODE_QUEUE_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "node/store.h"

#define QUEUE_CALLS_MAX	   100 /* on their way, of all queues */
#define QUEUE_CALLS_PEOPLE 70  /* more of what people ask is not begun */

struct notice_record;
struct registry;
struct session;
struct queue_call;

struct queue_calls {
	struct session *session;
	struct queue_call *list;
	size_t n;
	void (*landed)(void *arg); /* behind each answer */
	void *arg;
};

void queue_calls_init(struct queue_calls *c, struct session *session, void (*landed)(void *arg),
		      void *arg);
/* No answer is told any more. */
void queue_calls_done(struct queue_calls *c);
/* Nothing that was asked for with this arg is told any more. */
void queue_calls_forget(struct queue_calls *c, const void *arg);
/* How many of theirs are on their way. */
size_t queue_calls_of(const struct queue_calls *c, const void *arg);

/* As store_…() */
void queue_get(struct queue_calls *c, const char *path, bool watch, store_reply_fn fn, void *arg);
void queue_exists(struct queue_calls *c, const char *path, store_reply_fn fn, void *arg);
void queue_children(struct queue_calls *c, const char *path, bool watch, store_reply_fn fn,
		    void *arg);
void queue_create(struct queue_calls *c, const char *path, store_reply_fn fn, void *arg);
void queue_multi(struct queue_calls *c, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg);
/* With a note of the event, NULL: as notices_multi(). */
void queue_multi_noting(struct queue_calls *c, const struct registry *r, const struct store_op *ops,
			size_t n, const struct notice_record *event, store_reply_fn fn, void *arg);

#endif
