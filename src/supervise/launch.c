#include "supervise/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/text/printable.h"

#define INTERPRETER_SIZE 256 /* bytes of a script's first line that the kernel reads */

/* --- why a command is not executed ---------------------------------------- */

/* Finds the file of a program as execvp(3) does. False: there is none. */
static bool find_file(const char *name, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && access(path, F_OK) == 0;
	while (dirs && *dirs) {
		size_t len = strcspn(dirs, ":");

		if (snprintf(path, PATH_MAX, "%.*s/%s", (int)len, len ? dirs : ".", name) <
			    PATH_MAX &&
		    access(path, X_OK) == 0)
			return true;
		dirs += len + (dirs[len] == ':');
	}
	return false;
}

/* The program behind the #! in the first line of a script; "": the file is none. */
static void read_interpreter(const char *path, char interpreter[INTERPRETER_SIZE])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, interpreter, INTERPRETER_SIZE - 1);
	size_t from = 2;

	if (fd >= 0)
		close(fd);
	interpreter[n > 0 ? n : 0] = '\0';
	if (n <= 2 || memcmp(interpreter, "#!", 2) != 0) {
		interpreter[0] = '\0';
		return;
	}
	from += strspn(interpreter + from, " \t");
	memmove(interpreter, interpreter + from, strlen(interpreter + from) + 1);
	interpreter[strcspn(interpreter, " \t\n")] = '\0';
}

/*
 * The kernel says of a script what it should say of the interpreter: that there is none, or that it
 * must not be executed.
 */
static bool is_of_interpreter(const char *path, int e)
{
	return e == ENOENT || (e == EACCES && access(path, X_OK) == 0);
}

static void say_why(char ret_why[JOB_WHY_SIZE], const char *what, const char *name, int e)
{
	char shown[JOB_WHY_SIZE - 60], all[JOB_WHY_SIZE + 60];

	printable(shown, sizeof(shown), name, strlen(name));
	snprintf(all, sizeof(all), "%s%s: %s", what, shown, strerror(e));
	printable(ret_why, JOB_WHY_SIZE, all, strlen(all));
}

static void explain(char ret_why[JOB_WHY_SIZE], const char *program, int e)
{
	char path[PATH_MAX], interpreter[INTERPRETER_SIZE] = "";

	if (find_file(program, path) && is_of_interpreter(path, e))
		read_interpreter(path, interpreter);
	if (interpreter[0])
		say_why(ret_why, "its interpreter ", interpreter, e);
	else
		say_why(ret_why, "", program, e);
}

int launch_exec(const char *const *argv, const char *directory, char ret_why[JOB_WHY_SIZE])
{
	char *const *words;
	int e;

	if (directory && chdir(directory) < 0) {
		say_why(ret_why, "the directory ", directory, errno);
		return JOB_CANNOT_START;
	}
	memcpy(&words, &argv, sizeof(words)); /* execvp() takes no const, but changes nothing */
	execvp(words[0], words);
	e = errno;
	explain(ret_why, words[0], e);
	return e == ENOENT ? JOB_NOT_FOUND : JOB_CANNOT_START;
}

/* --- the job's own process ------------------------------------------------ */

/* Runs in the job's own process. All signals are still blocked, including SIGTTOU. */
_Noreturn static void become_job(struct job *job, pid_t guard, bool foreground)
{
	int code;

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
		code = job->call(job->call_arg);
		fflush(NULL);
		_exit(code);
	}
	code = launch_exec(job->argv, job->directory, job->shared->why);
	dprintf(STDERR_FILENO, "zkleader: %s\n", job->shared->why);
	_exit(code);
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
