/* The commands of zkleader: a table of them, a file for each. */
#ifndef ZKLEADER_CLI_UI_COMMAND_H
#define ZKLEADER_CLI_UI_COMMAND_H

#include <stddef.h>

#include "api/context.h"
#include "base/text/options.h"

#define COMMAND_ARGS_ANY SIZE_MAX

struct command {
	const char *name;
	const char *args;  /* for the help; "" for none */
	const char *help;  /* one line */
	const char *more;  /* more text for the command's help, or NULL */
	const char *exits; /* exit codes in its help; NULL: the common ones */
	size_t min_args, max_args;
	const struct option_spec *options; /* besides the common ones; NULL: none */
	int (*run)(struct context *c);	   /* returns the exit code */
};

/* To add a command: its file, its line here and its place in the table of command.c. */
extern const struct command command_list;
extern const struct command command_tasks;
extern const struct command command_status;
extern const struct command command_explain;
extern const struct command command_watch;
extern const struct command command_run;
extern const struct command command_history;
extern const struct command command_logs;
extern const struct command command_next;
extern const struct command command_partitions;
extern const struct command command_drain;
extern const struct command command_undrain;
extern const struct command command_pause;
extern const struct command command_resume;
extern const struct command command_resign;
extern const struct command command_unresign;
extern const struct command command_pin;
extern const struct command command_unpin;
extern const struct command command_barrier;
extern const struct command command_trigger;
extern const struct command command_counter;
extern const struct command command_index;
extern const struct command command_roster;
extern const struct command command_forget;
extern const struct command command_join;
extern const struct command command_lock;
extern const struct command command_locks;
extern const struct command command_wait;
extern const struct command command_rolling;
extern const struct command command_submit;
extern const struct command command_job;
extern const struct command command_cancel;
extern const struct command command_queue;
extern const struct command command_dead;
extern const struct command command_requeue;
extern const struct command command_purge;
extern const struct command command_import_crontab;
extern const struct command command_reload;
extern const struct command command_help;
extern const struct command command_version;

/* The table, ending with NULL. */
const struct command *const *command_all(void);
/* By name, or NULL. */
const struct command *command_find(const char *name);
/* The command that was probably meant, or NULL. */
const struct command *command_nearest(const char *name);

/* The program: its exit code. argv is without the program's name. */
int command_main(const char *const *argv, const struct output *output);
/* Prints the help of a command, or of the program for NULL. */
void command_usage(const struct output *o, const struct command *command);

/* Parsed arguments. */
struct invocation {
	struct context context;
	const char **args; /* owned */
	bool help;
	bool version;
};
/* 0, or -EINVAL after a line on the error stream. */
int command_parse(const char *const *argv, const struct output *output, struct invocation *ret);
void invocation_done(struct invocation *i);

#endif
