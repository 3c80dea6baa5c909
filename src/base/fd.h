/* Descriptors other than the three standard ones. */
#ifndef ZKLEADER_BASE_FD_H
#define ZKLEADER_BASE_FD_H

/*
 * Moves fd above the three standard descriptors, and returns the new one. -1, with its errno, stays
 * -1.
 */
int fd_private(int fd);
/* Replaces a standard descriptor by /dev/null, so that this process does not hold it open. */
void fd_forget(int fd);
/*
 * Opens /dev/null as each standard descriptor that is closed: what is opened later must not get its
 * number, as it would get what is printed.
 */
void fd_open_standard(void);
/*
 * A pipe whose ends are no standard descriptors, and are closed in what is executed. 0, or a
 * negative errno and neither is set.
 */
int fd_pipe(int *ret_from, int *ret_into);

#endif
