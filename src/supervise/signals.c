#include "supervise/signals.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"

static bool is_ignored(int sig)
{
	struct sigaction action;

	return sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int signals_block(struct signals *s)
{
	static const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};
	struct sigaction wait = {.sa_handler = SIG_DFL};
	sigset_t read, block;

	sigprocmask(SIG_BLOCK, NULL, &s->mask);
	sigemptyset(&read);
	sigaddset(&read, SIGCHLD);
	sigaddset(&read, SIGCONT);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if (!is_ignored(passed[i]) && !sigismember(&s->mask, passed[i]))
			sigaddset(&read, passed[i]);
	block = read;
	/*
	 * Writing to a closed standard error must not end this process, and using a terminal that
	 * another group has must not stop it.
	 */
	sigaddset(&block, SIGPIPE);
	sigaddset(&block, SIGTTOU);
	s->fd = fd_private(signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK));
	if (s->fd < 0)
		return -errno;
	sigprocmask(SIG_BLOCK, &block, NULL);
	/* The caller may have ignored SIGCHLD, and then no child could be waited for. */
	sigaction(SIGCHLD, &wait, &s->chld);
	return 0;
}

int signals_next(const struct signals *s)
{
	struct signalfd_siginfo info;

	return read(s->fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

void signals_obey(const struct signals *s, int sig)
{
	if (sig == SIGTSTP)
		raise(SIGSTOP);
	if (sig == SIGTSTP || sig == SIGCHLD || sig == SIGCONT)
		return;
	signals_restore(s);
	raise(sig);
}

void signals_restore(const struct signals *s)
{
	sigaction(SIGCHLD, &s->chld, NULL);
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
}
