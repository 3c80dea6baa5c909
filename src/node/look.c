#include "node/look.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "node/leaders.h"

/* One read on its way. */
struct shared {
	struct look *look;
	size_t n;
	struct task *tasks[];
};

static struct shared *shared_new(struct look *k, struct look_list *list)
{
	struct shared *s = mem_alloc(sizeof(*s) + list->n * sizeof(s->tasks[0]));

	s->look = k;
	s->n = list->n;
	memcpy(s->tasks, list->tasks, list->n * sizeof(s->tasks[0]));
	list->n = 0;
	return s;
}

static void on_still(void *arg, const struct store_reply *reply)
{
	struct shared *s = arg;
	const struct look_handlers *h = &s->look->handlers;

	for (size_t i = 0; i < s->n; i++) {
		struct task *t = s->tasks[i];
		t->pending--;
		if (reply->code == STORE_ABANDONED)
			continue;
		if (reply->code != STORE_OK)
			h->failed(t);
		else if (t->election.watched && t->election.node.known)
			h->still(t);
		else
			look_single(s->look, t);
	}
	free(s);
}

static void add(struct look_list *list, struct task *t)
{
	t->pending++;
	list->tasks[list->n++] = t;
}

/* Makes room in the list of what is to be read. */
static void drop_read(struct look *k)
{
	k->there.n -= k->next;
	memmove(k->there.tasks, k->there.tasks + k->next, k->there.n * sizeof(struct task *));
	k->next = 0;
}

static void on_taken(void *arg, const struct store_reply *reply)
{
	struct shared *s = arg;
	struct look *k = s->look;
	char **names = names_sorted(reply->names, reply->n_names);

	drop_read(k);
	for (size_t i = 0; i < s->n; i++) {
		struct task *t = s->tasks[i];
		t->pending--;
		if (reply->code == STORE_ABANDONED)
			continue;
		if (reply->code != STORE_OK) {
			k->handlers.failed(t);
		} else if (names_has(names, reply->n_names, t->name)) {
			k->reads++;
			add(&k->there, t);
		} else {
			k->handlers.free(t);
		}
	}
	free(names);
	free(s);
}

/* --- those of single nodes ------------------------------------------------------------------------ */

static void append(struct look *k, struct task *t)
{
	t->next_read = NULL;
	if (k->first)
		k->last->next_read = t;
	else
		k->first = t;
	k->last = t;
}

/* Whose turn it is. */
static struct task *take_next(struct look *k)
{
	if (k->next < k->there.n)
		return k->there.tasks[k->next++];
	struct task *t = k->first;
	assert(t);
	k->first = t->next_read;
	if (--t->reads_to_come > 0)
		append(k, t);
	return t;
}

static void send_reads(struct look *k)
{
	while (k->flying < k->reads && k->flying < LOOK_READS_MAX) {
		struct task *t = take_next(k);
		t->pending--;
		k->flying++;
		k->handlers.read(t);
	}
}

void look_single(struct look *k, struct task *t)
{
	t->pending++;
	k->reads++;
	if (t->reads_to_come++ == 0)
		append(k, t);
	send_reads(k);
}

/* The next goes out at the end of the turn: by then it may have turned out that it need not. */
void look_answered(struct look *k)
{
	assert(k->flying > 0);
	k->flying--;
	k->reads--;
}

/* --- those of one turn ------------------------------------------------------------------------------ */

static bool is_worth_a_list(const struct look *k, size_t n)
{
	return n >= LOOK_LIST_MIN && n * LOOK_LIST_SHARE >= k->leaders->n_tasks;
}

void look_again(struct look *k)
{
	size_t left = k->there.n - k->next;

	if (!is_worth_a_list(k, left))
		return;
	memcpy(k->taken.tasks + k->taken.n, k->there.tasks + k->next, left * sizeof(struct task *));
	k->taken.n += left;
	k->reads -= left;
	k->there.n = k->next = 0;
}

static void read_each(struct look *k, struct look_list *list)
{
	size_t n = list->n;

	list->n = 0;
	for (size_t i = 0; i < n; i++) {
		list->tasks[i]->pending--;
		look_single(k, list->tasks[i]);
	}
}

/* At the end of a turn. */
static void flush(void *arg)
{
	struct look *k = arg;
	struct leaders *l = k->leaders;
	char folder[STORE_PATH_MAX];

	send_reads(k);
	if (k->still.n == 0 && k->taken.n == 0)
		return;
	registry_path(l->registry, "leaders", NULL, folder);
	if (k->still.n == 1)
		read_each(k, &k->still);
	else if (k->still.n > 1)
		store_exists(l->session->store, folder, false, on_still, shared_new(k, &k->still));
	if (is_worth_a_list(k, k->taken.n))
		store_children(l->session->store, folder, false, on_taken,
			       shared_new(k, &k->taken));
	else
		read_each(k, &k->taken);
}

void look_still(struct look *k, struct task *t)
{
	add(&k->still, t);
}

void look_taken(struct look *k, struct task *t)
{
	add(&k->taken, t);
}

static void forget(struct look_list *list, size_t from)
{
	for (size_t i = from; i < list->n; i++)
		list->tasks[i]->pending--;
	list->n = 0;
}

void look_forget(struct look *k)
{
	forget(&k->still, 0);
	forget(&k->taken, 0);
	forget(&k->there, k->next);
	k->next = 0;
	for (struct task *t = k->first; t; t = t->next_read) {
		t->pending -= t->reads_to_come;
		t->reads_to_come = 0;
	}
	k->first = NULL;
	k->reads = k->flying;
}

void look_reserve(struct look *k, size_t n_tasks)
{
	k->still.tasks = mem_resize(k->still.tasks, n_tasks + 1, sizeof(struct task *));
	k->taken.tasks = mem_resize(k->taken.tasks, n_tasks + 1, sizeof(struct task *));
	k->there.tasks = mem_resize(k->there.tasks, n_tasks + 1, sizeof(struct task *));
}

void look_init(struct look *k, struct leaders *leaders, const struct look_handlers *handlers)
{
	memset(k, 0, sizeof(*k));
	k->leaders = leaders;
	k->handlers = *handlers;
	host_turn_init(&k->turn, leaders->session->host, flush, k);
}

void look_done(struct look *k)
{
	host_turn_done(&k->turn);
	free(k->still.tasks);
	free(k->taken.tasks);
	free(k->there.tasks);
}
