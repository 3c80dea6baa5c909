/* Histograms of a quantity: counts in buckets with fixed bounds, as in Prometheus. */
#ifndef ZKLEADER_BASE_HISTOGRAM_H
#define ZKLEADER_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BOUNDS_MAX 12

/* The upper bounds of the buckets, rising; borrowed by each histogram. */
struct histogram_bounds {
	size_t n;
	int64_t le[HISTOGRAM_BOUNDS_MAX];
};

/* A histogram. All zero: empty. */
struct histogram {
	uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* for each bucket, and for what is above all */
	int64_t sum;
};

/* A negative value counts as 0. */
void histogram_add(struct histogram *h, const struct histogram_bounds *bounds, int64_t value);

#endif
