#include "node/session/watch_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define BUCKETS_MIN 64

/* --- the table ------------------------------------------------------------ */

static struct watch_entry **bucket_of(struct watches *w, const char *path)
{
	return &w->buckets[hash_bytes(path, strlen(path), 0) & (w->n_buckets - 1)];
}

struct watch_entry *watch_find(struct watches *w, const char *path, enum watch_kind kind)
{
	if (w->n_entries == 0)
		return NULL;
	for (struct watch_entry *e = *bucket_of(w, path); e; e = e->next)
		if (e->kind == kind && strcmp(e->path, path) == 0)
			return e;
	return NULL;
}

static void grow(struct watches *w)
{
	struct watch_entry **before = w->buckets;
	size_t n = w->n_buckets;

	w->n_buckets = n > 0 ? 2 * n : BUCKETS_MIN;
	w->buckets = mem_calloc(w->n_buckets, sizeof(struct watch_entry *));
	for (size_t i = 0; i < n; i++) {
		for (struct watch_entry *e = before[i], *next; e; e = next) {
			struct watch_entry **bucket = bucket_of(w, e->path);
			next = e->next;
			e->next = *bucket;
			*bucket = e;
		}
	}
	free(before);
}

struct watch_entry *watch_add(struct watches *w, const char *path, enum watch_kind kind,
			      enum watch_class class)
{
	size_t len = strlen(path);
	struct watch_entry *e = mem_calloc(1, sizeof(*e) + len + 1), **bucket;

	if (w->n_entries >= w->n_buckets)
		grow(w);
	e->watches = w;
	e->kind = kind;
	e->class = class;
	e->bytes = len + WATCH_PATH_BYTES;
	memcpy(e->path, path, len);
	bucket = bucket_of(w, path);
	e->next = *bucket;
	*bucket = e;
	w->n_entries++;
	return e;
}

void watch_unlink(struct watches *w, struct watch_entry *e)
{
	struct watch_entry **at = bucket_of(w, e->path);

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	w->n_entries--;
}

/* --- owners --------------------------------------------------------------- */

struct watch_owner **watch_find_owner(struct watch_entry *e, const void *key)
{
	struct watch_owner **at = &e->owners;

	while (*at && (*at)->key != key)
		at = &(*at)->next;
	return at;
}

struct watch_owner *watch_add_owner(struct watch_entry *e, const void *key)
{
	struct watch_owner **at = watch_find_owner(e, key);

	if (!*at) {
		*at = mem_calloc(1, sizeof(**at));
		(*at)->key = key;
		(*at)->dropped = true;
	}
	e->n_owners += (*at)->dropped;
	(*at)->dropped = false;
	return *at;
}

void watch_drop_owner(struct watch_entry *e, struct watch_owner **at)
{
	struct watch_owner *o = *at;

	e->n_owners -= !o->dropped;
	o->dropped = true;
	if (o->flying > 0)
		return;
	*at = o->next;
	free(o);
}

void watch_drop_told(struct watch_entry *e)
{
	struct watch_owner **at = &e->owners;

	while (*at) {
		if ((*at)->flying > 0)
			at = &(*at)->next;
		else
			watch_drop_owner(e, at);
	}
}

void watch_drop_all(struct watch_entry *e)
{
	while (e->owners) {
		e->owners->flying = 0;
		watch_drop_owner(e, &e->owners);
	}
}
