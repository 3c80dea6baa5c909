#include "supervise/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/launch.h"

int child_exec(const struct signals *signals, const char *const *argv)
{
	char why[JOB_WHY_SIZE];
	int code;

	signals_restore(signals);
	code = launch_exec(argv, NULL, why);
	dprintf(STDERR_FILENO, "zkleader: the command cannot be started: %s\n", why);
	return code;
}

pid_t child_start(const struct signals *signals, const char *const *argv)
{
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child > 0)
		return child;
	_exit(child_exec(signals, argv));
}

void child_pass_on(pid_t child, const struct signalfd_siginfo *info)
{
	int sig = (int)info->ssi_signo;

	if (sig == SIGTSTP)
		raise(SIGSTOP);
	else if (sig != SIGCHLD && sig != SIGCONT && info->ssi_code != SI_KERNEL)
		kill(child, sig);
}

int child_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int child_look(const struct signals *signals, pid_t child)
{
	struct signalfd_siginfo info;
	int status;

	while (read(signals->fd, &info, sizeof(info)) == sizeof(info))
		child_pass_on(child, &info);
	if (waitpid(child, &status, WNOHANG) != child)
		return -1;
	return child_status(status);
}
