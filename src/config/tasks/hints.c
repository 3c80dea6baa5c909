#include "config/tasks/hints.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

/* Endings of files that were meant to be read. Leftovers of editors and packages have others. */
static const char *const meant[] = {".cfg",  ".cnf", ".config", ".ini",	 ".txt",
				    ".toml", ".yml", ".yaml",	".json", ".CONF"};

static bool is_meant(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(meant) / sizeof(meant[0]); i++) {
		size_t ending = strlen(meant[i]);

		if (name[0] != '.' && len > ending && strcmp(name + len - ending, meant[i]) == 0)
			return true;
	}
	return false;
}

static void warn_of_names(const struct config *config, struct problems *problems)
{
	DIR *dir = opendir(config->task_dir);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char path[2 * PROBLEM_TEXT_MAX];

		if (!is_meant(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", config->task_dir, entry->d_name);
		problems_warn(problems, path, PROBLEM_WHOLE_FILE,
			      "is not read: its name does not end with .conf");
	}
	if (dir)
		closedir(dir);
}

/* before: how the warning begins: the key, and the task or queue that has it. */
static void warn_of_users(char *const *users, size_t n, const char *file, int line,
			  const char *before, struct problems *problems)
{
	for (size_t i = 0; i < n; i++) {
		errno = 0;
		if (!getpwnam(users[i]))
			problems_warn(problems, file, line,
				      "%s: there is no user \"%s\" on this host%s%s", before,
				      users[i], errno ? ": " : "", errno ? strerror(errno) : "");
	}
}

static void warn_of_task_users(const struct task_config *t, struct problems *problems)
{
	char before[PROBLEM_TEXT_MAX];

	snprintf(before, sizeof(before), "%s \"%s\": %s", task_config_kind(t), t->name,
		 t->queue ? "submitters" : "users");
	warn_of_users(t->users, t->n_users, t->file, t->line, before, problems);
}

static void warn_of_queue(const struct config *config, const struct task_config *t,
			  struct problems *problems)
{
	if (t->queue && !config->auth_file)
		problems_warn(
			problems, t->file, t->line,
			"queue \"%s\": without an auth-file in zkleader.conf whoever can write "
			"to ZooKeeper can submit to it, and read its payloads",
			t->name);
}

void hints_warn(const struct config *config, const struct task_files *files,
		struct problems *problems)
{
	size_t n = 0;

	for (size_t i = 0; i < files->n; i++) {
		for (size_t j = 0; j < files->list[i].n_tasks; j++) {
			warn_of_task_users(files->list[i].tasks[j], problems);
			warn_of_queue(config, files->list[i].tasks[j], problems);
		}
		n += files->list[i].n_tasks;
	}
	warn_of_names(config, problems);
	warn_of_users(config->recipe_users, config->n_recipe_users, config->file,
		      config->recipe_users_line, "recipe-users", problems);
	/* If a file was refused, or the folder is missing, a problem says so already. */
	if (n == 0 && problems->n == 0)
		problems_warn(problems, config->file, config->task_dir_line,
			      "task-dir: no *.conf in \"%s\" has a task or a queue: this host will "
			      "lead nothing",
			      config->task_dir);
}
