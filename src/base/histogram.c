#include "base/histogram.h"

void histogram_add(struct histogram *h, const struct histogram_bounds *bounds, int64_t value)
{
	size_t i = 0;

	if (value < 0)
		value = 0;
	while (i < bounds->n && value > bounds->le[i])
		i++;
	h->counts[i]++;
	h->sum += value;
}
