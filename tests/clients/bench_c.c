/* usage: bench_c TASK N: the median of N zkleader_check() one after the other, in us. ZKLEADER_SOCKET says where. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <zkleader.h>

#define WARM 200

static double us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	struct zkleader_answer answer = {.size = sizeof(answer)};
	struct zkleader *z;
	int n = argc == 3 ? atoi(argv[2]) : 0;
	double *took = calloc((size_t)n + 1, sizeof(*took));

	if (n < 1 || !took || zkleader_open(NULL, &z) != 0)
		return 1;
	for (int i = -WARM; i < n; i++) {
		double begun = us();
		if (zkleader_check(z, argv[1], 1000, 5000, &answer) != 0 || !answer.leader) {
			fprintf(stderr, "%s\n", zkleader_message(z));
			return 1;
		}
		took[i < 0 ? 0 : i] = us() - begun;
	}
	zkleader_close(z);
	qsort(took, (size_t)n, sizeof(*took), compare);
	printf("%.1f\n", took[n / 2]);
	free(took);
	return 0;
}
