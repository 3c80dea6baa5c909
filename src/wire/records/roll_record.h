/*
 * The roll of a big fleet, which one worker keeps for all: its head, ROOT/roll, with the last
 * changes, and chunks, ROOT/roll/K, with the records of all workers.
 */
#ifndef ZKLEADER_WIRE_RECORDS_ROLL_RECORD_H
#define ZKLEADER_WIRE_RECORDS_ROLL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/text/name.h"

#define ROLL_CHUNKS_MAX 128
#define ROLL_BYTES_MAX	((size_t)64 * 1024)	  /* of a chunk */
#define ROLL_LOG_MAX	((size_t)512 * 1024)	  /* bytes of the log in the head */
#define ROLL_RECORD_MAX 1024			  /* bytes of a record; longer ones are left out */
#define ROLL_PLAIN_MAX	(ROLL_LOG_MAX + 8 * 1024) /* bytes of a head: its log and the rest */

/* A worker node: what reading it says. */
struct roll_entry {
	char id[NAME_ID_MAX + 1];
	int64_t session;
	int64_t ctime; /* ms since the epoch, of the server */
	/* The bytes of the record, borrowed; none: whoever wants it reads the node. */
	const char *record;
	size_t record_len;
};

struct roll_head {
	int64_t base;	 /* the log has all changes of ROOT/workers since this transaction */
	int64_t zxid;	 /* up to this one */
	int64_t set;	 /* who is there then: the keeper's roll_set() of all ids */
	int64_t workers; /* and how many they are */
	char keeper[NAME_ID_MAX + 1];	 /* worker that has written it, "" */
	int64_t chunks[ROLL_CHUNKS_MAX]; /* the sum of the bytes of each; 0: not made yet */
	size_t n_chunks;
	/* Batches, borrowed: in a parsed head they point into its plain bytes. */
	const char *log;
	size_t log_len;
};

struct roll_changes {
	/* Changes up to that transaction; false: they are passed over. NULL: none are. */
	bool (*batch)(void *arg, int64_t zxid);
	void (*joined)(void *arg, const struct roll_entry *e);
	void (*left)(void *arg, const char *id); /* NULL: that is not wanted */
	void *arg;
};

void roll_pack_entry(struct buffer *out, const struct roll_entry *e);
/* Ids and batches of the log; a batch has entries and ids that were packed. */
void roll_pack_id(struct buffer *out, const char *id);
void roll_pack_batch(struct buffer *out, int64_t zxid, const struct buffer *joined, size_t n_joined,
		     const struct buffer *left, size_t n_left);
/*
 * Compresses bytes, and seals them with their sum, which is returned and never 0. A head or a chunk
 * is only taken with the right one, so that damage is noticed. Records of a fleet are much alike:
 * what each sidecar has to read of them becomes a third.
 */
int64_t roll_seal(struct buffer *out, const void *bytes, size_t len);
/* The set without an id that is in it, or with one that is not; 0: the empty one. */
int64_t roll_set(int64_t set, const char *id);
int64_t roll_pack_head(struct buffer *out, const struct roll_head *h);
/* The length of the newest batches that together have at most `most` bytes, from their end. */
size_t roll_log_newest(const void *log, size_t len, size_t most);
/* The transaction up to which the batches of that many bytes go; 0: there is none. */
int64_t roll_log_zxid(const void *log, size_t len);

/*
 * 0, or -EBADMSG and *ret_why; the log is good as well. ret_plain: its bytes, in place of what is
 * there, at most ROLL_PLAIN_MAX; ret_sum: of them, as sealed.
 */
int roll_parse_head(const void *data, size_t len, struct buffer *ret_plain,
		    struct roll_head *ret_head, int64_t *ret_sum, const char **ret_why);
/* Calls what is wanted for each change in a parsed head's log. */
void roll_each_change(const struct roll_head *h, const struct roll_changes *changes);
/* Calls joined for each entry of a chunk; 0, or -EBADMSG where its sum is another, or it is bad. */
int roll_parse_chunk(const void *data, size_t len, int64_t sum, const struct roll_changes *changes);

#endif
