/* The context of a call of a program: what it was given, its sidecar, and where it prints. */
#ifndef ZKLEADER_API_CONTEXT_H
#define ZKLEADER_API_CONTEXT_H

#include <stddef.h>

#include "zkleader.h"
#include "api/output.h"

#define CONTEXT_VALUES_MAX 8
#define CONTEXT_TIMEOUT_MS 10000 /* for an answer */

struct command;

struct context {
	const struct command *command;
	const char *socket; /* NULL: the default */
	const char **args;  /* arguments behind the command's name, without options */
	size_t n_args;
	size_t n_before; /* how many of them come before "--"; all, if there is none */
	const char *values[CONTEXT_VALUES_MAX]; /* for each of command->options: its value, "" if
						    it takes none; NULL: not given */
	struct output output;
	struct zkleader *z; /* NULL until it is needed */
};

/*
 * Says on the error stream why zkleader_open() or a call failed, with what that returned; returns
 * the exit code.
 */
int context_failed(const struct context *c, int r);

#endif
