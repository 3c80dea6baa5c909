/* Operations of a transaction that are copied, so that they can be sent later, or again. */
#ifndef ZKLEADER_NODE_NOTICES_OPS_COPY_H
#define ZKLEADER_NODE_NOTICES_OPS_COPY_H

#include "node/store.h"

struct ops_copy {
	struct store_op
		*list; /* the copies, and room for more behind them; owned, as are the next */
	char **paths;
	void **data;
	size_t n; /* the copies */
};

/* Copies the operations with all that they point to; `room`: for so many more. */
void ops_copy(struct ops_copy *c, const struct store_op *ops, size_t n, size_t room);
void ops_copy_done(struct ops_copy *c);

#endif
