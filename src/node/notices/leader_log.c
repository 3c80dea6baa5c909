#include "node/notices/leader_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "core/fleet/identity.h"

static bool is_alike(const struct leader_change *a, const struct leader_change *b)
{
	return a->leads == b->leads && a->from == b->from && a->to == b->to &&
	       a->token == b->token && strcmp(a->reason, b->reason) == 0 &&
	       strcmp(a->better, b->better) == 0;
}

static int by_name(const void *a, const void *b)
{
	return names_natural(*(const char *const *)a, *(const char *const *)b);
}

static void write_line(const struct leader_log *l, const struct leader_change *c,
		       const char *const *tasks, size_t n)
{
	const struct member *m = c->better[0] ? fleet_find(l->fleet, c->better) : NULL;
	const struct log_field fields[] = {
		n == 1 ? LOG_STR("task", tasks[0]) : LOG_INT("tasks", n),
		LOG_STR("from", election_state_name(c->from)),
		LOG_STR("to", election_state_name(c->to)),
		LOG_STR("reason", c->reason),
		LOG_INT("token", c->token),
		LOG_STR("better", c->better[0] ? c->better : NULL),
		LOG_STR("better_node", m ? identity_name(m) : NULL),
		n == 1 ? LOG_END : LOG_LIST("task", tasks, n),
		LOG_END,
	};

	log_write(LOG_INFO, c->leads ? "leading" : "no longer leading", fields);
}

/* The first change that was not written yet, with all that are like it. */
static void write_group(struct leader_log *l, const struct leader_change *first, const char **tasks)
{
	const struct leader_change like = *first;
	size_t n = 0, part;

	for (size_t i = (size_t)(first - l->list); i < l->n; i++) {
		if (!l->list[i].task || !is_alike(&l->list[i], &like))
			continue;
		tasks[n++] = l->list[i].task;
		l->list[i].task = NULL;
	}
	qsort(tasks, n, sizeof(*tasks), by_name);
	for (size_t i = 0; i < n; i += part) {
		part = names_fit(tasks + i, n - i, LOG_LIST_MAX);
		write_line(l, &like, tasks + i, part);
	}
}

void leader_log_flush(struct leader_log *l)
{
	mem_auto const char **tasks = NULL;

	if (l->n == 0)
		return;
	tasks = mem_calloc(l->n, sizeof(*tasks));
	for (size_t i = 0; i < l->n; i++)
		if (l->list[i].task)
			write_group(l, &l->list[i], tasks);
	l->n = 0;
}

void leader_log_add(struct leader_log *l, const struct leader_change *change)
{
	if (!log_enabled(LOG_INFO))
		return;
	if (l->n == l->room) {
		l->room = l->room > 0 ? 2 * l->room : 16;
		l->list = mem_resize(l->list, l->room, sizeof(*l->list));
	}
	l->list[l->n++] = *change;
}

static void on_turn(void *arg)
{
	leader_log_flush(arg);
}

void leader_log_init(struct leader_log *l, struct host *host, const struct fleet *fleet)
{
	*l = (struct leader_log){.fleet = fleet};
	host_turn_init(&l->turn, host, on_turn, l);
}

void leader_log_done(struct leader_log *l)
{
	leader_log_flush(l);
	host_turn_done(&l->turn);
	free(l->list);
}
