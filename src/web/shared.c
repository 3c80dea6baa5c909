#include "web/shared.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"

struct waiter {
	SLIST_ENTRY(waiter) link;
	shared_fn fn;
	void *arg;
};

struct shared_entry {
	LIST_ENTRY(shared_entry) link;
	struct shared *all;
	struct sidecar_request request; /* its texts are the entry's */
	int64_t tag, asked_ms;
	SLIST_HEAD(waiter_list, waiter) waiters;
	json_t *answer; /* NULL: not come yet */
};

static bool is_same(const struct sidecar_request *a, const struct sidecar_request *b)
{
	return strcmp(a->method, b->method) == 0 && !a->name == !b->name &&
	       (!a->name || strcmp(a->name, b->name) == 0) && a->since_ms == b->since_ms &&
	       a->last == b->last && a->no_outputs == b->no_outputs;
}

/* The newest entry; answered: with an answer. */
static struct shared_entry *find(const struct shared *s, const struct shared_question *q,
				 bool answered)
{
	int64_t now = clock_boot_ms();

	for (struct shared_entry *e = LIST_FIRST(&s->entries); e; e = LIST_NEXT(e, link))
		if (e->tag == q->tag && is_same(&e->request, &q->request) &&
		    now - e->asked_ms < q->age_ms && (e->answer || !answered))
			return e;
	return NULL;
}

static void drop(struct shared_entry *e)
{
	LIST_REMOVE(e, link);
	e->all->n_kept -= e->answer != NULL;
	json_decref(e->answer);
	free((char *)(uintptr_t)e->request.method);
	free((char *)(uintptr_t)e->request.name);
	free(e);
}

void shared_init(struct shared *s, struct sidecar *sidecar)
{
	*s = (struct shared){.sidecar = sidecar};
}

void shared_done(struct shared *s)
{
	while (!LIST_EMPTY(&s->entries))
		drop(LIST_FIRST(&s->entries));
}

void shared_look(struct shared *s, int64_t now_ms)
{
	for (struct shared_entry *e = LIST_FIRST(&s->entries), *next; e; e = next) {
		next = LIST_NEXT(e, link);
		if (e->answer && now_ms - e->asked_ms >= SHARED_KEPT_MS)
			drop(e);
	}
}

json_t *shared_find(const struct shared *s, const struct shared_question *q, int64_t *ret_age_ms)
{
	struct shared_entry *e = find(s, q, true);

	if (!e)
		return NULL;
	*ret_age_ms = clock_boot_ms() - e->asked_ms;
	return json_incref(e->answer);
}

static void on_answer(void *arg, int code, const char *why, struct reader result)
{
	struct shared_entry *e = arg;
	struct waiter_list waiters = e->waiters;
	struct waiter *w;
	json_auto_t *answer = NULL;

	if (code == 0 &&
	    json_from_msgpack(result.p, (size_t)(result.end - result.p), &answer) < 0) {
		code = -EBADMSG;
		why = "the sidecar's answer makes no sense";
	}
	/* The waiters are removed before they are told, as they may ask again. */
	SLIST_INIT(&e->waiters);
	if (code == 0 && e->all->n_kept < SHARED_KEPT_MAX) {
		e->answer = json_incref(answer);
		e->all->n_kept++;
	} else {
		drop(e);
	}
	while ((w = SLIST_FIRST(&waiters))) {
		SLIST_REMOVE_HEAD(&waiters, link);
		w->fn(w->arg, code, why, answer);
		free(w);
	}
}

int shared_ask(struct shared *s, const struct shared_question *q, int64_t timeout_ms, shared_fn fn,
	       void *arg)
{
	struct shared_entry *e = find(s, q, false);
	struct waiter *w;

	if (!e) {
		e = mem_calloc(1, sizeof(*e));
		*e = (struct shared_entry){.all = s,
					   .request = q->request,
					   .tag = q->tag,
					   .asked_ms = clock_boot_ms()};
		e->request.method = mem_strdup(q->request.method);
		e->request.name = q->request.name ? mem_strdup(q->request.name) : NULL;
		LIST_INSERT_HEAD(&s->entries, e, link);
		int error = sidecar_ask(s->sidecar, &q->request, timeout_ms, on_answer, e);
		if (error < 0) {
			drop(e);
			return error;
		}
	}
	w = mem_alloc(sizeof(*w));
	*w = (struct waiter){.fn = fn, .arg = arg};
	SLIST_INSERT_HEAD(&e->waiters, w, link);
	return 0;
}
