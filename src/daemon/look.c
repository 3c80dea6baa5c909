#include "daemon/look.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "daemon/leaders.h"

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

static void on_still(void *arg, const struct zk_reply *reply)
{
	struct shared *s = arg;
	const struct look_handlers *h = &s->look->handlers;

	for (size_t i = 0; i < s->n; i++) {
		struct task *t = s->tasks[i];
		t->pending--;
		if (reply->code == ZK_ABANDONED)
			continue;
		if (reply->code != ZK_OK)
			h->failed(t);
		else if (t->election.watched && t->election.node.known)
			h->still(t);
		else
			h->read(t);
	}
	free(s);
}

static void on_taken(void *arg, const struct zk_reply *reply)
{
	struct shared *s = arg;
	const struct look_handlers *h = &s->look->handlers;
	char **names = names_sorted(reply->names, reply->n_names);

	for (size_t i = 0; i < s->n; i++) {
		struct task *t = s->tasks[i];
		t->pending--;
		if (reply->code == ZK_ABANDONED)
			continue;
		if (reply->code != ZK_OK)
			h->failed(t);
		else if (names_has(names, reply->n_names, t->name))
			h->taken(t);
		else
			h->free(t);
	}
	free(names);
	free(s);
}

static void read_each(struct look *k, struct look_list *list)
{
	size_t n = list->n;

	list->n = 0;
	for (size_t i = 0; i < n; i++) {
		list->tasks[i]->pending--;
		k->handlers.read(list->tasks[i]);
	}
}

static void flush(struct look *k)
{
	struct leaders *l = k->leaders;
	char folder[ZK_PATH_MAX];

	if (k->still.n == 0 && k->taken.n == 0)
		return;
	registry_path(l->registry, "leaders", NULL, folder);
	if (k->still.n == 1)
		read_each(k, &k->still);
	else if (k->still.n > 1)
		zk_exists(l->session->zk, folder, false, on_still, shared_new(k, &k->still));
	if (k->taken.n < LOOK_LIST_MIN || k->taken.n * LOOK_LIST_SHARE < l->n_tasks)
		read_each(k, &k->taken);
	else
		zk_children(l->session->zk, folder, false, on_taken, shared_new(k, &k->taken));
}

static void on_prepare(uv_prepare_t *prepare)
{
	flush(prepare->data);
}

static void on_check(uv_check_t *check)
{
	flush(check->data);
}

static void add(struct look_list *list, struct task *t)
{
	t->pending++;
	list->tasks[list->n++] = t;
}

void look_still(struct look *k, struct task *t)
{
	add(&k->still, t);
}

void look_taken(struct look *k, struct task *t)
{
	add(&k->taken, t);
}

static void forget(struct look_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		list->tasks[i]->pending--;
	list->n = 0;
}

void look_forget(struct look *k)
{
	forget(&k->still);
	forget(&k->taken);
}

void look_reserve(struct look *k, size_t n_tasks)
{
	k->still.tasks = mem_resize(k->still.tasks, n_tasks + 1, sizeof(struct task *));
	k->taken.tasks = mem_resize(k->taken.tasks, n_tasks + 1, sizeof(struct task *));
}

void look_init(struct look *k, uv_loop_t *loop, struct leaders *leaders,
	       const struct look_handlers *handlers)
{
	memset(k, 0, sizeof(*k));
	k->leaders = leaders;
	k->handlers = *handlers;
	uv_prepare_init(loop, &k->prepare);
	uv_check_init(loop, &k->check);
	k->prepare.data = k;
	k->check.data = k;
	uv_prepare_start(&k->prepare, on_prepare);
	uv_check_start(&k->check, on_check);
}

void look_done(struct look *k)
{
	free(k->still.tasks);
	free(k->taken.tasks);
}
