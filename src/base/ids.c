#include "base/ids.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"

struct shared_id {
	size_t users;
	char text[];
};

static int by_text(const void *id, const void *shared)
{
	return strcmp(id, (*(struct shared_id *const *)shared)->text);
}

/* The index of the id in the sorted list, or the index at which to insert it. */
static size_t find(const struct ids *t, const char *id)
{
	return sort_place(id, t->list, t->n, sizeof(*t->list), by_text);
}

static const char *take(struct ids *t, const char *id)
{
	size_t at = find(t, id), size = strlen(id) + 1;

	if (size == 1)
		return "";
	if (at == t->n || strcmp(t->list[at]->text, id) != 0) {
		struct shared_id *added = mem_alloc(sizeof(*added) + size);
		added->users = 0;
		memcpy(added->text, id, size);
		if (t->n == t->room) {
			t->room = t->room > 0 ? 2 * t->room : 8;
			t->list = mem_resize(t->list, t->room, sizeof(*t->list));
		}
		memmove(t->list + at + 1, t->list + at, (t->n - at) * sizeof(*t->list));
		t->list[at] = added;
		t->n++;
	}
	t->list[at]->users++;
	return t->list[at]->text;
}

static void give_back(struct ids *t, const char *id)
{
	size_t at = find(t, id);

	if (!id[0])
		return;
	assert(at < t->n && t->list[at]->text == id);
	if (--t->list[at]->users > 0)
		return;
	free(t->list[at]);
	t->n--;
	memmove(t->list + at, t->list + at + 1, (t->n - at) * sizeof(*t->list));
}

void ids_set(struct ids *t, const char **place, const char *id)
{
	const char *old = *place;

	if (old && strcmp(old, id) == 0)
		return;
	*place = take(t, id);
	if (old)
		give_back(t, old);
}

void ids_done(struct ids *t)
{
	assert(t->n == 0);
	free(t->list);
	*t = (struct ids){.list = NULL};
}
