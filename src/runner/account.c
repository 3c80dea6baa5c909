#include "runner/account.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

#define BUFFER_SIZE 65536

/* The variables that libcurl reads. */
static const char *const proxies[ACCOUNT_PROXIES] = {"http_proxy", "https_proxy", "HTTPS_PROXY",
						     "all_proxy",  "ALL_PROXY",	  "no_proxy",
						     "NO_PROXY"};

int account_init(struct account *a)
{
	mem_auto char *buffer = mem_alloc(BUFFER_SIZE);
	struct passwd entry, *found = NULL;
	int e = getpwuid_r(geteuid(), &entry, buffer, BUFFER_SIZE, &found);

	if (!found)
		return e > 0 ? -e : -ENOENT;
	a->user = mem_strdup(found->pw_name);
	a->home = mem_strdup(found->pw_dir);
	for (size_t i = 0; i < ACCOUNT_PROXIES; i++)
		a->proxies[i] = getenv(proxies[i]) ? mem_strdup(getenv(proxies[i])) : NULL;
	return 0;
}

void account_done(struct account *a)
{
	for (size_t i = 0; i < ACCOUNT_PROXIES; i++)
		free(a->proxies[i]);
	free(a->user);
	free(a->home);
}

int account_become(const struct account *a)
{
	setsid();
	umask(022);
	if (chdir(a->home) < 0)
		return -errno;
	fd_forget(STDIN_FILENO);
	account_environment(a);
	return 0;
}

void account_environment(const struct account *a)
{
	clearenv();
	setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
	setenv("HOME", a->home, 1);
	setenv("USER", a->user, 1);
	setenv("LOGNAME", a->user, 1);
	setenv("SHELL", "/bin/sh", 1);
}

void account_proxies(const struct account *a)
{
	for (size_t i = 0; i < ACCOUNT_PROXIES; i++)
		if (a->proxies[i])
			setenv(proxies[i], a->proxies[i], 1);
}
