/*
 * Shared answers of the sidecar, for questions that cost ZooKeeper reads: requests within a short
 * time get the same answer, so a hundred open pages read a queue no more often than one.
 */
#ifndef ZKLEADER_WEB_SHARED_H
#define ZKLEADER_WEB_SHARED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <jansson.h>

#include "web/sidecar.h"

#define SHARED_KEPT_MAX 100   /* answers; one more is not kept */
#define SHARED_KEPT_MS	30000 /* for so long at most */

struct shared_entry;

struct shared {
	struct sidecar *sidecar;
	LIST_HEAD(shared_entry_list, shared_entry) entries; /* the newest first */
	size_t n_kept;
};

/* Another tag makes it another question. */
struct shared_question {
	struct sidecar_request request;
	int64_t tag;
	int64_t age_ms; /* an answer to a question that was asked so long ago will do */
};

/* Like sidecar_answer_fn; the answer is borrowed, and NULL if there is none. */
typedef void (*shared_fn)(void *arg, int code, const char *why, json_t *answer);

void shared_init(struct shared *s, struct sidecar *sidecar);
/* Called after sidecar_done(). */
void shared_done(struct shared *s);
/* A new reference to the newest answer that is there already, and its age; or NULL. */
json_t *shared_find(const struct shared *s, const struct shared_question *q, int64_t *ret_age_ms);
/* Asks like sidecar_ask(), or waits with those who have asked already. */
int shared_ask(struct shared *s, const struct shared_question *q, int64_t timeout_ms, shared_fn fn,
	       void *arg);
/* Drops old answers; called once in a while. */
void shared_look(struct shared *s, int64_t now_ms);

#endif
