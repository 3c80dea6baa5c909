/* The name of a local user. */
#ifndef ZKLEADER_CONTROL_ASK_USER_H
#define ZKLEADER_CONTROL_ASK_USER_H

#include <stddef.h>
#include <sys/types.h>

/*
 * "uid 1000" if there is no name. May block on a directory service: only off the loop.
 */
void user_name(uid_t uid, char *ret_name, size_t size);

#endif
