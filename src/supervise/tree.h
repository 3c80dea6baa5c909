/* The descendants of this process, those that left its process group included. */
#ifndef ZKLEADER_SUPERVISE_TREE_H
#define ZKLEADER_SUPERVISE_TREE_H

#include <stddef.h>
#include <sys/types.h>

/* A set of processes, identified by pid and start time, as a pid may be used again. */
struct tree_set {
	struct tree_process {
		pid_t pid;
		unsigned long long start; /* in the kernel's ticks since the boot */
	} * list;			  /* sorted by pid */
	size_t n;
};

/* The living descendants of this process. 0, or a negative errno if /proc cannot be read. */
int tree_list(struct tree_set *ret_set);
void tree_set_done(struct tree_set *set);

/*
 * Sends the signal to each living descendant of this process, except `skip`, the members of the
 * process group `group` (0: none), those in `spare` (NULL: none) and their descendants. Returns
 * their number, or a negative errno if /proc cannot be read. A process that is forked meanwhile may
 * be missed until the next call.
 */
int tree_signal(int sig, pid_t skip, pid_t group, const struct tree_set *spare);
/*
 * Sends the signal to a process group (> 0), then SIGCONT, as a stopped process does not handle
 * TERM.
 */
void tree_signal_group(pid_t group, int sig);

#endif
