#include "node/tree/tick_folder.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void tick_folder_floor(const struct store_reply *reply, char floor[TICK_NAME_SIZE])
{
	floor[0] = '\0';
	if (reply->len != TICK_NAME_SIZE - 1)
		return;
	memcpy(floor, reply->data, reply->len);
	floor[reply->len] = '\0';
	if (!tick_is_name(floor))
		floor[0] = '\0';
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

char (*tick_folder_names(const struct store_reply *reply, size_t *ret_n))[TICK_NAME_SIZE]
{
	char(*names)[TICK_NAME_SIZE] = mem_calloc(reply->n_names + 1, sizeof(*names));
	size_t n = 0;

	for (size_t i = 0; i < reply->n_names; i++)
		if (tick_is_name(reply->names[i]))
			memcpy(names[n++], reply->names[i], sizeof(*names));
	if (n > 0)
		qsort(names, n, sizeof(*names), compare_names);
	*ret_n = n;
	return names;
}
