/*
 * Standard error, for writers that must not wait: where nobody reads the pipe, or a terminal is
 * stopped, the text is refused. Standard error is usually shared with other processes, so its own
 * flags are left alone: O_NONBLOCK there would make the others lose what they write.
 */
#ifndef ZKLEADER_BASE_LOG_ERROUT_H
#define ZKLEADER_BASE_LOG_ERROUT_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes the text in one piece, of at most PIPE_BUF bytes, to standard error or to a duplicate of
 * it. Safe from any thread. 0, or a negative errno and it is lost: -EAGAIN where nothing is taken
 * at present. A regular file is written to directly, as no flag makes a disk answer.
 */
int errout_write(int to, const char *text, size_t len);
/*
 * A line-buffered stream to standard error. Text that cannot be written is lost. NULL: out of
 * memory.
 */
FILE *errout_stream(void);

/*
 * Like errout_write(), for a pipe that may not be opened anew, on kernels before 6.4: these have no
 * RWF_NOWAIT for pipes.
 */
int errout_splice(int to, const char *text, size_t len);

#endif
