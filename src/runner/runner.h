/*
 * The runner of one user: takes from the sidecar what is due, starts it, and says which tasks it
 * must not start. What it has started goes on without it.
 */
#ifndef ZKLEADER_RUNNER_RUNNER_H
#define ZKLEADER_RUNNER_RUNNER_H

struct runner_options {
	const char *socket;	 /* of the sidecar */
	const char *config_file; /* the main one */
	const char *journal;	 /* the path of its socket; NULL: standard error */
};

/* Runs until TERM or INT: 0, or a negative errno if it cannot begin. */
int runner_run(const struct runner_options *options);

#endif
