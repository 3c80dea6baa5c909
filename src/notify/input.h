/* A text for another process. */
#ifndef ZKLEADER_NOTIFY_INPUT_H
#define ZKLEADER_NOTIFY_INPUT_H

#include <stddef.h>

struct input_part {
	const char *text;
	size_t len;
};

/*
 * A file in memory and no pipe: it is there whole, whether anybody reads it or not. At its
 * beginning; -1, with its errno, where there is none.
 */
int input_of(const struct input_part *parts, size_t n);

#endif
