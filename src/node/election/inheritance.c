#include "node/election/inheritance.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/name.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/tree/paths.h"

struct disowned {
	struct leaders *leaders;
	char path[STORE_PATH_MAX];
};

/* A refused or failed request is repeated after the next connection, and at the audit. */
static bool disown_failed(struct leaders *l, const struct store_reply *reply)
{
	if (reply->code == STORE_OK)
		return false;
	if (reply->code != STORE_ABANDONED && reply->code != STORE_NO_NODE)
		l->inheritance.again = true;
	return true;
}

static void on_disowned(void *arg, const struct store_reply *reply)
{
	disown_failed(arg, reply);
}

static void on_former(void *arg, const struct store_reply *reply)
{
	struct disowned *d = arg;
	struct leaders *l = d->leaders;

	/* The configuration may have changed since. */
	if (!disown_failed(l, reply) && reply->stat.owner == l->session->id &&
	    !tasks_find_any(l, strrchr(d->path, '/') + 1)) {
		struct store_op ops[2] = {
			{.type = STORE_OP_SET, .path = d->path, .version = reply->stat.version},
			{.type = STORE_OP_DELETE,
			 .path = d->path,
			 .version = reply->stat.version + 1},
		};
		log_info("given up", LOG_STR("path", d->path),
			 LOG_STR("reason", "not configured any more"));
		store_multi(l->session->store, ops, 2, on_disowned, l);
	}
	free(d);
}

static void on_all(void *arg, const struct store_reply *reply)
{
	struct leaders *l = arg;

	if (disown_failed(l, reply))
		return;
	for (size_t i = 0; i < reply->n_names; i++) {
		const char *task = reply->names[i];
		if (!name_is_election(task, strlen(task)) || tasks_find_any(l, task))
			continue;
		struct disowned *d = mem_calloc(1, sizeof(*d));
		d->leaders = l;
		path_of(l->registry->settings, PATH_LEADERS, task, d->path);
		store_get(l->session->store, d->path, false, on_former, d);
	}
}

/*
 * All leader nodes are listed: our predecessor may have been killed while it gave up tasks that its
 * record no longer listed.
 */
static void on_promises_over(void *arg)
{
	struct leaders *l = arg;
	char path[STORE_PATH_MAX];

	l->inheritance.again = !session_is_up(l->session);
	if (l->inheritance.again)
		return;
	path_of(l->registry->settings, PATH_LEADERS, NULL, path);
	store_children(l->session->store, path, false, on_all, l);
}

void inheritance_promised(struct leaders *l, int64_t until_ms)
{
	if (until_ms > l->inheritance.promised_ms)
		l->inheritance.promised_ms = until_ms;
}

static bool is_pending(const struct leaders *l)
{
	return l->inheritance.promises.host && host_timer_is_set(&l->inheritance.promises);
}

int64_t inheritance_promised_left(const struct leaders *l)
{
	int64_t left = l->inheritance.promised_ms - host_now_ms(l->session->host);

	return is_pending(l) && left > 0 ? left : 0;
}

static void look_for(struct task *t)
{
	leaders_keep_promise(t, t->leaders->inheritance.promised_ms);
	t->inheritance.open = true;
	leaders_set_interest(t);
}

void inheritance_task_added(struct task *t)
{
	if (is_pending(t->leaders))
		look_for(t);
}

void inheritance_recover(struct leaders *l)
{
	int64_t until = l->inheritance.promised_ms, now = host_now_ms(l->session->host);

	/* Promises are kept, also those made to jobs. */
	if (l->inheritance.jobs_ms > until)
		until = l->inheritance.jobs_ms;
	host_timer_init(&l->inheritance.promises, l->session->host, on_promises_over, l);
	host_timer_start(&l->inheritance.promises, until > now ? until - now : 0);
	for (size_t i = 0; i < l->n_tasks; i++)
		look_for(l->tasks[i]);
}

void inheritance_has_jobs(struct leaders *l, int64_t until_ms)
{
	l->inheritance.jobs_ms = until_ms;
}

void inheritance_settled(struct task *t)
{
	if (!t->inheritance.open)
		return;
	t->inheritance.open = false;
	leaders_set_interest(t);
}

void inheritance_retry(struct leaders *l)
{
	if (l->inheritance.again)
		on_promises_over(l);
}

void inheritance_forget(struct leaders *l)
{
	l->inheritance.again = false;
	if (l->inheritance.promises.host)
		host_timer_done(&l->inheritance.promises);
}
