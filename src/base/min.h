/* The smaller of two numbers, as of times. */
#ifndef ZKLEADER_BASE_MIN_H
#define ZKLEADER_BASE_MIN_H

#include <stdint.h>

static inline int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

#endif
