#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/duration.h"
#include "base/text/name.h"
#include "config/config_values.h"
#include "config/text/user_list.h"

static const char *const log_levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const truths[] = {"false", "true", NULL};
static const char *const sasls[] = {"none", "digest-md5", "gssapi", NULL}; /* enum config_sasl */
static const char *const log_formats[] = {"text", "json", NULL};

static const struct setting_key keys[] = {
	{"zookeeper", SETTING_TEXT, "127.0.0.1:2181",
	 "the ZooKeeper servers: host:port,host:port[/chroot]", 0, 0, NULL},
	{"root", SETTING_TEXT, "/myapps",
	 "the znode under which everything lives; created if missing", 0, 0, NULL},
	{"session-timeout", SETTING_DURATION, "10s",
	 "asked of the server; the one that it grants counts", CONFIG_SESSION_MIN_MS,
	 CONFIG_SESSION_MAX_MS, NULL},
	{"version", SETTING_TEXT, NULL, "the application's version; this or version-file is needed",
	 0, 0, NULL},
	{"version-file", SETTING_TEXT, NULL,
	 "a file whose first line is the version, read again when it changes", 0, 0, NULL},
	{"version-strip", SETTING_TEXT, NULL,
	 "taken off the front of the version, such as the \"v\" of v1.6", 0, 0, NULL},
	{"node", SETTING_TEXT, NULL,
	 "what this node is called, named like a task; by default the hostname", 0, 0, NULL},
	{"address", SETTING_TEXT, NULL,
	 "the IP address that is published; by default the local one of the route to ZooKeeper", 0,
	 0, NULL},
	{"socket", SETTING_TEXT, "/run/zkleader/zkleader.sock", "where questions are answered", 0,
	 0, NULL},
	{"socket-mode", SETTING_TEXT, "0666", "permissions of the socket, octal", 0, 0, NULL},
	{"socket-group", SETTING_TEXT, NULL,
	 "group of the socket; its members may also change something", 0, 0, NULL},
	{"recipe-users", SETTING_LIST, NULL,
	 "local users who may use lock, counter and the like, besides root and socket-group", 0, 0,
	 NULL},
	{"timezone", SETTING_TEXT, "UTC", "of the schedules of tasks that name none", 0, 0, NULL},
	{"task-dir", SETTING_TEXT, "conf.d", "the folder of the task files, *.conf", 0, 0, NULL},
	{"server-tick", SETTING_DURATION, "0s",
	 "tickTime of the ZooKeeper servers, for observers behind followers; 0s: not known", 0,
	 CONFIG_SERVER_TICK_MAX_MS, NULL},
	{"auth-file", SETTING_TEXT, NULL,
	 "a file whose first line is scheme:credential, such as digest:user:password", 0, 0, NULL},
	{"tls", SETTING_CHOICE, "false", "true: the connections to ZooKeeper are encrypted", 0, 0,
	 truths},
	{"tls-ca", SETTING_TEXT, NULL,
	 "a file with the certificates of those who may issue the servers'; by default the "
	 "system's",
	 0, 0, NULL},
	{"tls-cert", SETTING_TEXT, NULL,
	 "a file with the sidecar's certificate and the chain behind it", 0, 0, NULL},
	{"tls-key", SETTING_TEXT, NULL,
	 "a file with its private key, which its owner alone may read", 0, 0, NULL},
	{"tls-server-name", SETTING_TEXT, NULL,
	 "the name in the servers' certificates; by default that in zookeeper", 0, 0, NULL},
	{"sasl", SETTING_CHOICE, "none",
	 "digest-md5 with the user of auth-file, gssapi with sasl-keytab, or none", 0, 0, sasls},
	{"sasl-keytab", SETTING_TEXT, NULL, "a file with the sidecar's Kerberos keys", 0, 0, NULL},
	{"sasl-principal", SETTING_TEXT, NULL,
	 "whose key is used; by default the first of sasl-keytab", 0, 0, NULL},
	{"yield-delay", SETTING_DURATION, "2s",
	 "how long a better node must have been there before leadership goes to it", 0,
	 CONFIG_YIELD_MAX_MS, NULL},
	{"stop-wait", SETTING_DURATION, "0s",
	 "how long TERM and INT wait at most for what answers have promised", 0,
	 CONFIG_STOP_WAIT_MAX_MS, NULL},
	{"tick-guard", SETTING_DURATION, "5s",
	 "no voluntary handover within this distance of a full minute", 0, DURATION_MAX_MS, NULL},
	{"clock-tolerance", SETTING_DURATION, "30s",
	 "by how much a clock may differ from the ZooKeeper server's and most hosts'",
	 CONFIG_CLOCK_MIN_MS, CONFIG_CLOCK_MAX_MS, NULL},
	{"roll-from", SETTING_INTEGER, CONFIG_ROLL_FROM,
	 "workers from which on one of them keeps the roll for all; 0: never", 0,
	 CONFIG_ROLL_FROM_MAX, NULL},
	HEALTH_KEYS,
	{"log-level", SETTING_CHOICE, "info", "error, warning, info or debug", 0, 0, log_levels},
	{"log-format", SETTING_CHOICE, "text", "text or json", 0, 0, log_formats},
};

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static const struct settings_form form = {.keys = keys, .n_keys = N_KEYS};

static void take_node(struct config_values *v)
{
	const char *text = config_text(v, "node");

	if (!text)
		return;
	if (!name_is_task(text, strlen(text)))
		config_problem(
			v, "node",
			"\"%.100s\" is no name: up to %d letters, digits, \".\", \"_\" and \"-\", "
			"beginning with a letter or digit",
			text, NAME_TASK_MAX);
	else
		v->c->node = mem_strdup(text);
}

static void take_address(struct config_values *v)
{
	const char *text = config_text(v, "address");

	if (!text)
		return;
	if (!name_is_ip(text, strlen(text)))
		config_problem(
			v, "address",
			"\"%.100s\" is not an IP address such as \"192.0.2.7\" or \"2001:db8::7\"",
			text);
	else
		v->c->address = mem_strdup(text);
}

static void take_recipe_users(struct config_values *v)
{
	const struct setting *users =
		settings_get(v->settings, v->settings->sections, "recipe-users");
	struct config *c = v->c;

	user_list_check(users, "recipe-users", c->file, v->problems);
	c->recipe_users_line = users->line ? users->line : 1;
	c->recipe_users = mem_calloc(users->n + 1, sizeof(*c->recipe_users));
	for (; c->n_recipe_users < users->n; c->n_recipe_users++)
		c->recipe_users[c->n_recipe_users] = mem_strdup(users->values[c->n_recipe_users]);
}

static void take_timezone(struct config_values *v)
{
	const char *name = config_text(v, "timezone"), *why = NULL;

	if (name && zone_file_load(name, &v->c->timezone, &why) < 0)
		config_problem(v, "timezone", "\"%.100s\" %s", name, why);
}

static void take_times(struct config_values *v)
{
	struct config *c = v->c;

	c->session_timeout_ms = config_number(v, "session-timeout");
	c->yield_delay_ms = config_number(v, "yield-delay");
	c->stop_wait_ms = config_number(v, "stop-wait");
	c->server_tick_ms = config_number(v, "server-tick");
	c->tick_guard_ms = config_number(v, "tick-guard");
	c->clock_tolerance_ms = config_number(v, "clock-tolerance");
	if (c->tick_guard_ms >= CONFIG_GUARD_LIMIT_MS && config_text(v, "tick-guard"))
		config_problem(
			v, "tick-guard",
			"\"%s\" is not below 30s: half a minute or more leaves no time for a "
			"handover",
			config_text(v, "tick-guard"));
}

static void take_roll(struct config_values *v)
{
	int64_t from = config_number(v, "roll-from");

	if (from == 1)
		config_problem(v, "roll-from", "\"%s\" is below 2: write 0 for never",
			       config_text(v, "roll-from"));
	v->c->roll_from = (size_t)from;
}

static void take_all(struct config_values *v)
{
	const struct setting *task_dir;
	struct config *c = v->c;

	config_take_zookeeper(v);
	config_take_root(v);
	config_take_version(v);
	take_node(v);
	take_address(v);
	config_take_socket(v);
	take_recipe_users(v);
	config_take_secure(v);
	config_take_auth(v);
	take_timezone(v);
	take_times(v);
	take_roll(v);
	health_config_check(v->settings, v->settings->sections, v->problems);
	health_config_take(&c->health, v->settings, v->settings->sections, c->file);
	c->task_dir = config_path(v, "task-dir");
	task_dir = settings_get(v->settings, v->settings->sections, "task-dir");
	c->task_dir_line = task_dir->line ? task_dir->line : 1;
	c->log_level = (enum log_level)config_number(v, "log-level");
	c->log_format = (enum log_format)config_number(v, "log-format");
}

static int examine(const char *path, const struct config *running, struct config **ret_config,
		   struct problems *problems)
{
	size_t first = problems->n, total = problems->total;
	struct settings settings;
	struct config_values v = {.running = running, .settings = &settings, .problems = problems};
	int r = settings_load(path, path, &form, &settings, problems);

	*ret_config = NULL;
	if (r < 0)
		return r;
	v.c = mem_calloc(1, sizeof(*v.c));
	v.c->file = mem_strdup(path);
	take_all(&v);
	settings_done(&settings);
	*ret_config = v.c;
	if (problems->total == total)
		return 0;
	problems_sort(problems, first);
	return -EINVAL;
}

int config_examine(const char *path, struct config **ret_config, struct problems *problems)
{
	return examine(path, NULL, ret_config, problems);
}

int config_load(const char *path, const struct config *running, struct config **ret_config,
		struct problems *problems)
{
	struct config *config;
	int r = examine(path, running, &config, problems);

	if (r < 0) {
		config_free(config);
		return r;
	}
	*ret_config = config;
	return 0;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_hosts; i++)
		free(c->hosts[i].host);
	free(c->file);
	free(c->zookeeper);
	free(c->chroot);
	free(c->root);
	free(c->version);
	free(c->version_file);
	free(c->version_strip);
	free(c->node);
	free(c->address);
	free(c->socket);
	free(c->socket_group);
	for (size_t i = 0; i < c->n_recipe_users; i++)
		free(c->recipe_users[i]);
	free(c->recipe_users);
	zone_file_unref(c->timezone);
	free(c->task_dir);
	free(c->auth_file);
	free(c->auth_scheme);
	if (c->auth_credential)
		explicit_bzero(c->auth_credential, strlen(c->auth_credential));
	free(c->auth_credential);
	for (size_t i = 0; i < CONFIG_SECURE_KEYS; i++)
		free(c->secure.texts[i]);
	health_config_done(&c->health);
	free(c);
}

const struct setting_key *config_keys(size_t *ret_n)
{
	*ret_n = N_KEYS;
	return keys;
}
