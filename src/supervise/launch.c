#include "supervise/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/text/printable.h"

/* Runs in the job's own process. All signals are still blocked, including SIGTTOU. */
_Noreturn static void become_job(struct job *job, pid_t guard, bool foreground)
{
	char name[200];
	char *const *argv;
	int e;

	setpgid(0, 0);
	job->shared->group = getpid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard)
		_exit(128 + SIGKILL);
	if (foreground)
		terminal_give(&job->terminal, getpid());
	if (job->input > 0)
		dup2(job->input, STDIN_FILENO);
	if (job->capture)
		capture_become(job->capture);
	if (job->relay)
		relay_become(job->relay);
	signals_restore(job->signals);
	if (job->call) {
		int code = job->call(job->call_arg);
		fflush(NULL);
		_exit(code);
	}
	memcpy(&argv, &job->argv, sizeof(argv)); /* execvp() takes no const, but changes nothing */
	execvp(argv[0], argv);
	e = errno;
	job->shared->exec_errno = e;
	printable(name, sizeof(name), argv[0], strlen(argv[0]));
	dprintf(STDERR_FILENO, "zkleader: %s: %s\n", name, strerror(e));
	_exit(e == ENOENT ? JOB_NOT_FOUND : JOB_CANNOT_START);
}

/*
 * Starts the job without a copy of this process, which would cost nearly as much as the start of a
 * program. But this process then waits for exec(2), which may hang. In that case the supervisor
 * ends the job in time, and if the supervisor is killed, the guard and the job die with it.
 */
static pid_t by_vfork(struct job *job)
{
	pid_t self = getpid(), pid = -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	errno = ESRCH;
	if (getppid() == job->supervisor)
		pid = vfork();
	if (pid == 0)
		become_job(job, self, false);
	prctl(PR_SET_PDEATHSIG, 0);
	return pid;
}

pid_t launch(struct job *job, bool foreground)
{
	pid_t self = getpid(), pid;

	if (job->next && !job->call)
		return by_vfork(job);
	pid = fork();
	if (pid == 0)
		become_job(job, self, foreground);
	return pid;
}
