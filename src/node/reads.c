#include "node/reads.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "node/paths.h"
#include "node/session.h"
#include "node/task.h"

/* One outstanding read. */
struct shared {
	struct reads *reads;
	size_t n;
	struct task *tasks[];
};

static struct shared *shared_new(struct reads *k, struct reads_list *list)
{
	struct shared *s = mem_alloc(sizeof(*s) + list->n * sizeof(s->tasks[0]));

	s->reads = k;
	s->n = list->n;
	memcpy(s->tasks, list->tasks, list->n * sizeof(s->tasks[0]));
	list->n = 0;
	return s;
}

static void on_still(void *arg, const struct store_reply *reply)
{
	struct shared *s = arg;
	const struct reads_handlers *h = &s->reads->handlers;

	for (size_t i = 0; i < s->n; i++) {
		struct task *t = s->tasks[i];
		t->reads.pending--;
		if (reply->code == STORE_ABANDONED)
			continue;
		if (reply->code != STORE_OK)
			h->failed(t);
		else if (t->election.watched && t->election.node.known)
			h->still(t);
		else
			reads_single(s->reads, t);
	}
	free(s);
}

static void add(struct reads_list *list, struct task *t)
{
	t->reads.pending++;
	list->tasks[list->n++] = t;
}

/* Makes room in the list of what is to be read. */
static void drop_read(struct reads *k)
{
	k->there.n -= k->next;
	memmove(k->there.tasks, k->there.tasks + k->next, k->there.n * sizeof(struct task *));
	k->next = 0;
}

static void on_taken(void *arg, const struct store_reply *reply)
{
	struct shared *s = arg;
	struct reads *k = s->reads;
	char **names = names_sorted(reply->names, reply->n_names);

	drop_read(k);
	for (size_t i = 0; i < s->n; i++) {
		struct task *t = s->tasks[i];
		t->reads.pending--;
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

/* --- those of single nodes ------------------------------------------------ */

static void append(struct reads *k, struct task *t)
{
	t->reads.next = NULL;
	if (k->first)
		k->last->reads.next = t;
	else
		k->first = t;
	k->last = t;
}

/* Whose turn it is. */
static struct task *take_next(struct reads *k)
{
	if (k->next < k->there.n)
		return k->there.tasks[k->next++];
	struct task *t = k->first;
	assert(t);
	k->first = t->reads.next;
	if (--t->reads.waiting > 0)
		append(k, t);
	return t;
}

static void send_reads(struct reads *k)
{
	while (k->flying < k->reads && k->flying < READS_MAX) {
		struct task *t = take_next(k);
		t->reads.pending--;
		k->flying++;
		k->handlers.read(t);
	}
}

void reads_single(struct reads *k, struct task *t)
{
	t->reads.pending++;
	k->reads++;
	if (t->reads.waiting++ == 0)
		append(k, t);
	send_reads(k);
}

/* The next goes out at the end of the turn: by then it may have turned out that it need not. */
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
	memcpy(k->taken.tasks + k->taken.n, k->there.tasks + k->next, left * sizeof(struct task *));
	k->taken.n += left;
	k->reads -= left;
	k->there.n = k->next = 0;
}

static void read_each(struct reads *k, struct reads_list *list)
{
	size_t n = list->n;

	list->n = 0;
	for (size_t i = 0; i < n; i++) {
		list->tasks[i]->reads.pending--;
		reads_single(k, list->tasks[i]);
	}
}

/* At the end of a turn. */
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

void reads_unchanged(struct reads *k, struct task *t)
{
	add(&k->still, t);
}

void reads_led(struct reads *k, struct task *t)
{
	add(&k->taken, t);
}

static void forget(struct reads_list *list, size_t from)
{
	for (size_t i = from; i < list->n; i++)
		list->tasks[i]->reads.pending--;
	list->n = 0;
}

void reads_forget(struct reads *k)
{
	forget(&k->still, 0);
	forget(&k->taken, 0);
	forget(&k->there, k->next);
	k->next = 0;
	for (struct task *t = k->first; t; t = t->reads.next) {
		t->reads.pending -= t->reads.waiting;
		t->reads.waiting = 0;
	}
	k->first = NULL;
	k->reads = k->flying;
}

void reads_reserve(struct reads *k, size_t n_tasks)
{
	k->n_tasks = n_tasks;
	k->still.tasks = mem_resize(k->still.tasks, n_tasks + 1, sizeof(struct task *));
	k->taken.tasks = mem_resize(k->taken.tasks, n_tasks + 1, sizeof(struct task *));
	k->there.tasks = mem_resize(k->there.tasks, n_tasks + 1, sizeof(struct task *));
}

void reads_init(struct reads *k, struct session *session, const struct reads_handlers *handlers)
{
	memset(k, 0, sizeof(*k));
	k->session = session;
	k->handlers = *handlers;
	host_turn_init(&k->turn, session->host, flush, k);
}

void reads_done(struct reads *k)
{
	host_turn_done(&k->turn);
	free(k->still.tasks);
	free(k->taken.tasks);
	free(k->there.tasks);
}
