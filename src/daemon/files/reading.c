#include "daemon/files/reading.h"

#include <stdlib.h>

#include "base/mem.h"
#include "daemon/files/secure_config.h"
#include "daemon/machine/offload.h"

static void begin(struct readings *all);

void reading_init(struct reading *r, enum reading_what what, const struct reading_base *base)
{
	r->what = what;
	r->base = *base;
	problems_init(&r->problems);
	problems_init(&r->of_tasks);
	task_files_init(&r->loaded);
	task_files_init(&r->in_force);
}

void reading_done(struct reading *r)
{
	config_free(r->config);
	free(r->version);
	problems_done(&r->problems);
	problems_done(&r->of_tasks);
	task_files_done(&r->loaded);
	task_files_done(&r->in_force);
	task_changes_done(&r->tasks);
	task_changes_done(&r->queues);
	free(r->is);
}

void reading_work(struct reading *r)
{
	const struct config *config = r->base.config;
	const struct task_config **was;
	size_t n_was;

	if (r->what == READING_VERSION) {
		config_read_version(config, &r->version, &r->problems);
		return;
	}
	if (r->what == READING_ALL &&
	    config_load(r->base.config_file, r->base.start, &r->config, &r->problems) == 0 &&
	    secure_config_check(r->config, &r->security, &r->problems) != 0) {
		config_free(r->config);
		r->config = NULL;
	}
	if (r->config)
		config = r->config;
	taskdir_load(config, &r->loaded, &r->of_tasks);
	taskdir_merge(r->base.tasks, &r->loaded, &r->in_force);
	task_files_done(&r->loaded);
	was = task_files_tasks(r->base.tasks, &n_was);
	r->is = task_files_tasks(&r->in_force, &r->n_is);
	task_changes_find(&r->tasks, was, n_was, r->is, r->n_is, false);
	task_changes_find(&r->queues, was, n_was, r->is, r->n_is, true);
	free(was);
}

/* --- in the thread ------------------------------------------------------------ */

static void work(void *arg)
{
	reading_work(arg);
}

/* --- on the loop -------------------------------------------------------------- */

static void on_read(void *arg)
{
	struct reading *r = arg;
	struct readings *all = r->of;

	/*
	 * This reading stays the first in the queue while it is applied, so that one which is asked
	 * for meanwhile waits for its end.
	 */
	if (!all->ended)
		all->apply(all->owner, r);
	else if (r->fn)
		r->fn(r->arg, NULL);
	STAILQ_REMOVE_HEAD(&all->queue, link);
	reading_done(r);
	free(r);
	if (!STAILQ_EMPTY(&all->queue) && !all->ended)
		begin(all);
}

static void begin(struct readings *all)
{
	struct reading *r = STAILQ_FIRST(&all->queue);
	struct reading_base base;

	all->begin(all->owner, &base);
	reading_init(r, r->what, &base);
	if (offload(all->loop, work, on_read, r) == 0)
		return;
	reading_work(r); /* no thread could be started: it blocks the loop instead */
	on_read(r);
}

/* Whether a reading that has not begun yet will read that as well. */
static bool is_coming(const struct readings *all, enum reading_what what)
{
	const struct reading *r = STAILQ_FIRST(&all->queue);

	while (r && (r = STAILQ_NEXT(r, link)))
		if (r->what == READING_ALL || r->what == what)
			return true;
	return false;
}

void readings_ask(struct readings *all, enum reading_what what, process_reload_fn fn, void *arg)
{
	if (!fn && is_coming(all, what))
		return;
	struct reading *r = mem_calloc(1, sizeof(*r));
	r->of = all;
	r->what = what;
	r->fn = fn;
	r->arg = arg;
	STAILQ_INSERT_TAIL(&all->queue, r, link);
	if (r == STAILQ_FIRST(&all->queue))
		begin(all);
}

void readings_init(struct readings *all, uv_loop_t *loop,
		   void (*begins)(void *arg, struct reading_base *ret_base),
		   void (*apply)(void *arg, struct reading *r), void *owner)
{
	*all = (struct readings){.loop = loop, .begin = begins, .apply = apply, .owner = owner};
	STAILQ_INIT(&all->queue);
}

void readings_done(struct readings *all)
{
	struct reading *first = STAILQ_FIRST(&all->queue), *r;

	all->ended = true;
	while (first && (r = STAILQ_NEXT(first, link))) {
		STAILQ_REMOVE(&all->queue, r, reading, link);
		if (r->fn)
			r->fn(r->arg, NULL);
		free(r);
	}
}
