#include "runner/line.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

size_t line_length(const struct line *l)
{
	return l->n - l->first;
}

bool line_has(const struct line *l, const struct jobs_key *key)
{
	for (size_t i = l->first; i < l->n; i++)
		if (jobs_same(&l->items[i].key, key))
			return true;
	return false;
}

void line_add(struct line *l, const struct line_item *item)
{
	/*
	 * Items that were taken are removed once they are half of the array, so that it does not
	 * grow for ever.
	 */
	if (l->first > 0 && l->first >= l->n / 2) {
		memmove(l->items, l->items + l->first, line_length(l) * sizeof(*l->items));
		l->n -= l->first;
		l->first = 0;
	}
	l->items = mem_resize(l->items, l->n + 1, sizeof(*l->items));
	l->items[l->n++] = *item;
}

bool line_take(struct line *l, struct line_item *ret)
{
	if (line_length(l) == 0)
		return false;
	*ret = l->items[l->first++];
	if (line_length(l) == 0)
		line_clear(l);
	return true;
}

void line_clear(struct line *l)
{
	free(l->items);
	*l = (struct line){0};
}
