#include "node/notices/ops_copy.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void ops_copy(struct ops_copy *c, const struct store_op *ops, size_t n, size_t room)
{
	c->n = 0;
	c->list = mem_calloc(n + room + 1, sizeof(*c->list));
	c->paths = mem_calloc(n + 1, sizeof(*c->paths));
	c->data = mem_calloc(n + 1, sizeof(*c->data));
	for (; c->n < n; c->n++) {
		const struct store_op *op = &ops[c->n];

		c->list[c->n] = *op;
		c->list[c->n].path = c->paths[c->n] = mem_strdup(op->path);
		if (op->len == 0)
			continue;
		c->data[c->n] = mem_alloc(op->len);
		memcpy(c->data[c->n], op->data, op->len);
		c->list[c->n].data = c->data[c->n];
	}
}

void ops_copy_done(struct ops_copy *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->paths[i]);
		free(c->data[i]);
	}
	free(c->paths);
	free(c->data);
	free(c->list);
	*c = (struct ops_copy){.n = 0};
}
