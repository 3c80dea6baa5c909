#include "config/tasks/hints.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define GROUPS_MAX 256 /* of a user; those behind are left out */

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
static void warn_of_users(const char *const *users, size_t n, const char *file, int line,
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
	warn_of_users((const char *const *)t->users, t->n_users, t->file, t->line, before,
		      problems);
}

/* The groups of a user, so that what the user may execute is known. */
struct who {
	uid_t uid;
	gid_t groups[GROUPS_MAX];
	int n;
};

/* Whether the mode has execution, or search, for the user. Root needs it for anybody. */
static bool may_execute(const struct stat *st, const struct who *who)
{
	mode_t bit = S_IXOTH;

	if (who->uid == 0)
		bit = S_ISDIR(st->st_mode) ? st->st_mode : S_IXUSR | S_IXGRP | S_IXOTH;
	else if (who->uid == st->st_uid)
		bit = S_IXUSR;
	for (int i = 0; bit == S_IXOTH && i < who->n; i++)
		if (who->groups[i] == st->st_gid)
			bit = S_IXGRP;
	return st->st_mode & bit;
}

/*
 * The reason why the program, or the folder, is of no use to the user; NULL: it is, or that cannot
 * be told from here.
 */
static const char *fault(const char *path, bool folder, const struct who *who)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? "is not there" : NULL;
	if (folder)
		return !S_ISDIR(st.st_mode)    ? "is not a folder"
		       : may_execute(&st, who) ? NULL
					       : "is closed to its user";
	if (!S_ISREG(st.st_mode))
		return "is no program";
	return may_execute(&st, who) ? NULL : "is not executable by its user";
}

static void warn_of_command(const struct task_config *t, struct problems *problems)
{
	const struct command_config *c = task_config_command(t);
	const char *user = task_config_user(t), *why;
	const struct passwd *entry;
	struct who who = {.n = GROUPS_MAX};
	char before[PROBLEM_TEXT_MAX];

	if (!user)
		return;
	entry = getpwnam(user);
	if (entry) {
		who.uid = entry->pw_uid;
		if (getgrouplist(user, entry->pw_gid, who.groups, &who.n) < 0)
			who.n = GROUPS_MAX; /* the first of them */
	} else {
		snprintf(before, sizeof(before), "%s \"%s\": user", task_config_kind(t), t->name);
		warn_of_users(&user, 1, t->file, t->line, before, problems);
		who.n = 0; /* what nobody may execute is told all the same, as for root */
	}
	why = c ? fault(c->words[0], false, &who) : NULL;
	if (why)
		problems_warn(problems, t->file, t->line, "%s \"%s\": command: \"%.200s\" %s",
			      task_config_kind(t), t->name, c->words[0], why);
	why = c && c->directory ? fault(c->directory, true, &who) : NULL;
	if (why)
		problems_warn(problems, t->file, t->line, "%s \"%s\": directory: \"%.200s\" %s",
			      task_config_kind(t), t->name, c->directory, why);
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
			warn_of_command(files->list[i].tasks[j], problems);
			warn_of_queue(config, files->list[i].tasks[j], problems);
		}
		n += files->list[i].n_tasks;
	}
	warn_of_names(config, problems);
	warn_of_users((const char *const *)config->recipe_users, config->n_recipe_users,
		      config->file, config->recipe_users_line, "recipe-users", problems);
	/* If a file was refused, or the folder is missing, a problem says so already. */
	if (n == 0 && problems->n == 0)
		problems_warn(problems, config->file, config->task_dir_line,
			      "task-dir: no *.conf in \"%s\" has a task or a queue: this host will "
			      "lead nothing",
			      config->task_dir);
}
