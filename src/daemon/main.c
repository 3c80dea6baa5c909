#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/fd.h"
#include "base/log/log.h"
#include "base/text/options.h"
#include "config/config.h"
#include "config/tasks/hints.h"
#include "config/tasks/taskfile.h"
#include "daemon/files/secure_config.h"
#include "daemon/sidecar.h"
#include "daemon/zookeeper/zk.h"

static const struct option_spec specs[] = {
	{'c', "config", "FILE", "the configuration\n(default " CONFIG_FILE ")"},
	{'t', "test", NULL,
	 "check it and every task file, print each problem as\n"
	 "FILE:LINE: text, exit 0 or 78; a warning leaves it 0"},
	{'V', "version", NULL, "print the version"},
	{'h', "help", NULL, "print this"},
	{0, NULL, NULL, NULL},
};

static const struct option_program program = {
	.name = "zkleaderd",
	.usage = "[-c FILE] [-t] [-V] [-h]",
	.about =
		"\n"
		"The sidecar: registers this host's application version in ZooKeeper and runs one\n"
		"leader election for each configured task. Stays in the foreground and logs to\n"
		"standard error.\n",
	.specs = specs,
	.rest = "Signals: TERM and INT leave the fleet and exit 0, HUP reads all files again,\n"
		"USR2 exits 0 and leaves the session to the next sidecar on this socket.\n"
		"Exit: 0 told to stop, 78 bad configuration, 1 anything else. See zkleaderd(8).\n",
	.misuse = EXIT_FAILURE,
};

static void print_problem(const struct problem *p, const char *before)
{
	fputs(p->file, stderr);
	if (p->line > 0)
		fprintf(stderr, ":%d", p->line);
	fprintf(stderr, ": %s%s\n", before, p->message);
}

static void print_problems(const struct problems *problems)
{
	for (size_t i = 0; i < problems->n; i++)
		print_problem(&problems->list[i], "");
	for (size_t i = 0; i < problems->n_warnings; i++)
		print_problem(&problems->warnings[i], "warning: ");
}

static void count(const struct task_files *files, size_t *ret_tasks, size_t *ret_queues)
{
	for (size_t i = 0; i < files->n; i++) {
		for (size_t j = 0; j < files->list[i].n_tasks; j++)
			*(files->list[i].tasks[j]->queue ? ret_queues : ret_tasks) += 1;
	}
}

static int test(const char *file)
{
	struct problems problems;
	struct config *config = NULL;
	struct zk_security security;
	struct task_files tasks;
	size_t n = 0, queues = 0;

	problems_init(&problems);
	task_files_init(&tasks);
	config_examine(file, &config, &problems);
	if (config && problems.n == 0)
		secure_config_check(config, &security, &problems);
	if (config && config->task_dir) {
		taskdir_load(config, &tasks, &problems);
		count(&tasks, &n, &queues);
		hints_warn(config, &tasks, &problems);
	}
	print_problems(&problems);
	int code = problems.n == 0 ? 0 : EX_CONFIG;
	if (code == 0)
		printf("%s: good, %zu %s", file, n, n == 1 ? "task" : "tasks");
	if (code == 0 && queues > 0)
		printf(", %zu %s", queues, queues == 1 ? "queue" : "queues");
	if (code == 0)
		putchar('\n');
	task_files_done(&tasks);
	config_free(config);
	problems_done(&problems);
	return code;
}

static int run(const char *file)
{
	struct problems problems;
	struct config *config = NULL;
	struct zk_security security;

	fd_open_standard();
	problems_init(&problems);
	if (config_load(file, NULL, &config, &problems) != 0 ||
	    secure_config_check(config, &security, &problems) != 0) {
		print_problems(&problems);
		config_free(config);
		problems_done(&problems);
		return EX_CONFIG;
	}
	log_begin(config->log_level, config->log_format);
	zk_log_detail(config->log_level == LOG_DEBUG);
	secure_config_kerberos(config);
	return sidecar_run(file, config, &problems);
}

int main(int argc, char **argv)
{
	const char *file = CONFIG_FILE, *value;
	bool only_test = false;
	struct options o;
	int id, code;

	options_init(&o, (const char *const *)(argc > 0 ? argv + 1 : argv), specs, NULL);
	while ((id = options_program(&o, &program, &value, &code)) != OPTION_END) {
		if (id == 'c')
			file = value;
		else
			only_test = true;
	}
	if (code >= 0)
		return code;
	return only_test ? test(file) : run(file);
}
