/* A text for another process. */
#ifndef ZKLEADER_NOTIFY_INPUT_H
#define ZKLEADER_NOTIFY_INPUT_H

#include <stddef.h>

struct input_part {
	const char *text;
	size_t len;
};

/*
 * A file in memory instead of a pipe: writing it never waits for a reader. Returns the descriptor,
 * at the beginning of the file; -1 and errno on failure.
 */
int input_of(const struct input_part *parts, size_t n);

#endif
