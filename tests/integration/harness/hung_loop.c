/*
 * Preloaded: the loop of a sidecar stands still. Whoever asks who is at the other end of a connection, as the loop
 * does with each new client, stays there for as long as the file that HUNG_LOOP names is there: asleep, or at work
 * if there is something in that file. Built by test_hung_loop.py.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	int (*real)(int, int, int, void *, socklen_t *);
	const char *file = getenv("HUNG_LOOP");
	struct stat st;

	while (file && level == SOL_SOCKET && name == SO_PEERCRED && stat(file, &st) == 0)
		if (st.st_size == 0)
			nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	*(void **)&real = dlsym(RTLD_NEXT, "getsockopt");
	return real(fd, level, name, value, len);
}
