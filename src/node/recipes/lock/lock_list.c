#include "node/recipes/lock/lock_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/tree/paths.h"

#define READS_MAX 100 /* outstanding reads */

struct reading {
	struct session *session;
	const struct node_settings *settings;
	struct lock_list list;
	size_t entries;		   /* entries of all locks */
	size_t next_lock, next_of; /* the entry that is read next */
	size_t flying;
	size_t next_folder;
	bool folders; /* have all been read */
	bool broken;
	lock_list_fn fn;
	void *arg;
};

/* An answer of one lock's folder, or of one entry. */
struct read {
	struct reading *reading;
	size_t lock, entry;
};

static void go_on(struct reading *r);

static struct read *read_new(struct reading *r, size_t lock, size_t entry)
{
	struct read *read = mem_alloc(sizeof(*read));

	*read = (struct read){r, lock, entry};
	r->flying++;
	return read;
}

/* Returns the reading that the answer is for, and frees the read. */
static struct reading *landed(struct read *read, const struct store_reply *reply)
{
	struct reading *r = read->reading;

	r->broken |= reply->code != STORE_OK && reply->code != STORE_NO_NODE;
	r->flying--;
	free(read);
	return r;
}

static void end(struct reading *r)
{
	r->fn(r->arg, r->broken ? NULL : &r->list);
	for (size_t i = 0; i < r->list.n; i++)
		free(r->list.locks[i].entries);
	free(r->list.locks);
	free(r);
}

/* --- an entry ------------------------------------------------------------- */

static void on_entry(void *arg, const struct store_reply *reply)
{
	struct read *read = arg;
	struct lock_list_entry *e = &read->reading->list.locks[read->lock].entries[read->entry];
	const char *why;

	if (reply->code == STORE_OK) {
		e->read = true;
		e->token = reply->stat.czxid;
		e->asked_ms = reply->stat.ctime;
		if (record_parse_locker(reply->data, reply->len, &e->record, &why) != 0)
			memset(&e->record, 0, sizeof(e->record));
		e->held_ms = e->record.held ? reply->stat.mtime : 0;
	}
	go_on(landed(read, reply));
}

/* False: no entry is left to read. */
static bool read_next(struct reading *r)
{
	char path[STORE_PATH_MAX];

	while (r->next_lock < r->list.n && r->next_of == r->list.locks[r->next_lock].n) {
		r->next_lock++;
		r->next_of = 0;
	}
	if (r->next_lock == r->list.n)
		return false;
	const struct lock_list_lock *l = &r->list.locks[r->next_lock];
	lock_path_of(r->settings, l->name, l->entries[r->next_of].node, path);
	store_get(r->session->store, path, false, on_entry, read_new(r, r->next_lock, r->next_of));
	r->next_of++;
	return true;
}

/* A holder that never waited has held the lock since it asked. */
static void fill_in(struct lock_list_lock *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->entries[i].read && l->entries[i].held_ms == 0 && (int64_t)i < l->slots)
			l->entries[i].held_ms = l->entries[i].asked_ms;
}

/* --- a lock --------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
	const struct lock_list_entry *x = a, *y = b;

	if (lock_name_is_before(&x->name, &y->name))
		return -1;
	return lock_name_is_before(&y->name, &x->name);
}

static void on_entries(void *arg, const struct store_reply *reply)
{
	struct read *read = arg;
	struct reading *r = read->reading;
	struct lock_list_lock *l = &r->list.locks[read->lock];
	struct lock_name name;

	if (reply->code == STORE_OK && reply->n_names > 0)
		l->entries = mem_calloc(reply->n_names, sizeof(*l->entries));
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++) {
		if (!lock_name_parse(reply->names[i], &name))
			continue;
		struct lock_list_entry *e = &l->entries[l->n++];
		e->name = name;
		memcpy(e->node, reply->names[i], strlen(reply->names[i]));
	}
	if (l->n > 0)
		qsort(l->entries, l->n, sizeof(*l->entries), compare_entries);
	if (r->entries + l->n > LOCK_LIST_MAX) {
		l->n = LOCK_LIST_MAX - r->entries;
		r->list.more = true;
	}
	r->entries += l->n;
	go_on(landed(read, reply));
}

static void on_slots(void *arg, const struct store_reply *reply)
{
	struct read *read = arg;
	struct lock_record record;
	const char *why;

	if (reply->code == STORE_OK &&
	    record_parse_lock(reply->data, reply->len, &record, &why) == 0)
		read->reading->list.locks[read->lock].slots = record.slots;
	go_on(landed(read, reply));
}

static void read_lock(struct reading *r, size_t i)
{
	char path[STORE_PATH_MAX];

	path_of(r->settings, PATH_LOCKS, r->list.locks[i].name, path);
	store_get(r->session->store, path, false, on_slots, read_new(r, i, 0));
	store_children(r->session->store, path, false, on_entries, read_new(r, i, 0));
}

/* --- all locks ------------------------------------------------------------ */

static int compare_locks(const void *a, const void *b)
{
	return strcmp(((const struct lock_list_lock *)a)->name,
		      ((const struct lock_list_lock *)b)->name);
}

static void add_lock(struct reading *r, const char *name)
{
	if (r->list.n == LOCK_LIST_MAX) {
		r->list.more = true;
		return;
	}
	memcpy(r->list.locks[r->list.n++].name, name, strlen(name));
}

static void on_locks(void *arg, const struct store_reply *reply)
{
	struct reading *r = arg;

	r->flying--;
	r->broken |= reply->code != STORE_OK && reply->code != STORE_NO_NODE;
	if (reply->code == STORE_OK && reply->n_names > 0)
		r->list.locks = mem_calloc(reply->n_names, sizeof(*r->list.locks));
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++)
		if (name_is_task(reply->names[i], strlen(reply->names[i])))
			add_lock(r, reply->names[i]);
	if (r->list.n > 0)
		qsort(r->list.locks, r->list.n, sizeof(*r->list.locks), compare_locks);
	go_on(r);
}

/* Reads the list of locks, then the folder of each, then the nodes in them. */
static void go_on(struct reading *r)
{
	r->broken |= !session_is_up(r->session);
	while (!r->broken && r->flying < READS_MAX && r->next_folder < r->list.n)
		read_lock(r, r->next_folder++);
	if (r->flying > 0 && !r->folders)
		return;
	r->folders = true;
	while (!r->broken && r->flying < READS_MAX && read_next(r))
		;
	if (r->flying > 0)
		return;
	for (size_t i = 0; i < r->list.n; i++)
		fill_in(&r->list.locks[i]);
	end(r);
}

void lock_list_read(struct session *session, const struct registry *registry, const char *name,
		    lock_list_fn fn, void *arg)
{
	char path[STORE_PATH_MAX];

	if (!session_is_up(session)) {
		fn(arg, NULL);
		return;
	}
	struct reading *r = mem_calloc(1, sizeof(*r));
	r->session = session;
	r->settings = registry->settings;
	r->fn = fn;
	r->arg = arg;
	session_confirm(session); /* later reads are no older than now */
	if (name) {
		r->list.locks = mem_calloc(1, sizeof(*r->list.locks));
		add_lock(r, name);
		go_on(r);
		return;
	}
	path_of(r->settings, PATH_LOCKS, NULL, path);
	r->flying = 1;
	store_children(session->store, path, false, on_locks, r);
}
