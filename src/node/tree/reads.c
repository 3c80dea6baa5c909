#include "node/tree/reads.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/names.h"
#include "node/session/session.h"
#include "node/tree/paths.h"

/* A read of several nodes that is outstanding. */
struct shared {
	struct reads *reads;
	size_t n;
	struct reads_item *items[];
};

static struct shared *shared_new(struct reads *k, struct reads_list *list)
{
	struct shared *s = mem_alloc(sizeof(*s) + list->n * sizeof(s->items[0]));

	s->reads = k;
	s->n = list->n;
	memcpy(s->items, list->items, list->n * sizeof(s->items[0]));
	list->n = 0;
	return s;
}

static void on_still(void *arg, const struct store_reply *reply)
{
	struct shared *s = arg;
	const struct reads_handlers *h = &s->reads->handlers;

	for (size_t i = 0; i < s->n; i++) {
		struct reads_item *item = s->items[i];
		item->pending--;
		if (reply->code == STORE_ABANDONED)
			continue;
		if (reply->code != STORE_OK)
			h->failed(item);
		else if (!h->still(item))
			reads_single(s->reads, item);
	}
	free(s);
}

static void add(struct reads_list *list, struct reads_item *item)
{
	item->pending++;
	list->items[list->n++] = item;
}

/* Makes room in the list of nodes to read. */
static void drop_read(struct reads *k)
{
	k->there.n -= k->next;
	memmove(k->there.items, k->there.items + k->next, k->there.n * sizeof(struct reads_item *));
	k->next = 0;
}

static void on_taken(void *arg, const struct store_reply *reply)
{
	struct shared *s = arg;
	struct reads *k = s->reads;
	char **names = names_sorted(reply->names, reply->n_names);

	drop_read(k);
	for (size_t i = 0; i < s->n; i++) {
		struct reads_item *item = s->items[i];
		item->pending--;
		if (reply->code == STORE_ABANDONED)
			continue;
		if (reply->code != STORE_OK) {
			k->handlers.failed(item);
		} else if (names_has(names, reply->n_names, item->name)) {
			k->reads++;
			add(&k->there, item);
		} else {
			k->handlers.free(item);
		}
	}
	free(names);
	free(s);
}

/* --- those of single nodes ------------------------------------------------ */

/* Takes the next node to read: those found by a listing come first. */
static struct reads_item *take_next(struct reads *k)
{
	if (k->next < k->there.n)
		return k->there.items[k->next++];
	struct reads_item *item = STAILQ_FIRST(&k->queue);
	assert(item);
	STAILQ_REMOVE_HEAD(&k->queue, link);
	if (--item->waiting > 0)
		STAILQ_INSERT_TAIL(&k->queue, item, link);
	return item;
}

static void send_reads(struct reads *k)
{
	while (k->flying < k->reads && k->flying < READS_MAX) {
		struct reads_item *item = take_next(k);
		item->pending--;
		k->flying++;
		k->handlers.read(item);
	}
}

void reads_single(struct reads *k, struct reads_item *item)
{
	item->pending++;
	k->reads++;
	if (item->waiting++ == 0)
		STAILQ_INSERT_TAIL(&k->queue, item, link);
	send_reads(k);
}

/*
 * Counts an answer. The next read goes out at the end of the turn: by then it may not be needed any
 * more.
 */
void reads_answered(struct reads *k)
{
	assert(k->flying > 0);
	k->flying--;
	k->reads--;
}

/* --- those of one turn ---------------------------------------------------- */

static bool is_worth_a_list(const struct reads *k, size_t n)
{
	return n >= READS_LIST_MIN && n * READS_LIST_SHARE >= k->n_tasks;
}

void reads_list_again(struct reads *k)
{
	size_t left = k->there.n - k->next;

	if (!is_worth_a_list(k, left))
		return;
	memcpy(k->taken.items + k->taken.n, k->there.items + k->next,
	       left * sizeof(struct reads_item *));
	k->taken.n += left;
	k->reads -= left;
	k->there.n = k->next = 0;
}

static void read_each(struct reads *k, struct reads_list *list)
{
	size_t n = list->n;

	list->n = 0;
	for (size_t i = 0; i < n; i++) {
		list->items[i]->pending--;
		reads_single(k, list->items[i]);
	}
}

/* Sends what was collected in this turn, at its end. */
static void flush(void *arg)
{
	struct reads *k = arg;
	char folder[STORE_PATH_MAX];

	send_reads(k);
	if (k->still.n == 0 && k->taken.n == 0)
		return;
	path_of(k->session->settings, PATH_LEADERS, NULL, folder);
	if (k->still.n == 1)
		read_each(k, &k->still);
	else if (k->still.n > 1)
		store_exists(k->session->store, folder, false, on_still, shared_new(k, &k->still));
	if (is_worth_a_list(k, k->taken.n))
		store_children(k->session->store, folder, false, on_taken,
			       shared_new(k, &k->taken));
	else
		read_each(k, &k->taken);
}

void reads_unchanged(struct reads *k, struct reads_item *item)
{
	add(&k->still, item);
}

void reads_led(struct reads *k, struct reads_item *item)
{
	add(&k->taken, item);
}

static void forget(struct reads_list *list, size_t from)
{
	for (size_t i = from; i < list->n; i++)
		list->items[i]->pending--;
	list->n = 0;
}

void reads_forget(struct reads *k)
{
	forget(&k->still, 0);
	forget(&k->taken, 0);
	forget(&k->there, k->next);
	k->next = 0;
	for (struct reads_item *item = STAILQ_FIRST(&k->queue); item;
	     item = STAILQ_NEXT(item, link)) {
		item->pending -= item->waiting;
		item->waiting = 0;
	}
	STAILQ_INIT(&k->queue);
	k->reads = k->flying;
}

void reads_reserve(struct reads *k, size_t n_tasks)
{
	k->n_tasks = n_tasks;
	k->still.items = mem_resize(k->still.items, n_tasks + 1, sizeof(struct reads_item *));
	k->taken.items = mem_resize(k->taken.items, n_tasks + 1, sizeof(struct reads_item *));
	k->there.items = mem_resize(k->there.items, n_tasks + 1, sizeof(struct reads_item *));
}

void reads_init(struct reads *k, struct session *session, const struct reads_handlers *handlers)
{
	memset(k, 0, sizeof(*k));
	STAILQ_INIT(&k->queue);
	k->session = session;
	k->handlers = *handlers;
	host_turn_init(&k->turn, session->host, flush, k);
}

void reads_done(struct reads *k)
{
	host_turn_done(&k->turn);
	free(k->still.items);
	free(k->taken.items);
	free(k->there.items);
}

void reads_item_init(struct reads_item *item, const char *name)
{
	*item = (struct reads_item){.name = name};
}
