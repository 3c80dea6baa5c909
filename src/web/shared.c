#include "web/shared.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"

struct waiter {
	struct waiter *next;
	shared_fn fn;
	void *arg;
};

struct shared_entry {
	struct shared_entry *next;
	struct shared *all;
	char *method, *name; /* name: NULL: the method is asked without a parameter */
	int64_t tag, asked_ms;
	struct waiter *waiters;
	json_t *answer; /* NULL: not come yet */
};

static bool is_about(const struct shared_entry *e, const struct shared_question *q)
{
	return e->tag == q->tag && strcmp(e->method, q->method) == 0 && !e->name == !q->name &&
	       (!q->name || strcmp(e->name, q->name) == 0) &&
	       clock_boot_ms() - e->asked_ms < q->age_ms;
}

static struct shared_entry *find(const struct shared *s, const struct shared_question *q)
{
	struct shared_entry *e = s->entries;

	while (e && !is_about(e, q))
		e = e->next;
	return e;
}

static void drop(struct shared_entry *e)
{
	struct shared_entry **at = &e->all->entries;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	e->all->n_kept -= e->answer != NULL;
	json_decref(e->answer);
	free(e->method);
	free(e->name);
	free(e);
}

void shared_init(struct shared *s, struct sidecar *sidecar)
{
	*s = (struct shared){.sidecar = sidecar};
}

void shared_done(struct shared *s)
{
	while (s->entries)
		drop(s->entries);
}

void shared_look(struct shared *s, int64_t now_ms)
{
	for (struct shared_entry *e = s->entries, *next; e; e = next) {
		next = e->next;
		if (e->answer && now_ms - e->asked_ms >= SHARED_KEPT_MS)
			drop(e);
	}
}

json_t *shared_find(const struct shared *s, const struct shared_question *q)
{
	struct shared_entry *e = find(s, q);

	return e && e->answer ? json_incref(e->answer) : NULL;
}

static void on_answer(void *arg, int code, const char *why, struct reader result)
{
	struct shared_entry *e = arg;
	struct waiter *waiters = e->waiters;
	json_auto_t *answer = NULL;

	if (code == 0 &&
	    json_from_msgpack(result.p, (size_t)(result.end - result.p), &answer) < 0) {
		code = -EBADMSG;
		why = "the sidecar's answer makes no sense";
	}
	/* The waiters are removed before they are told, as they may ask again. */
	e->waiters = NULL;
	if (code == 0 && e->all->n_kept < SHARED_KEPT_MAX) {
		e->answer = json_incref(answer);
		e->all->n_kept++;
	} else {
		drop(e);
	}
	for (struct waiter *w = waiters, *next; w; w = next) {
		next = w->next;
		w->fn(w->arg, code, why, answer);
		free(w);
	}
}

int shared_ask(struct shared *s, const struct shared_question *q, int64_t timeout_ms, shared_fn fn,
	       void *arg)
{
	struct shared_entry *e = find(s, q);
	struct waiter *w;

	if (!e) {
		e = mem_calloc(1, sizeof(*e));
		*e = (struct shared_entry){.next = s->entries,
					   .all = s,
					   .method = mem_strdup(q->method),
					   .name = q->name ? mem_strdup(q->name) : NULL,
					   .tag = q->tag,
					   .asked_ms = clock_boot_ms()};
		s->entries = e;
		int error = sidecar_ask(s->sidecar, q->method, q->name, timeout_ms, on_answer, e);
		if (error < 0) {
			drop(e);
			return error;
		}
	}
	w = mem_alloc(sizeof(*w));
	*w = (struct waiter){.next = e->waiters, .fn = fn, .arg = arg};
	e->waiters = w;
	return 0;
}
