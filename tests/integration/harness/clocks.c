/*
 * Preloaded into a sidecar: the clocks that count time run as the file CLOCKS_FILE says, which the test
 * changes meanwhile. Suspended, a machine's CLOCK_BOOTTIME goes on and the others stand still.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL

struct clocks {
	int64_t monotonic_behind_ns; /* CLOCK_MONOTONIC and its kin */
	int64_t boot_behind_ns;	     /* CLOCK_BOOTTIME */
	int64_t boot_from_ns;	     /* from when on it runs slower or faster */
	int64_t boot_rate_ppm;	     /* 1000000: right */
};

static const volatile struct clocks *clocks;

__attribute__((constructor)) static void open_clocks(void)
{
	const char *path = getenv("CLOCKS_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED
			  : mmap(NULL, sizeof(struct clocks), PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		abort();
	close(fd);
	clocks = at;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int r = (int)syscall(SYS_clock_gettime, clock, t);
	int64_t ns = t->tv_sec * NS + t->tv_nsec;

	if (r != 0 || !clocks)
		return r;
	if (clock == CLOCK_BOOTTIME) {
		int64_t past = ns - clocks->boot_from_ns;
		ns = clocks->boot_from_ns + past / 1000000 * clocks->boot_rate_ppm +
		     past % 1000000 * clocks->boot_rate_ppm / 1000000 - clocks->boot_behind_ns;
	} else if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE ||
		   clock == CLOCK_MONOTONIC_RAW) {
		ns -= clocks->monotonic_behind_ns;
	}
	t->tv_sec = ns / NS;
	t->tv_nsec = ns % NS;
	return 0;
}
