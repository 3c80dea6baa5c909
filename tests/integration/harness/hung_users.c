/*
 * Preloaded: a directory of users and groups that does not answer until the file that HUNG_USERS names is
 * there. Built by test_run.py.
 */
#include <grp.h>
#include <pwd.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void hang(void)
{
	const char *file = getenv("HUNG_USERS");

	while (file && access(file, F_OK) != 0)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static void *next(const char *name)
{
	hang();
	return dlsym(RTLD_NEXT, name);
}

struct passwd *getpwnam(const char *name)
{
	struct passwd *(*real)(const char *);

	*(void **)&real = next("getpwnam");
	return real(name);
}

int getpwnam_r(const char *name, struct passwd *user, char *buffer, size_t size,
	       struct passwd **ret)
{
	int (*real)(const char *, struct passwd *, char *, size_t, struct passwd **);

	*(void **)&real = next("getpwnam_r");
	return real(name, user, buffer, size, ret);
}

int getgrnam_r(const char *name, struct group *group, char *buffer, size_t size, struct group **ret)
{
	int (*real)(const char *, struct group *, char *, size_t, struct group **);

	*(void **)&real = next("getgrnam_r");
	return real(name, group, buffer, size, ret);
}
