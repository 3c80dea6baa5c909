/* Descriptors that are kept away from the three standard ones. */
#ifndef ZKLEADER_BASE_FD_H
#define ZKLEADER_BASE_FD_H

/*
 * A descriptor that is none of the three standard ones, instead of fd; closes fd. -1, with its
 * errno, stays -1.
 */
int fd_private(int fd);
/* In place of a standard descriptor that this process does not need: others wait for its end. */
void fd_forget(int fd);

#endif
