/* Parses crontabs as Debian's cron does, line by line, for import-crontab. */
#ifndef ZKLEADER_CLI_RUN_CRONTAB_H
#define ZKLEADER_CLI_RUN_CRONTAB_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "api/context.h"

#define CRONTAB_ENV_MAX	 100 /* variables of a crontab */
#define CRONTAB_NAME_MAX 80  /* bytes of a task's name that leave room for a number */

enum crontab_kind {
	CRONTAB_NOTHING, /* a blank line or a comment */
	CRONTAB_VARIABLE,
	CRONTAB_JOB,
	CRONTAB_BAD /* why */
};

/* A line of a crontab, which owns its texts; NULL: none. */
struct crontab_line {
	enum crontab_kind kind;
	const char *why;
	char *name, *value; /* of a variable */
	char *schedule, *user, *command;
	char *input; /* text on the command's standard input; NULL: none */
};

/*
 * Parses one line, without its newline. system: with the user in front of the command, as in
 * /etc/crontab.
 */
void crontab_parse(const char *text, size_t len, bool system, struct crontab_line *ret);
void crontab_line_done(struct crontab_line *l);

/*
 * The schedule that says what a refused one means elsewhere, such as "every 5m" for "@every 5m" and
 * "*" for "?", on the heap. NULL: there is none.
 */
char *crontab_equivalent(const char *schedule, const char *task);
/*
 * The words that have the command run as cron runs it: the program and its words, or the shell and
 * what it needs for the standard input, which is NULL where there is none.
 */
json_t *crontab_words(const char *shell, const char *command, const char *input);
/* Things that people should know of a command, one after the other from i = 0 on; NULL: no more. */
const char *crontab_note(const char *command, size_t i);
/*
 * Whether the crontab has a column of users, or none with `user`, as far as that can be told. False
 * after a line on the error stream.
 */
bool crontab_column_fits(const struct context *c, const char *text, size_t len, bool user);

/*
 * A name for the task, derived from the command: that of the program that does the work, not of the
 * shell or of nice(1). "job" if there is none.
 */
void crontab_name(const char *command, char name[CRONTAB_NAME_MAX + 1]);
/*
 * If the command uses zkleader already, "zkleader run TASK -- CMD" or "zkleader-check TASK && CMD":
 * writes TASK to name and returns CMD. Else NULL.
 */
const char *crontab_own(const char *command, char name[CRONTAB_NAME_MAX + 1]);

#endif
