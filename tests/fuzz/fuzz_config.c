/* zkleader.conf through the sidecar's own loader, and the files that it names. */
#include "fuzz_file.h"

#include <sys/un.h>

#include "base/text/name.h"
#include "config/config.h"

static void check_hosts(const struct config *c)
{
	FUZZ_CHECK(c->n_hosts >= 1 && c->n_hosts <= CONFIG_HOSTS_MAX);
	for (size_t i = 0; i < c->n_hosts; i++) {
		FUZZ_CHECK(name_is_host(c->hosts[i].host, strlen(c->hosts[i].host)));
		FUZZ_CHECK(c->hosts[i].port > 0);
	}
}

static void check_path(const char *path)
{
	FUZZ_CHECK(path[0] == '/' && path[1] != '\0' && path[strlen(path) - 1] != '/');
	FUZZ_CHECK(strlen(path) <= CONFIG_ROOT_MAX && !strstr(path, "//"));
}

static void check_config(const struct config *c, int lines)
{
	check_hosts(c);
	check_path(c->root);
	if (c->chroot)
		check_path(c->chroot);
	FUZZ_CHECK(c->session_timeout_ms >= CONFIG_SESSION_MIN_MS &&
		   c->session_timeout_ms <= CONFIG_SESSION_MAX_MS);
	FUZZ_CHECK(name_is_version(c->version, strlen(c->version)));
	FUZZ_CHECK(!c->address || name_is_ip(c->address, strlen(c->address)));
	FUZZ_CHECK(strlen(c->socket) < sizeof(((struct sockaddr_un *)NULL)->sun_path));
	FUZZ_CHECK(c->socket_mode <= 0777);
	FUZZ_CHECK(c->task_dir);
	FUZZ_CHECK(c->task_dir_line >= 0 && c->task_dir_line <= lines);
	FUZZ_CHECK(c->version_file_line >= 0 && c->version_file_line <= lines);
	FUZZ_CHECK(!c->auth_file == !c->auth_scheme && !c->auth_file == !c->auth_credential);
	FUZZ_CHECK(c->yield_delay_ms >= 0 && c->yield_delay_ms <= CONFIG_YIELD_MAX_MS);
	FUZZ_CHECK(c->tick_guard_ms >= 0 && c->tick_guard_ms < CONFIG_GUARD_LIMIT_MS);
	check_health(&c->health);
	FUZZ_CHECK(c->log_level <= LOG_DEBUG && c->log_format <= LOG_JSON);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, &size);
	int lines = count_lines(data, size);
	struct config *c = NULL;
	struct problems problems;
	int r;

	problems_init(&problems);
	r = config_load(path, NULL, &c, &problems);
	check_problems(&problems, r, lines);
	FUZZ_CHECK((r == 0) == (c != NULL));
	if (c)
		check_config(c, lines);
	config_free(c);
	problems_done(&problems);
	return 0;
}
