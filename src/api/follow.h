/*
 * A lasting subscription: it is begun anew whenever the sidecar was away, and questions can be
 * asked on the same connection. Nothing here blocks: the caller's poll(2) or event loop waits for
 * follow_fd() and follow_due_ms(), and then takes the events one by one with follow_next().
 */
#ifndef ZKLEADER_API_FOLLOW_H
#define ZKLEADER_API_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/handle.h"
#include "base/buffer.h"

enum follow_kind {
	FOLLOW_NOTHING, /* for now: wait */
	FOLLOW_BEGUN,	/* the subscription was accepted: earlier changes are not reported */
	FOLLOW_NEWS,	/* a notification: message.method and .data */
	FOLLOW_ANSWER,	/* answer to the last follow_ask(): question and message.data */
	FOLLOW_REFUSED, /* subscription or question refused: message.code, zkleader_message() */
	FOLLOW_LOST	/* there is no connection: zkleader_message(). Tried again every second */
};

struct follow_event {
	enum follow_kind kind;
	int question; /* number of the question that is answered */
	bool again;   /* FOLLOW_LOST: that is known already */
	struct message message;
};

struct follow {
	struct zkleader *z;   /* borrowed, and used for nothing else meanwhile */
	const char *method;   /* subscribing method; borrowed */
	struct buffer params; /* params of the subscription */
	int question;	      /* the last one, if it is outstanding */
	uint32_t id;	      /* id of that request */
	bool broken;	      /* the last question could not be sent */
	bool away;	      /* there is no subscription, and the caller knows */
	int64_t retry_ms;     /* CLOCK_BOOTTIME: when to connect again */
};

/*
 * Subscribes with these params, one MessagePack array, before the deadline in ms of CLOCK_BOOTTIME:
 * 0, or an error of handle_send(), after which it retries as after a lost connection. The answer is
 * an event.
 */
int follow_begin(struct follow *f, struct zkleader *z, const struct buffer *params,
		 int64_t deadline);
/* The same by another method than subscribe that also leads to notifications. */
int follow_begin_by(struct follow *f, struct zkleader *z, const char *method,
		    const struct buffer *params, int64_t deadline);
void follow_done(struct follow *f);
/*
 * Asks a question; `question` is a number >= 0 of the caller's choice. One is outstanding at a
 * time: the answer to an earlier one is dropped. If it cannot be sent, FOLLOW_LOST is the next
 * event.
 */
void follow_ask(struct follow *f, int question, const char *method, const struct buffer *params,
		int64_t deadline);
/* Whether a question, or the subscription, is outstanding. */
bool follow_is_asking(const struct follow *f);
/* The next event, without waiting. Its data are valid until the next call. */
void follow_next(struct follow *f, struct follow_event *ret);
/* The descriptor to poll for reading; -1: there is no connection. */
int follow_fd(const struct follow *f);
/* When to call follow_next() even if nothing is readable; INT64_MAX: never. */
int64_t follow_due_ms(const struct follow *f);

#endif
