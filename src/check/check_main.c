/* zkleader-check: the command that stands before && in a line of a crontab. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include "check/check.h"

int main(int argc, char **argv)
{
	/* If the reader of -v's output is gone, a SIGPIPE must not change the exit code. */
	signal(SIGPIPE, SIG_IGN);
	return check_run((const char *const *)(argc > 0 ? argv + 1 : argv), stdout, stderr);
}
