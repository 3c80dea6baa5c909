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

/* All commands, by the groups and in the order of the help; each is a struct command in a file. */
/* clang-format off */
#define COMMANDS_LOOK(X) \
	X(list) X(tasks) X(status) X(explain) X(watch) X(history) X(logs) X(next) X(partitions) \
	X(help) X(version)
#define COMMANDS_DECIDE(X) \
	X(drain) X(undrain) X(pause) X(resume) X(resign) X(unresign) X(pin) X(unpin) X(rolling) \
	X(reload)
#define COMMANDS_RUN(X) X(run) X(trigger) X(wait) X(import_crontab)
#define COMMANDS_QUEUES(X) X(submit) X(job) X(cancel) X(queue) X(dead) X(requeue) X(purge)
#define COMMANDS_RECIPES(X) \
	X(lock) X(locks) X(barrier) X(join) X(counter) X(index) X(roster) X(forget)
#define COMMANDS(X) \
	COMMANDS_LOOK(X) COMMANDS_DECIDE(X) COMMANDS_RUN(X) COMMANDS_QUEUES(X) COMMANDS_RECIPES(X)
/* clang-format on */

#define COMMAND_DECLARE(name) extern const struct command command_##name;
COMMANDS(COMMAND_DECLARE)

/* The table, ending with NULL. */
const struct command *const *command_all(void);
/* The command of that name, or NULL. */
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
/* Parses the arguments. 0, or -EINVAL after a line on the error stream. */
int command_parse(const char *const *argv, const struct output *output, struct invocation *ret);
void invocation_done(struct invocation *i);

#endif
