/* Tasks and queues that no runner of this host would start, and why. */
#include "control/programs/runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/election/listing.h"

static bool judge(const struct methods *m, const struct task_config *t, struct runners_trouble *ret)
{
	const struct listing *l = listings_find(&m->node->leaders, t->name, strlen(t->name));
	const char *user = task_config_user(t);
	const struct program_problem *refusal = NULL;
	const struct runner *r;
	struct program_problem key;

	*ret = (struct runners_trouble){.task = t->name, .about = t->file};
	if (!l || (!l->settings.has_user && l->settings.users_asked))
		return false;
	if (!l->settings.has_user) {
		snprintf(ret->text, sizeof(ret->text),
			 "there is no user \"%.100s\" on this host, whom its command runs as",
			 user);
		return true;
	}
	r = runners_find(m, l->settings.user);
	snprintf(key.task, sizeof(key.task), "%s", t->name);
	if (r && r->refused.n > 0)
		refusal = bsearch(&key, r->refused.list, r->refused.n, sizeof(key),
				  runner_refusals_by_task);
	if (refusal) {
		ret->about = refusal->file[0] ? refusal->file : t->file;
		snprintf(ret->text, sizeof(ret->text), "not started from this file: %s",
			 refusal->text);
		return true;
	}
	if (!r || !runner_is_away(m, r))
		return false;
	ret->about = user;
	if (r->c)
		snprintf(ret->text, sizeof(ret->text),
			 "its runner does not answer for 30 s, as one that is stopped or waits "
			 "for a file system: systemctl restart zkleader-runner@%.100s",
			 user);
	else
		snprintf(ret->text, sizeof(ret->text),
			 "no runner of this user is there to start its tasks: systemctl enable "
			 "--now zkleader-runner@%.100s",
			 user);
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct runners_trouble *x = a, *y = b;

	return strcmp(x->task, y->task);
}

struct runners_trouble *runners_troubles(const struct methods *m, size_t *ret_n)
{
	const struct task_files *files = m->process->tasks;
	struct runners_trouble *list = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < files->n; i++) {
		for (size_t j = 0; j < files->list[i].n_tasks; j++) {
			const struct task_config *t = files->list[i].tasks[j];
			struct runners_trouble one;

			if (!task_config_user(t) || !judge(m, t, &one))
				continue;
			list = mem_resize(list, *ret_n + 1, sizeof(*list));
			list[(*ret_n)++] = one;
		}
	}
	if (*ret_n > 1)
		qsort(list, *ret_n, sizeof(*list), by_name);
	return list;
}

/* Whether the same problem is listed already: tasks of one user or one file share it. */
static bool is_there(const struct problems *problems, const struct runners_trouble *t)
{
	for (size_t i = 0; i < problems->n; i++)
		if (strcmp(problems->list[i].file, t->about) == 0 &&
		    strcmp(problems->list[i].message, t->text) == 0)
			return true;
	return false;
}

void runners_find_problems(const struct methods *m, struct problems *problems)
{
	size_t n;
	struct runners_trouble *list = runners_troubles(m, &n);
	const struct runner *r;

	for (size_t i = 0; i < n; i++)
		if (!is_there(problems, &list[i]))
			problems_add(problems, list[i].about, PROBLEM_WHOLE_FILE, "%s",
				     list[i].text);
	free(list);
	SLIST_FOREACH (r, &m->runners.list, link)
		if (r->c && r->lost > 0)
			problems_warn(problems, "zkleader-runner", PROBLEM_WHOLE_FILE,
				      "nobody reads what the runner of uid %u logs: %" PRIu64
				      " lines are lost",
				      (unsigned)r->uid, r->lost);
}
