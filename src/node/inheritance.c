#include "node/inheritance.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/name.h"
#include "node/leaders.h"
#include "node/paths.h"
#include "node/tasks.h"

struct disowned {
	struct leaders *leaders;
	char path[STORE_PATH_MAX];
};

/* Refused or not done: looked for again after the next connection, and at the audit. */
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

	/* The configuration may be another by now. */
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

void inheritance_disown(struct leaders *l, char *const *tasks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!name_is_task(tasks[i], strlen(tasks[i])) || tasks_find_any(l, tasks[i]))
			continue;
		struct disowned *d = mem_calloc(1, sizeof(*d));
		d->leaders = l;
		path_of(l->registry->settings, PATH_LEADERS, tasks[i], d->path);
		store_get(l->session->store, d->path, false, on_former, d);
	}
}

static void on_all(void *arg, const struct store_reply *reply)
{
	if (!disown_failed(arg, reply))
		inheritance_disown(arg, reply->names, reply->n_names);
}

void inheritance_disown_all(struct leaders *l)
{
	char path[STORE_PATH_MAX];

	l->inheritance.again = false;
	path_of(l->registry->settings, PATH_LEADERS, NULL, path);
	store_children(l->session->store, path, false, on_all, l);
}

void inheritance_recover(struct leaders *l)
{
	int64_t promised = session_told_timeout(l->session) / 4;

	if (l->timing.yield_delay_ms > promised)
		promised = l->timing.yield_delay_ms;
	/* What our predecessor promised last is kept. */
	for (size_t i = 0; i < l->n_tasks; i++) {
		election_promised(&l->tasks[i]->election, host_now_ms(l->session->host) + promised);
		l->tasks[i]->recovers = true;
		leaders_set_interest(l->tasks[i]);
	}
}

void inheritance_retry(struct leaders *l)
{
	if (l->inheritance.again)
		inheritance_disown_all(l);
}

void inheritance_forget(struct leaders *l)
{
	l->inheritance.again = false;
}
