#include "node/session/watch_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define BUCKETS_MIN 64

/* --- the table ------------------------------------------------------------ */

static struct watch_bucket *bucket_of(struct watches *w, const char *path)
{
	return &w->buckets[hash_bytes(path, strlen(path), 0) & (w->n_buckets - 1)];
}

struct watch_entry *watch_find(struct watches *w, const char *path, enum watch_kind kind)
{
	if (w->n_entries == 0)
		return NULL;
	for (struct watch_entry *e = SLIST_FIRST(bucket_of(w, path)); e; e = SLIST_NEXT(e, link))
		if (e->kind == kind && strcmp(e->path, path) == 0)
			return e;
	return NULL;
}

static void grow(struct watches *w)
{
	struct watch_bucket *before = w->buckets;
	size_t n = w->n_buckets;

	w->n_buckets = n > 0 ? 2 * n : BUCKETS_MIN;
	w->buckets = mem_calloc(w->n_buckets, sizeof(*w->buckets));
	for (size_t i = 0; i < n; i++) {
		struct watch_entry *e;
		while ((e = SLIST_FIRST(&before[i]))) {
			SLIST_REMOVE_HEAD(&before[i], link);
			SLIST_INSERT_HEAD(bucket_of(w, e->path), e, link);
		}
	}
	free(before);
}

struct watch_entry *watch_add(struct watches *w, const char *path, enum watch_kind kind,
			      enum watch_class class)
{
	size_t len = strlen(path);
	struct watch_entry *e = mem_calloc(1, sizeof(*e) + len + 1);

	if (w->n_entries >= w->n_buckets)
		grow(w);
	e->watches = w;
	e->kind = kind;
	e->class = class;
	e->bytes = len + WATCH_PATH_BYTES;
	memcpy(e->path, path, len);
	SLIST_INSERT_HEAD(bucket_of(w, path), e, link);
	w->n_entries++;
	return e;
}

void watch_unlink(struct watches *w, struct watch_entry *e)
{
	SLIST_REMOVE(bucket_of(w, e->path), e, watch_entry, link);
	w->n_entries--;
}

/* --- owners --------------------------------------------------------------- */

struct watch_owner *watch_find_owner(const struct watch_entry *e, const void *key)
{
	struct watch_owner *o = LIST_FIRST(&e->owners);

	while (o && o->key != key)
		o = LIST_NEXT(o, link);
	return o;
}

struct watch_owner *watch_add_owner(struct watch_entry *e, const void *key)
{
	struct watch_owner *o = watch_find_owner(e, key);

	if (!o) {
		o = mem_calloc(1, sizeof(*o));
		o->key = key;
		o->dropped = true;
		LIST_INSERT_HEAD(&e->owners, o, link);
	}
	e->n_owners += o->dropped;
	o->dropped = false;
	return o;
}

void watch_drop_owner(struct watch_entry *e, struct watch_owner *o)
{
	e->n_owners -= !o->dropped;
	o->dropped = true;
	if (o->flying > 0)
		return;
	LIST_REMOVE(o, link);
	free(o);
}

void watch_drop_told(struct watch_entry *e)
{
	for (struct watch_owner *o = LIST_FIRST(&e->owners), *next; o; o = next) {
		next = LIST_NEXT(o, link);
		if (o->flying == 0)
			watch_drop_owner(e, o);
	}
}

void watch_drop_all(struct watch_entry *e)
{
	struct watch_owner *o;

	while ((o = LIST_FIRST(&e->owners))) {
		o->flying = 0;
		watch_drop_owner(e, o);
	}
}
