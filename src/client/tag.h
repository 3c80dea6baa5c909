/* `zkleader run --tag`: the name of a partition before each line of its output. */
#ifndef ZKLEADER_CLIENT_TAG_H
#define ZKLEADER_CLIENT_TAG_H

#include <sys/types.h>

struct tag {
	pid_t pid;
};

/*
 * From now on standard output and error of this process go through another process, which writes
 * the name and a blank before each line. 0 or a negative errno, and all is as it was.
 */
int tag_begin(struct tag *t, const char *name);
/* Nothing more is written: waits until all that was has come out. */
void tag_end(const struct tag *t);

#endif
