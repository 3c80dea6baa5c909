#include "supervise/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/fd.h"

void terminal_init(struct terminal *t)
{
	*t = (struct terminal){
		.fd = fd_private(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)),
		.home = getpgrp(),
	};
}

/* Whether our group is in the foreground. */
static bool is_home(const struct terminal *t)
{
	return t->fd >= 0 && tcgetpgrp(t->fd) == t->home;
}

bool terminal_is_for_job(const struct terminal *t)
{
	return is_home(t) && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

bool terminal_give(struct terminal *t, pid_t group)
{
	t->wanted = true;
	return is_home(t) && tcsetpgrp(t->fd, group) == 0;
}

bool terminal_take(struct terminal *t, pid_t group)
{
	pid_t now = t->fd >= 0 && t->wanted ? tcgetpgrp(t->fd) : -1;

	/*
	 * The terminal is taken back from the job's group, or from a group that has ended: a shell
	 * among the job's processes may have given it to one.
	 */
	if (now <= 1 || (now != group && (kill(-now, 0) == 0 || errno != ESRCH)))
		return false;
	return tcsetpgrp(t->fd, t->home) == 0;
}
