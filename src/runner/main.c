/*
 * zkleader-runner: starts the jobs of one user: scheduled tasks that this host leads, and jobs of
 * queues.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "zkleader.h"
#include "api/link.h"
#include "base/fd.h"
#include "base/log/log.h"
#include "base/text/options.h"
#include "config/config.h"
#include "runner/runner.h"

static const struct option_spec specs[] = {
	{'s', "socket", "SOCKET",
	 "of the sidecar ($ZKLEADER_SOCKET,\n" ZKLEADER_SOCKET_DEFAULT ")"},
	{'c', "config", "FILE", "its configuration, which names task-dir\n(" CONFIG_FILE ")"},
	{'V', "version", NULL, "print the version"},
	{'h', "help", NULL, "print this"},
	{0, NULL, NULL, NULL},
};

static const struct option_program program = {
	.name = "zkleader-runner",
	.usage = "[-s SOCKET] [-c FILE]",
	.about =
		"\nStarts the commands of the tasks whose schedule names the user that it runs "
		"as,\n"
		"when the sidecar says that they are due. Reads them from the task files itself.\n",
	.specs = specs,
	.rest = "Signals: TERM and INT end it with 0, and what it has started goes on; HUP reads\n"
		"the task files at once, which it does by itself every few seconds.\n"
		"Exit: 0 told to end, 78 it cannot begin like this, 1 anything else.\n",
	.misuse = EX_CONFIG,
};

static int misuse(const char *why)
{
	fprintf(stderr, "zkleader-runner: %s\n", why);
	return EX_CONFIG;
}

/* Parses the command line. -1: go on; otherwise the exit code. */
static int parse(struct runner_options *r, const char *const *argv)
{
	struct options o;
	const char *value;
	int id, code;

	options_init(&o, argv, specs, NULL);
	while ((id = options_program(&o, &program, &value, &code)) != OPTION_END) {
		switch (id) {
		case 's': r->socket = value; break;
		case 'c': r->config_file = value; break;
		default: break;
		}
	}
	return code;
}

/* The path from / on: commands, and the processes around them, start in other folders. */
static const char *absolute(const char *path, char whole[PATH_MAX])
{
	size_t len;

	if (path[0] == '/' || path[0] == '\0' || !getcwd(whole, PATH_MAX))
		return path;
	len = strlen(whole);
	if (snprintf(whole + len, PATH_MAX - len, "/%s", path) >= (int)(PATH_MAX - len))
		return path;
	return whole;
}

int main(int argc, char **argv)
{
	struct runner_options options = {.socket = link_path(NULL), .config_file = CONFIG_FILE};
	int code = parse(&options, (const char *const *)(argc > 0 ? argv + 1 : argv));
	char socket[PATH_MAX];

	if (code >= 0)
		return code;
	options.socket = absolute(options.socket, socket);
	fd_open_standard();
	options.journal = log_begin(LOG_INFO, LOG_TEXT);
	code = runner_run(&options);
	if (code == -EINVAL || code == -ENAMETOOLONG)
		return misuse("that is not the path of a socket");
	return code == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
