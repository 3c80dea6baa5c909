/* Runs CMD of a rolling restart. It has no guard, because a lost session does not end CMD. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/decide/rolling.h"
#include "supervise/child.h"
#include "supervise/job.h"

static bool is_end(int sig)
{
	return sig == SIGTERM || sig == SIGINT || sig == SIGHUP || sig == SIGQUIT;
}

bool rolling_job_is_ended(const struct signals *signals)
{
	int sig;

	while ((sig = signals_next(signals)) != 0) {
		if (!is_end(sig))
			continue;
		/*
		 * The signal is blocked, so it ends this process only after everything was
		 * reported.
		 */
		raise(sig);
		return true;
	}
	return false;
}

int rolling_job(const struct output *o, const struct signals *signals, const char *const *argv,
		bool *ret_ended)
{
	struct pollfd fd = {.fd = signals->fd, .events = POLLIN};
	struct signalfd_siginfo info;
	bool ended = false;
	int status;
	pid_t job;

	fflush(o->out);
	job = fork();
	if (job == 0)
		_exit(child_exec(signals, argv));
	if (job < 0) {
		output_error(o, "%s cannot be started: %s", argv[0], strerror(errno));
		*ret_ended = false;
		return JOB_CANNOT_START;
	}
	while (waitpid(job, &status, WNOHANG) != job) {
		poll(&fd, 1, -1);
		while (read(signals->fd, &info, sizeof(info)) == sizeof(info)) {
			ended |= is_end((int)info.ssi_signo);
			child_pass_on(job, &info);
		}
	}
	int code = child_status(status);
	*ret_ended = ended || code == 128 + SIGTERM;
	return code;
}
