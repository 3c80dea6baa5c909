#include <criterion/criterion.h>
#include <string.h>

#include "config/restart.h"

static char a[] = "a", b[] = "b";

static struct config config(void)
{
	return (struct config){.zookeeper = a,
			       .root = a,
			       .session_timeout_ms = 10000,
			       .socket = a,
			       .socket_mode = 0666,
			       .version = a,
			       .task_dir = a};
}

static void expect(const struct config *now, const char *expected)
{
	const struct config start = config();
	const char *keys[RESTART_KEYS_MAX];
	size_t n = restart_keys(&start, now, keys);
	char found[400] = "";

	for (size_t i = 0; i < n; i++) {
		strcat(found, keys[i]);
		strcat(found, " ");
	}
	cr_expect_str_eq(found, expected);
}

Test(restart, nothing_is_pending_where_nothing_is_another)
{
	struct config now = config();

	expect(&now, "");
	now.version = b; /* these take effect at once */
	now.task_dir = b;
	now.yield_delay_ms = 7;
	now.log_level = LOG_DEBUG;
	expect(&now, "");
}

Test(restart, names_each_key)
{
	struct config now = config();

	now.zookeeper = b;
	expect(&now, "zookeeper ");
	now.root = b;
	now.session_timeout_ms = 1;
	now.roll_from = 2;
	now.address = a; /* there was none */
	expect(&now, "zookeeper root session-timeout roll-from address ");
	now = config();
	now.socket = b;
	now.socket_mode = 0660;
	now.socket_group = a;
	now.auth_credential = a;
	expect(&now, "socket socket-mode socket-group auth-file ");
}
