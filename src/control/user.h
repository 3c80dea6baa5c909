/* The name of a local user. */
#ifndef ZKLEADER_CONTROL_USER_H
#define ZKLEADER_CONTROL_USER_H

#include <stddef.h>
#include <sys/types.h>

/*
 * "uid 1000" where there is no name. May block, as a directory service may be asked: off the loop
 * alone.
 */
void user_name(uid_t uid, char *ret_name, size_t size);

#endif
