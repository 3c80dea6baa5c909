#include "runner/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

struct jobs_key jobs_key(const char *name, const char *id, int64_t attempt)
{
	struct jobs_key key = {.attempt = attempt};

	snprintf(key.name, sizeof(key.name), "%s", name);
	snprintf(key.id, sizeof(key.id), "%s", id);
	return key;
}

bool jobs_same(const struct jobs_key *a, const struct jobs_key *b)
{
	return a->attempt == b->attempt && strcmp(a->id, b->id) == 0 &&
	       strcmp(a->name, b->name) == 0;
}

bool jobs_has(const struct jobs *j, const struct jobs_key *key)
{
	for (size_t i = 0; i < j->n; i++)
		if (jobs_same(&j->list[i].key, key))
			return true;
	return false;
}

void jobs_add(struct jobs *j, pid_t pid, const struct jobs_key *key)
{
	j->list = mem_resize(j->list, j->n + 1, sizeof(*j->list));
	j->list[j->n++] = (struct jobs_entry){pid, clock_boot_ms(), *key};
}

void jobs_begun(struct jobs *j, pid_t pid)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->list[i].pid == pid)
			j->list[i].begins_ms = 0;
}

size_t jobs_beginning(const struct jobs *j, int64_t *ret_ms)
{
	int64_t now_ms = clock_boot_ms();
	size_t n = 0;

	*ret_ms = INT64_MAX;
	for (size_t i = 0; i < j->n; i++) {
		int64_t end_ms = j->list[i].begins_ms + JOBS_BEGIN_MS;

		if (j->list[i].begins_ms == 0 || now_ms >= end_ms)
			continue;
		n++;
		*ret_ms = end_ms < *ret_ms ? end_ms : *ret_ms;
	}
	return n;
}

static void forget(struct jobs *j, pid_t pid, int status)
{
	for (size_t i = 0; i < j->n; i++) {
		if (j->list[i].pid != pid)
			continue;
		if (WIFSIGNALED(status))
			log_warning("the process around a job was killed, and so is the job",
				    LOG_STR("name", j->list[i].key.name),
				    LOG_STR("id", j->list[i].key.id),
				    LOG_INT("signal", WTERMSIG(status)));
		j->list[i] = j->list[--j->n];
		return;
	}
}

void jobs_reap(struct jobs *j)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		forget(j, pid, status);
}

void jobs_done(struct jobs *j)
{
	free(j->list);
}
