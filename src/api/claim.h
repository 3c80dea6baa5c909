/* The method `claim`: its request and its answer. */
#ifndef ZKLEADER_API_CLAIM_H
#define ZKLEADER_API_CLAIM_H

#include <stdint.h>

#include "api/call.h"
#include "zkleader.h"
#include "base/buffer.h"
#include "base/text/options.h"
#include "wire/reader.h"

#define CLAIM_BY_TASK	  (-1) /* for tick_ms and wait_ms: as the task's file says */
#define CLAIM_TICK_MIN_MS 1000 /* least tick, which is whole seconds */
#define CLAIM_TICK_MAX_MS (INT64_C(24) * 3600 * 1000)

struct claim_request {
	const char *task;
	const char *kind; /* "once": the claim is all; "run": a supervised job follows */
	const char *id;	  /* identifies a claim that is sent again; NULL: it never is */
	bool again;	  /* the request has been sent before */
	int64_t now_ms;	  /* wall clock */
	int64_t tick_ms;  /* 0: no tick, for a run */
	int64_t wait_ms;
	/* For a scheduled run: its tick, and its attempt from 1 on; NULL: not scheduled. */
	const char *tick;
	int64_t scheduled;
	/* For a task with partitions: how many this call was given, and how long it has waited. */
	unsigned ran;
	const unsigned *got; /* numbers of these partitions */
	int64_t waited_ms;
};

struct claim {
	struct zkleader_tick tick;
	uint64_t run;			 /* for renew and finish */
	int64_t index;			 /* number of this node; -1: not passed to the job */
	int partition, partitions;	 /* -1 and 0: no partitions */
	bool busy;			 /* the previous run did not end in time */
	bool output;			 /* the end of its output is to be reported */
	bool keep_output;		 /* that of output to a terminal, too */
	char notice[ZKLEADER_TEXT_SIZE]; /* for people: that nobody has run the tick; "" */
};

/* Parses a tick's length. 0, or -EINVAL and why says what is wrong. */
int claim_tick_parse(const char *text, int64_t *ret_ms, char why[OPTIONS_WHY_SIZE]);
/* Packs the params of a request. */
void claim_pack(struct request *request, const struct claim_request *claim);
/* Reads the answer to a request that was sent at sent_ms of CLOCK_BOOTTIME: 0 or -EBADMSG. */
int claim_parse(struct reader result, int64_t sent_ms, struct claim *ret_claim);

#endif
