#include "node/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/name.h"
#include "node/candidates.h"
#include "node/disagreement.h"

static bool is_gone(const struct task *t)
{
	return t->withdrawn && t->pending == 0 &&
	       (t->election.state == ELECTION_DOWN || t->election.state == ELECTION_FOLLOWING);
}

static void task_free(struct task *t)
{
	free(t->name);
	free(t->description);
	free(t->min_version);
	free(t->ticks.names);
	free(t->standing.pinned);
	free(t);
}

/* Numbers the tasks and tells the fleet and the registry their names. */
static void index_tasks(struct leaders *l)
{
	l->names = mem_resize(l->names, l->n_tasks + 1, sizeof(*l->names));
	l->n_published = 0;
	const char **published = mem_calloc(l->n_tasks + 1, sizeof(*published));
	uint32_t *digests = mem_calloc(l->n_tasks + 1, sizeof(*digests));
	const struct contest **contests = mem_calloc(l->n_tasks + 1, sizeof(*contests));
	for (size_t i = 0; i < l->n_tasks; i++) {
		l->tasks[i]->index = i;
		l->names[i] = l->tasks[i]->name;
		contests[i] = &l->tasks[i]->contest;
		if (l->tasks[i]->withdrawn)
			continue;
		digests[l->n_published] = disagreement_digest(l->tasks[i]);
		published[l->n_published++] = l->tasks[i]->name;
	}
	fleet_set_tasks(&l->registry->fleet, l->names, l->n_tasks);
	fleet_set_contests(&l->registry->fleet, contests);
	free(contests);
	l->edition = 0;
	registry_set_tasks(l->registry, published, digests, l->n_published);
	free(l->published);
	free(l->digests);
	l->published = published;
	l->digests = digests;
}

void tasks_drop_gone(struct leaders *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n_tasks; i++) {
		struct task *t = l->tasks[i];
		if (is_gone(t)) {
			l->handlers.removed(l->handlers.arg, t);
			task_free(t);
		} else {
			l->tasks[kept++] = t;
		}
	}
	if (kept == l->n_tasks)
		return;
	l->n_tasks = kept;
	index_tasks(l);
}

struct task *tasks_find_any(const struct leaders *l, const char *name)
{
	for (size_t low = 0, high = l->n_tasks; low < high;) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, l->tasks[middle]->name);
		if (order == 0)
			return l->tasks[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static struct task *task_new(struct leaders *l, const char *name)
{
	struct task *t = mem_calloc(1, sizeof(*t));

	t->leaders = l;
	t->name = mem_strdup(name);
	return t;
}

static void configure(struct task *t, const struct task_settings *settings,
		      const struct node_timing *timing, bool is_new)
{
	struct election_config ec = {
		.yield = settings->yield,
		.yield_delay_ms = timing->yield_delay_ms,
		.tick_guard_ms = timing->tick_guard_ms,
	};

	free(t->description);
	free(t->min_version);
	t->description = settings->description ? mem_strdup(settings->description) : NULL;
	t->min_version = settings->min_version ? mem_strdup(settings->min_version) : NULL;
	t->settings = *settings;
	t->settings.name = t->name;
	t->settings.description = t->description;
	t->settings.min_version = t->min_version;
	t->contest = (struct contest){.task = t->name,
				      .min_version = t->settings.min_version,
				      .rank_position = t->settings.rank_position,
				      .oldest = t->settings.oldest,
				      .pinned = t->standing.pinned};
	if (!is_new)
		fleet_contest_changed(&t->leaders->registry->fleet, t->index);
	if (is_new) {
		election_init(&t->election, &ec);
	} else {
		struct election_event event = {.type = ELECTION_CONFIG, .config = ec};
		leaders_step(t, &event);
	}
}

static int compare_tasks(const void *a, const void *b)
{
	return strcmp((*(struct task *const *)a)->name, (*(struct task *const *)b)->name);
}

void tasks_apply(struct leaders *l, const struct node_timing *timing,
		 const struct task_settings *tasks, size_t n)
{
	size_t before = l->n_tasks;
	struct task **added = mem_calloc(n + 1, sizeof(*added));
	size_t n_added = 0;

	l->timing = *timing;
	for (size_t i = 0; i < before; i++)
		l->tasks[i]->withdrawn = true;
	for (size_t i = 0; i < n; i++) {
		struct task *t = tasks_find_any(l, tasks[i].name);
		bool is_new = !t;
		if (is_new)
			t = added[n_added++] = task_new(l, tasks[i].name);
		t->withdrawn = false;
		configure(t, &tasks[i], timing, is_new);
	}
	l->tasks = mem_resize(l->tasks, before + n_added + 1, sizeof(*l->tasks));
	memcpy(l->tasks + before, added, n_added * sizeof(*added));
	l->n_tasks = before + n_added;
	transactions_reserve(&l->transactions, l->n_tasks);
	reads_reserve(&l->reads, l->n_tasks);
	qsort(l->tasks, l->n_tasks, sizeof(*l->tasks), compare_tasks);
	index_tasks(l);
	if (session_is_up(l->session)) {
		for (size_t i = 0; i < n_added; i++)
			leaders_step(added[i],
				     &(struct election_event){
					     .type = ELECTION_UP,
					     .up_timeout_ms = session_told_timeout(l->session)});
	}
	for (size_t i = 0; i < n_added; i++)
		l->handlers.added(l->handlers.arg, added[i]);
	free(added);
	for (size_t i = 0; i < l->registry->fleet.n_members; i++)
		disagreement_count(l, l->registry->fleet.by_id[i]);
	candidates_changed(l);
	tasks_drop_gone(l);
	int64_t now = host_now_ms(l->session->host);
	leaders_wake(l, now + 1000, now);
}

struct task *tasks_find(const struct leaders *l, const char *name, size_t len)
{
	char text[NAME_TASK_MAX + 1];

	if (len > NAME_TASK_MAX || memchr(name, '\0', len))
		return NULL;
	memcpy(text, name, len);
	text[len] = '\0';
	struct task *t = tasks_find_any(l, text);
	return t && (!t->withdrawn || l->leaving) ? t : NULL;
}

void tasks_withdraw(struct leaders *l)
{
	l->leaving = true;
	for (size_t i = 0; i < l->n_tasks; i++)
		l->tasks[i]->withdrawn |= l->tasks[i]->holds == 0;
	index_tasks(l);
	candidates_changed(l);
}

void tasks_done(struct leaders *l)
{
	for (size_t i = 0; i < l->n_tasks; i++)
		task_free(l->tasks[i]);
	free(l->tasks);
	free(l->names);
	free(l->published);
	free(l->digests);
}
