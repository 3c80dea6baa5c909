/* The processes below this one: those that left their process group are found as well. */
#ifndef ZKLEADER_CLIENT_TREE_H
#define ZKLEADER_CLIENT_TREE_H

#include <sys/types.h>

/*
 * Sends the signal to each living descendant of this process but `skip` and the members of the process
 * group `group` (0: none). Returns how many there were, or a negative errno where /proc does not say.
 * It is a picture of a moment: who forks meanwhile is met by the next call.
 */
int tree_signal(int sig, pid_t skip, pid_t group);
/* To a process group, followed by a SIGCONT, as what is stopped can take no TERM. group > 0. */
void tree_signal_group(pid_t group, int sig);

#endif
