/* The program zkleader-check without its main(). */
#ifndef ZKLEADER_CHECK_CHECK_H
#define ZKLEADER_CHECK_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "zkleader.h"
#include "base/text/name.h"
#include "base/text/options.h"

#define CHECK_WAIT_MS	 1000
#define CHECK_TIMEOUT_MS 5000 /* default; added to the wait where that is longer */

enum check_action { CHECK_ASK, CHECK_HELP, CHECK_VERSION };

struct check_options {
	enum check_action action;
	const char *socket; /* NULL: the default */
	const char *task;
	int64_t timeout_ms;
	int64_t wait_ms;
	int64_t tick_ms; /* 0: the task's */
	bool once;
	bool any;			  /* asks for any of its partitions */
	const char *partition;		  /* NULL: not given separately */
	char name[NAME_ELECTION_MAX + 1]; /* TASK:K, if K was given separately */
	bool quiet;
	bool verbose;
};

/* Parses the arguments, without the program's name. 0, or -EINVAL and why says what is wrong. */
int check_parse(const char *const *argv, struct check_options *ret_options,
		char why[OPTIONS_WHY_SIZE]);
/* The program: its exit code. */
int check_run(const char *const *argv, FILE *out, FILE *err);

#endif
