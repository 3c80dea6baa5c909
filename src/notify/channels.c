#include "notify/channels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"

static void forget(struct channels *c)
{
	notify_configs_done(&c->good);
	for (size_t i = 0; i < c->n_refusals; i++)
		free(c->refusals[i].file);
	c->n_refusals = 0;
}

/*
 * Keeps the sections of a file that cannot be parsed any more as they were before, as the sidecar
 * does.
 */
static void keep_before(struct channels *c, const struct channels *before, const char *shown)
{
	for (size_t i = 0; i < before->good.n; i++) {
		const struct notify_configs one = {&before->good.list[i], 1};
		struct notify_configs copy;

		if (strcmp(one.list[0].file, shown) != 0)
			continue;
		copy = notify_configs_copy(&one);
		c->good.list = mem_resize(c->good.list, c->good.n + 1, sizeof(*c->good.list));
		c->good.list[c->good.n++] = copy.list[0];
		free(copy.list);
	}
}

/* Reads the file through the descriptor that was checked: by now another file may have its name. */
static bool read_file(struct channels *c, const struct channels *before, const char *shown,
		      char why[TRUSTED_WHY_SIZE])
{
	struct task_config **tasks = NULL;
	struct problems problems;
	struct stat st;
	char path[40];
	size_t n = 0;
	int fd = trusted_open(shown, &st, why), e;

	if (fd < 0)
		return false;
	problems_init(&problems);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	e = taskfile_load_all(path, shown, &tasks, &n, &c->good, &problems);
	if (e == 0)
		taskfile_free(tasks, n);
	else
		keep_before(c, before, shown);
	if (e < 0)
		snprintf(why, TRUSTED_WHY_SIZE, "line %d: %.300s",
			 problems.n > 0 ? problems.list[0].line : 1,
			 problems.n > 0 ? problems.list[0].message : strerror(-e));
	problems_done(&problems);
	close(fd);
	return e == 0;
}

static bool was_refused(const struct channels *before, const struct channels_refusal *r)
{
	for (size_t i = 0; i < before->n_refusals; i++)
		if (strcmp(before->refusals[i].file, r->file) == 0 &&
		    strcmp(before->refusals[i].why, r->why) == 0)
			return true;
	return false;
}

void channels_read(struct channels *c, const struct task_files *files)
{
	struct channels before = *c;

	*c = (struct channels){.read_ms = clock_boot_ms()};
	for (size_t i = 0; i < files->n; i++) {
		struct channels_refusal r = {.file = NULL};

		if (files->list[i].notifies.n == 0 ||
		    read_file(c, &before, files->list[i].path, r.why) ||
		    c->n_refusals == CHANNELS_REFUSALS_MAX)
			continue;
		r.file = mem_strdup(files->list[i].path);
		if (!was_refused(&before, &r))
			log_warning("nobody is told by what this file says",
				    LOG_STR("file", r.file), LOG_STR("why", r.why));
		c->refusals[c->n_refusals++] = r;
	}
	forget(&before);
}

const struct notify_config *channels_find(const struct channels *c, const char *name, size_t len)
{
	for (size_t i = 0; i < c->good.n; i++)
		if (strlen(c->good.list[i].name) == len &&
		    memcmp(c->good.list[i].name, name, len) == 0)
			return &c->good.list[i];
	return NULL;
}

void channels_init(struct channels *c)
{
	*c = (struct channels){.read_ms = 0};
}

void channels_done(struct channels *c)
{
	forget(c);
}
