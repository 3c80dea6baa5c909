/* The method `claim`: asking for a tick, and the answer. */
#ifndef ZKLEADER_CLIENT_CLAIM_H
#define ZKLEADER_CLIENT_CLAIM_H

#include <stdint.h>

#include "zkleader.h"
#include "base/buffer.h"
#include "client/options.h"
#include "wire/reader.h"

#define CLAIM_BY_TASK	  (-1) /* for tick_ms and wait_ms: as the task's file says */
#define CLAIM_TICK_MIN_MS 1000 /* of a tick, which is whole seconds */
#define CLAIM_TICK_MAX_MS (INT64_C(24) * 3600 * 1000)

struct claim_request {
	const char *task;
	const char *kind; /* "once": the claim is all; "run": and then it runs under our eyes */
	const char *id;	  /* by which it is known again if it has to be sent again; NULL */
	bool again;	  /* it has been sent before */
	int64_t now_ms;	  /* wall clock */
	int64_t tick_ms;  /* 0: no tick, for a run */
	int64_t wait_ms;
};

struct claim {
	struct zkleader_tick tick;
	uint64_t run;			 /* for renew and finish */
	bool busy;			 /* waited in vain for the run before it */
	char notice[ZKLEADER_TEXT_SIZE]; /* for people, where nobody has run the tick; "" */
};

/* A tick's length on the command line: 0, or -EINVAL and why it is none. */
int claim_tick_parse(const char *text, int64_t *ret_ms, char why[OPTIONS_WHY_SIZE]);
/* The params of a request: 0 or -EMSGSIZE. */
int claim_pack(struct buffer *params, const struct claim_request *request);
/* Reads the answer to a request that was sent at sent_ms of CLOCK_BOOTTIME: 0 or -EBADMSG. */
int claim_parse(struct reader result, int64_t sent_ms, struct claim *ret_claim);

#endif
