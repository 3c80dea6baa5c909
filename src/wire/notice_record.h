/* An event that somebody is to be told of: what a znode under ROOT/notices holds. */
#ifndef ZKLEADER_WIRE_NOTICE_RECORD_H
#define ZKLEADER_WIRE_NOTICE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/notice.h"
#include "base/worker.h"
#include "wire/pack.h"
#include "wire/record.h"

#define RECORD_NOTICE_MAX 4096 /* bytes */
#define NOTICE_TICK_MAX	  32
#define NOTICE_FIELDS	  12 /* of notice_pack() */

struct notice_record {
	enum notice_event event;
	char id[NAME_ID_MAX + 1];	  /* the same wherever it is told */
	char task[NAME_ELECTION_MAX + 1]; /* or queue; "": it is about none */
	char node[WORKER_NODE_MAX + 1];	  /* it happened on, as people know it */
	char version[NAME_VERSION_MAX + 1];
	int64_t time;  /* ms since the epoch */
	int64_t token; /* 0: none; of `leader` the one that the znode was made by */
	char tick[NOTICE_TICK_MAX + 1]; /* "" */
	bool led;			/* of `leader`: it is known that the task had one before */
	int64_t attempt;		/* 0: none */
	int64_t exit_status;		/* -1: none */
	char text[NOTICE_TEXT_MAX + 1]; /* for people */
	/* Any bytes, at most RECORD_OUTPUT_MAX; borrowed: parsed, from what was parsed. */
	const char *output;
	size_t output_len;
};

/* Appends to out; 0 or -ENOBUFS. */
int record_pack_notice(struct buffer *out, const struct notice_record *r);
/* As the others (wire/record.h): 0, or -EBADMSG and *ret_why. */
int record_parse_notice(const void *data, size_t len, struct notice_record *ret_notice,
			const char **ret_why);
/* As a map for the socket: what it has none of is nil, the time is RFC 3339. */
void notice_pack(struct pack *p, const struct notice_record *r);

#endif
