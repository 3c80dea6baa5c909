#include "runner/jobs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/mem.h"

bool jobs_has(const struct jobs *j, const struct due *due)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct due *other = &j->list[i].due;

		if (other->attempt == due->attempt && strcmp(other->task, due->task) == 0 &&
		    strcmp(other->tick, due->tick) == 0)
			return true;
	}
	return false;
}

void jobs_add(struct jobs *j, pid_t pid, const struct due *due)
{
	j->list = mem_resize(j->list, j->n + 1, sizeof(*j->list));
	j->list[j->n++] = (struct jobs_entry){pid, *due};
}

static void forget(struct jobs *j, pid_t pid, int status)
{
	for (size_t i = 0; i < j->n; i++) {
		if (j->list[i].pid != pid)
			continue;
		if (WIFSIGNALED(status))
			log_warning("the process around a job was killed, and so is the job",
				    LOG_STR("task", j->list[i].due.task),
				    LOG_STR("tick", j->list[i].due.tick),
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
