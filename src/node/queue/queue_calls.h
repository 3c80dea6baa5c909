/*
 * Requests of job queues to ZooKeeper. Their number is limited, so that an urgent request never
 * waits behind many of them; a requester can drop its requests.
 */
#ifndef ZKLEADER_NODE_QUEUE_QUEUE_CALLS_H
#define ZKLEADER_NODE_QUEUE_QUEUE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "node/session/watches.h"

#define QUEUE_CALLS_MAX	   100 /* outstanding requests of all queues */
#define QUEUE_CALLS_PEOPLE 70  /* outstanding requests at which no client request is begun */

struct notice_record;
struct registry;
struct session;
struct queue_call;

struct queue_calls {
	struct session *session;
	LIST_HEAD(queue_call_list, queue_call) list;
	size_t n;
	void (*landed)(void *arg); /* called after each answer */
	void *arg;
};

void queue_calls_init(struct queue_calls *c, struct session *session, void (*landed)(void *arg),
		      void *arg);
/* Drops all answers from now on. */
void queue_calls_done(struct queue_calls *c);
/* Drops the answers to all requests with this arg. */
void queue_calls_forget(struct queue_calls *c, const void *arg);

/* As store_…() */
void queue_get(struct queue_calls *c, const char *path, store_reply_fn fn, void *arg);
void queue_exists(struct queue_calls *c, const char *path, store_reply_fn fn, void *arg);
void queue_children(struct queue_calls *c, const char *path, store_reply_fn fn, void *arg);
void queue_create(struct queue_calls *c, const char *path, store_reply_fn fn, void *arg);
void queue_multi(struct queue_calls *c, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg);
/* As watches_…(); the owner is arg. */
void queue_watch(struct queue_calls *c, const char *path, enum watch_class class, store_reply_fn fn,
		 void *arg);
void queue_watch_children(struct queue_calls *c, const char *path, enum watch_class class,
			  store_reply_fn fn, void *arg);
void queue_unwatch(struct queue_calls *c, const char *path, enum watch_kind kind, const void *arg);
/* Adds a notice of the event, as notices_multi(); NULL: none. */
void queue_multi_noting(struct queue_calls *c, const struct registry *r, const struct store_op *ops,
			size_t n, const struct notice_record *event, store_reply_fn fn, void *arg);

#endif
