/* The transactions of rolling restarts; for rolling*.c alone. */
#ifndef ZKLEADER_NODE_RECIPES_ROLLING_ROLLING_DEED_H
#define ZKLEADER_NODE_RECIPES_ROLLING_ROLLING_DEED_H

#include "base/buffer.h"
#include "node/notices/notices.h"
#include "node/recipes/rolling/rolling_op.h"

#define ROLLING_RETRY_MS  100 /* before the retry of a failed transaction */
#define ROLLING_TRIES_MAX 50  /* failures in a row */

/* A transaction under construction. */
struct rolling_deed {
	struct rolling_op *op;
	struct store_op *ops;
	char (*paths)[STORE_PATH_MAX];
	size_t n;
	struct buffer data[3];
	size_t n_data;
	struct notice_record event; /* noted with it, if has_event */
	bool has_event;
};

/* Begins with the check of our registration; room: for further operations. */
void rolling_deed_begin(struct rolling_deed *d, struct rolling_op *op, size_t room);
/* Adds an operation; returns the buffer for its path, of STORE_PATH_MAX bytes. */
char *rolling_deed_add(struct rolling_deed *d, enum store_op_type type, int32_t version);
/* Returns a buffer to pack into; rolling_deed_set_data() gives it to the last operation. */
struct buffer *rolling_deed_add_data(struct rolling_deed *d);
void rolling_deed_set_data(struct rolling_deed *d, const struct buffer *b, int error);
/* Replaces the group, if it is still as it was read. */
void rolling_deed_set_group(struct rolling_deed *d, const struct rolling_group *group);
/* h: the slot as it was read; NULL: a new slot. */
void rolling_deed_put_slot(struct rolling_deed *d, const struct rolling_slot *slot,
			   const struct rolling_held *h);
/* Makes, or deletes, the drain that belongs to the slot. */
void rolling_deed_put_drain(struct rolling_deed *d, const struct rolling_slot *slot);
void rolling_deed_drop_drain(struct rolling_deed *d, const struct rolling_held *h);
/* Deletes the drain of that name. */
void rolling_deed_end_drain(struct rolling_deed *d, const char *drain);
/* Deletes the slot and its drain. */
void rolling_deed_drop_slot(struct rolling_deed *d, const struct rolling_held *h);
/* last: its success ends the order; otherwise the group is read again. */
void rolling_deed_send(struct rolling_deed *d, bool last);

#endif
