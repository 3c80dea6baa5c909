/*
 * The record of an event that people have to be told of: the content of a znode under ROOT/notices.
 */
#ifndef ZKLEADER_WIRE_RECORDS_NOTICE_RECORD_H
#define ZKLEADER_WIRE_RECORDS_NOTICE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/notice.h"
#include "base/text/worker.h"
#include "wire/keys.h"
#include "wire/records/record.h"

#define RECORD_NOTICE_MAX 4096 /* bytes */
#define NOTICE_TICK_MAX	  32

struct notice_record {
	enum notice_event event;
	char id[NAME_ID_MAX + 1];	  /* the same in all reports of the event */
	char task[NAME_ELECTION_MAX + 1]; /* the task or queue; "": none */
	char node[WORKER_NODE_MAX + 1];	  /* the name of the node on which it happened */
	char version[NAME_VERSION_MAX + 1];
	int64_t time;			/* ms since the epoch */
	int64_t token;			/* 0: none; for `leader`: the zxid that created the znode */
	char tick[NOTICE_TICK_MAX + 1]; /* "": none */
	bool led;			/* for `leader`: the task is known to have had one before */
	int64_t attempt;		/* 0: none */
	int64_t exit_status;		/* -1: none */
	/*
	 * The ticks or jobs that `failed`, `lost`, `missed` or `dead` is about, 0: it counts for
	 * none; or that came before `recovered`.
	 */
	int64_t failed;
	int64_t since; /* when the first of those was, ms since the epoch; 0: not known */
	bool first;    /* the one before it was good, or there was none */
	char text[NOTICE_TEXT_MAX + 1]; /* the message for people */
	/* Why something was missed or did not end well, as in a run's record; "": not told. */
	char why[RECORD_WHY_MAX + 1], detail[RECORD_DETAIL_MAX + 1];
	/*
	 * At most RECORD_OUTPUT_MAX bytes of any value, borrowed. In a parsed record they point
	 * into the data that was parsed.
	 */
	const char *output;
	size_t output_len;
};

RECORD_DECLARE(notice, notice_record);
/* Packs the event as a map for the socket: absent values are nil, and the time is RFC 3339. */
void notice_pack(struct pack *p, const struct notice_record *r);

#endif
