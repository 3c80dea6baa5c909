#include "notify/urls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "config/config.h"

/* Logs the first problem of the task files, once. The sidecar tells all of them. */
static void tell(struct urls *u, const struct problem *p)
{
	mem_auto char *text = NULL;

	if (p && asprintf(&text, "%s:%d: %s", p->file, p->line, p->message) < 0)
		text = NULL;
	if (text && (!u->problem || strcmp(text, u->problem) != 0))
		log_warning("the task files are not all good", LOG_STR("why", text));
	free(u->problem);
	u->problem = text;
	text = NULL;
}

/*
 * Reads the task files again. A file that is bad now keeps its last good state, as in the sidecar.
 */
static void refresh(struct urls *u)
{
	struct task_files loaded, in_force;
	struct problems problems, of_main;
	struct config *config = NULL;

	u->read_ms = clock_boot_ms();
	problems_init(&problems);
	problems_init(&of_main);
	/* This user need not be allowed to read the version-file and the auth-file. */
	config_examine(u->config_file, &config, &of_main);
	if (config && config->task_dir) {
		taskdir_load(config, &loaded, &problems);
		taskdir_merge(&u->files, &loaded, &in_force);
		task_files_done(&loaded);
		task_files_done(&u->files);
		u->files = in_force;
		tell(u, problems.n > 0 ? problems.list : NULL);
	} else {
		tell(u, of_main.n > 0 ? of_main.list : NULL);
	}
	config_free(config);
	problems_done(&of_main);
	problems_done(&problems);
}

const struct task_files *urls_files(struct urls *u)
{
	if (u->read_ms == 0 || clock_boot_ms() - u->read_ms >= URLS_AGE_MS)
		refresh(u);
	return &u->files;
}

const char *urls_find(struct urls *u, const char *task)
{
	char name[NAME_ELECTION_MAX + 1];

	urls_files(u);
	snprintf(name, sizeof(name), "%s", task);
	name[strcspn(name, ":")] = '\0';
	const struct task_config *t = task_files_find(&u->files, name);
	return t ? t->ping_url : NULL;
}

void urls_forget(struct urls *u)
{
	u->read_ms = 0;
}

void urls_init(struct urls *u, const char *config_file)
{
	*u = (struct urls){.config_file = config_file};
	task_files_init(&u->files);
}

void urls_done(struct urls *u)
{
	task_files_done(&u->files);
	free(u->problem);
}
