/* The local user that a runner runs as, and the environment of the user's jobs. */
#ifndef ZKLEADER_RUNNER_ACCOUNT_H
#define ZKLEADER_RUNNER_ACCOUNT_H

#include <stddef.h>

#define ACCOUNT_PROXIES 7 /* variables */

struct account {
	char *user;
	char *home;
	char *proxies[ACCOUNT_PROXIES]; /* of the runner's environment; NULL: not set */
};

/* Asks the user database, which may block: 0, or -ENOENT or another negative errno. */
int account_init(struct account *a);
void account_done(struct account *a);
/*
 * In the process of a job: sets up its own session, empty standard input, the home folder, umask
 * 022 and the environment of a user, and drops all that is ours. 0, or a negative errno if there is
 * no home folder.
 */
int account_become(const struct account *a);
/* Sets the environment of the user's jobs in place of the present one. */
void account_environment(const struct account *a);
/* Adds the variables for proxies that the runner was started with: for requests of its own. */
void account_proxies(const struct account *a);

#endif
