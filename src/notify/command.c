#include "notify/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "notify/input.h"

pid_t command_start(char *const *argv, size_t n, const char *text, const sigset_t *mask)
{
	mem_auto char **words = mem_calloc(n + 1, sizeof(*words));
	int in = input_of(&(struct input_part){text, strlen(text)}, 1);
	pid_t pid;

	if (in < 0)
		return -errno;
	memcpy(words, argv, n * sizeof(*words));
	pid = fork();
	if (pid == 0) {
		setsid();
		signal(SIGPIPE, SIG_DFL);
		sigprocmask(SIG_SETMASK, mask, NULL);
		dup2(in, 0);
		dup2(2, 1);
		unsetenv("NOTIFY_SOCKET");
		execv(words[0], words);
		dprintf(2, "zkleader-notify: %s: %s\n", words[0], strerror(errno));
		_exit(127);
	}
	close(in);
	return pid < 0 ? -errno : pid;
}
