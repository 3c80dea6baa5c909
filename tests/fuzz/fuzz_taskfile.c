/* Task files through the sidecar's own loader: each is taken whole, or refused with its reasons. */
#include "fuzz_file.h"

#include "base/text/name.h"
#include "config/keys/task_form.h"
#include "config/tasks/taskfile.h"

static void check_task(const struct task_config *t, int lines)
{
	FUZZ_CHECK(name_is_task(t->name, strlen(t->name)));
	FUZZ_CHECK(!t->description ||
		   (strlen(t->description) <= TASK_DESCRIPTION_MAX && t->description[0] != '\0'));
	FUZZ_CHECK(t->yield <= ELECTION_YIELD_NEVER && t->on_crash <= TASK_ON_CRASH_RERUN);
	FUZZ_CHECK(t->rank_position >= -1 && t->rank_position < WORKER_RANDOM_INTS);
	FUZZ_CHECK(!t->min_version || name_is_version(t->min_version, strlen(t->min_version)));
	FUZZ_CHECK(t->tick_ms >= TASK_TICK_MIN_MS && t->tick_ms <= TASK_TICK_MAX_MS &&
		   t->tick_ms % 1000 == 0);
	FUZZ_CHECK(t->wait_ms >= 0 && t->wait_ms <= TASK_WAIT_MAX_MS);
	FUZZ_CHECK(t->hold_max_ms >= TASK_HOLD_MIN_MS && t->hold_max_ms <= TASK_HOLD_MAX_MS);
	FUZZ_CHECK(t->history >= 1 && t->history <= TASK_HISTORY_MAX);
	FUZZ_CHECK(t->n_users <= TASK_USERS_MAX);
	for (size_t i = 0; i < t->n_users; i++)
		FUZZ_CHECK(t->users[i][0] != '\0' && strlen(t->users[i]) <= NAME_USER_MAX);
	check_health(&t->health);
	FUZZ_CHECK(t->line >= 1 && t->line <= lines);
}

static void check_tasks(struct task_config **tasks, size_t n, int lines)
{
	for (size_t i = 0; i < n; i++) {
		struct task_config *copy = task_config_copy(tasks[i]);

		check_task(tasks[i], lines);
		FUZZ_CHECK(task_config_equal(tasks[i], copy));
		task_config_free(copy);
		for (size_t j = 0; j < i; j++)
			FUZZ_CHECK(strcmp(tasks[i]->name, tasks[j]->name) != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, &size);
	int lines = count_lines(data, size);
	struct task_config **tasks = NULL;
	struct problems problems;
	size_t n = 0;
	int r;

	problems_init(&problems);
	r = taskfile_load(path, "conf.d/fuzz.conf", &tasks, &n, &problems);
	check_problems(&problems, r, lines);
	if (r == 0) {
		check_tasks(tasks, n, lines);
		taskfile_free(tasks, n);
	} else {
		FUZZ_CHECK(!tasks && n == 0);
	}
	problems_done(&problems);
	return 0;
}
