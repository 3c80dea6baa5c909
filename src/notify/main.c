/*
 * zkleader-notify: sends messages about events to people, and pings about runs to services, as the
 * task files say.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "zkleader.h"
#include "api/link.h"
#include "base/fd.h"
#include "base/log/log.h"
#include "base/text/options.h"
#include "config/config.h"
#include "notify/notifier.h"

#define SPOOL_FOLDER "/var/spool/zkleader"

#define OPTION_SPOOL 256

static const struct option_spec specs[] = {
	{'s', "socket", "SOCKET",
	 "of the sidecar ($ZKLEADER_SOCKET,\n" ZKLEADER_SOCKET_DEFAULT ")"},
	{'c', "config", "FILE", "its configuration, which names task-dir\n(" CONFIG_FILE ")"},
	{OPTION_SPOOL, "spool", "DIR",
	 "where messages wait that are to be sent\n(" SPOOL_FOLDER ")"},
	{'V', "version", NULL, "print the version"},
	{'h', "help", NULL, "print this"},
	{0, NULL, NULL, NULL},
};

static const struct option_program program = {
	.name = "zkleader-notify",
	.usage = "[-s SOCKET] [-c FILE] [--spool DIR]",
	.about = "\n"
		 "Tells people of events, by the sections notify of the task files: over HTTP, or\n"
		 "by a command. Tells of each run on this host where its task's ping-url says.\n"
		 "Reads the task files itself.\n",
	.specs = specs,
	.rest = "Signals: TERM and INT end it with 0; HUP reads the task files at once, which it\n"
		"does by itself every few seconds.\n"
		"Exit: 0 told to end, 78 it cannot begin like this, 1 anything else.\n",
	.misuse = EX_CONFIG,
};

static int misuse(const char *why)
{
	fprintf(stderr, "zkleader-notify: %s\n", why);
	return EX_CONFIG;
}

/* Parses the command line. -1: go on; otherwise the exit code. */
static int parse(struct notifier_options *r, const char *const *argv)
{
	struct options o;
	const char *value;
	int id, code;

	options_init(&o, argv, specs, NULL);
	while ((id = options_program(&o, &program, &value, &code)) != OPTION_END) {
		switch (id) {
		case 's': r->socket = value; break;
		case 'c': r->config_file = value; break;
		case OPTION_SPOOL: r->spool = value; break;
		default: break;
		}
	}
	return code;
}

int main(int argc, char **argv)
{
	struct notifier_options options = {
		.socket = link_path(NULL), .config_file = CONFIG_FILE, .spool = SPOOL_FOLDER};
	int code = parse(&options, (const char *const *)(argc > 0 ? argv + 1 : argv));

	if (code >= 0)
		return code;
	fd_open_standard();
	log_begin(LOG_INFO, LOG_TEXT);
	code = notifier_run(&options);
	if (code == -EINVAL || code == -ENAMETOOLONG)
		return misuse("that is not the path of a socket");
	return code == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
