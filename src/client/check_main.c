/* zkleader-check: the crontab word. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include "client/check.h"

int main(int argc, char **argv)
{
	/* A reader of -v that has gone must not change the exit code. */
	signal(SIGPIPE, SIG_IGN);
	return check_run((const char *const *)(argc > 0 ? argv + 1 : argv), stdout, stderr);
}
