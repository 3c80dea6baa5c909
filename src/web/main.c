/* zkleader-web: offers metrics, health, JSON, events and a page of the fleet over HTTP. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <uv.h>

#include "zkleader.h"
#include "api/link.h"
#include "base/fd.h"
#include "base/log/log.h"
#include "base/log/notify.h"
#include "base/text/options.h"
#include "web/access.h"
#include "web/address.h"
#include "web/server.h"

#define LISTEN_DEFAULT "127.0.0.1:9467"
#define HOST_LETTERS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

enum { OPTION_TOKEN = 300, OPTION_HOST };

static const struct option_spec specs[] = {
	{'s', "socket", "SOCKET",
	 "of the sidecar ($ZKLEADER_SOCKET,\n" ZKLEADER_SOCKET_DEFAULT ")"},
	{'l', "listen", "ADDRESS",
	 "ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH\n(" LISTEN_DEFAULT ")"},
	{OPTION_TOKEN, "token-file", "FILE",
	 "its first line is asked for; needed but for loopback\nand unix:"},
	{OPTION_HOST, "host", "NAME", "a name that this server is addressed by; may be\nrepeated"},
	{'V', "version", NULL, "print the version"},
	{'h', "help", NULL, "print this"},
	{0, NULL, NULL, NULL},
};

struct setup {
	const char *socket, *listen, *token_file;
	struct address address;
	struct access access;
};

static const struct option_program program = {
	.name = "zkleader-web",
	.usage = "[-s SOCKET] [-l ADDRESS] [--token-file FILE]\n"
		 "                    [--host NAME]...",
	.about =
		"\nShows the fleet of the sidecar on this machine over HTTP: a page, /metrics for\n"
		"Prometheus, /healthz, /readyz, /leader/TASK, JSON under /v1/. Changes nothing.\n",
	.specs = specs,
	.rest = "Signals: TERM and INT end it with 0.\n"
		"Exit: 0 told to end, 78 it cannot begin like this, 1 anything else.\n",
	.misuse = EX_CONFIG,
};

static int misuse(const char *what, const char *value, const char *why)
{
	fprintf(stderr, "zkleader-web: %s%s%s: %s\n", what, value ? " " : "", value ? value : "",
		why);
	return EX_CONFIG;
}

static int add_host(struct setup *s, const char *name)
{
	size_t len = strspn(name, HOST_LETTERS);

	if (len == 0 || name[len] != '\0')
		return misuse("--host", name, "not the name of a host");
	if (s->access.n_hosts == ACCESS_HOSTS_MAX)
		return misuse("--host", name, "too many names");
	s->access.hosts[s->access.n_hosts++] = name;
	return 0;
}

/* Parses the command line. -1: go on; otherwise the exit code. */
static int parse(struct setup *s, const char *const *argv)
{
	struct options o;
	const char *value;
	int id, code;

	options_init(&o, argv, specs, NULL);
	while ((id = options_program(&o, &program, &value, &code)) != OPTION_END) {
		switch (id) {
		case 's': s->socket = value; break;
		case 'l': s->listen = value; break;
		case OPTION_TOKEN: s->token_file = value; break;
		case OPTION_HOST:
			if (add_host(s, value) != 0)
				return EX_CONFIG;
			break;
		default: break;
		}
	}
	return code;
}

static int check(struct setup *s)
{
	const char *why = NULL;

	if (address_parse(s->listen, &s->address, &why) < 0)
		return misuse("-l", s->listen, why);
	s->access.address = &s->address;
	if (s->token_file && access_read_token(&s->access, s->token_file, &why) < 0)
		return misuse("--token-file", s->token_file, why);
	if (s->token_file && strlen(s->access.token) < ACCESS_TOKEN_SHORT)
		log_warning("the token can be guessed", LOG_STR("file", s->token_file),
			    LOG_STR("remedy", "take a longer one: openssl rand -hex 24"));
	if (!s->token_file && !s->address.local)
		return misuse("-l", s->listen,
			      "others than this machine's programs can come there, so a token is "
			      "needed: --token-file FILE");
	return -1;
}

static void on_signal(uv_signal_t *handle, int sig)
{
	(void)sig;
	uv_stop(handle->loop);
}

static int serve(struct setup *s)
{
	struct server_options options = {.access = &s->access, .socket = s->socket};
	struct server *server = NULL;
	uv_loop_t *loop = uv_default_loop();
	uv_signal_t term, interrupt;

	options.fd = address_listen(&s->address);
	if (options.fd < 0) {
		fprintf(stderr, "zkleader-web: cannot listen on %s: %s\n", s->listen,
			strerror(-options.fd));
		return EXIT_FAILURE;
	}
	int e = server_new(&server, loop, &options);
	if (e == -ENAMETOOLONG || e == -EINVAL)
		return misuse("-s", s->socket, strerror(-e));
	if (e < 0) {
		fprintf(stderr, "zkleader-web: cannot start: %s\n", strerror(-e));
		return EXIT_FAILURE;
	}
	uv_signal_init(loop, &term);
	uv_signal_init(loop, &interrupt);
	uv_signal_start(&term, on_signal, SIGTERM);
	uv_signal_start(&interrupt, on_signal, SIGINT);
	log_info("listening", LOG_STR("address", s->listen));
	notify_send("READY=1");
	uv_run(loop, UV_RUN_DEFAULT);
	notify_send("STOPPING=1");
	server_free(server);
	if (s->address.any.sa_family == AF_UNIX)
		remove(s->address.un.sun_path);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static struct setup s;

	signal(SIGPIPE, SIG_IGN);
	fd_open_standard();
	log_begin(LOG_INFO, LOG_TEXT);
	s.socket = link_path(NULL);
	s.listen = LISTEN_DEFAULT;
	int code = parse(&s, (const char *const *)(argc > 0 ? argv + 1 : argv));
	if (code < 0)
		code = check(&s);
	return code < 0 ? serve(&s) : code;
}
