/* The transactions of rolling restarts; for rolling*.c alone. */
#ifndef ZKLEADER_NODE_ROLLING_DEED_H
#define ZKLEADER_NODE_ROLLING_DEED_H

#include "base/buffer.h"
#include "node/notices.h"
#include "node/rolling_op.h"

#define ROLLING_RETRY_MS  100 /* after what came to nothing */
#define ROLLING_TRIES_MAX 50  /* in a row */

/* One that is being put together. */
struct rolling_deed {
	struct rolling_op *op;
	struct store_op *ops;
	char (*paths)[STORE_PATH_MAX];
	size_t n;
	struct buffer data[3];
	size_t n_data;
	struct notice_record event; /* is noted with it, if has_event */
	bool has_event;
};

/* With the check that this node is registered; room: for operations besides. */
void rolling_deed_begin(struct rolling_deed *d, struct rolling_op *op, size_t room);
/* One more operation: returns where its path goes, STORE_PATH_MAX bytes. */
char *rolling_deed_add(struct rolling_deed *d, enum store_op_type type, int32_t version);
/* A buffer to pack into; and what was packed becomes the data of the operation added last. */
struct buffer *rolling_deed_add_data(struct rolling_deed *d);
void rolling_deed_set_data(struct rolling_deed *d, const struct buffer *b, int error);
/* The group still is as it was read, and is this from now on. */
void rolling_deed_set_group(struct rolling_deed *d, const struct rolling_group *group);
/* h: the slot as it was read, NULL: it is new. */
void rolling_deed_put_slot(struct rolling_deed *d, const struct rolling_slot *slot,
			   const struct rolling_held *h);
/* The drain that goes with the slot. */
void rolling_deed_put_drain(struct rolling_deed *d, const struct rolling_slot *slot);
void rolling_deed_drop_drain(struct rolling_deed *d, const struct rolling_held *h);
/* With its drain. */
void rolling_deed_drop_slot(struct rolling_deed *d, const struct rolling_held *h);
/* last: once it is done, so is the order; else the group is read anew. */
void rolling_deed_send(struct rolling_deed *d, bool last);

#endif
