#include "config/config.h"

#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/mem.h"
#include "base/name.h"
#include "core/version_form.h"
#include "config/textfile.h"

#define GROUP_BUFFER_MAX (1024 * 1024) /* bytes of a group with all its members */

static const char *const log_levels[] = {"error", "warning", "info", "debug", NULL};
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
	{"task-dir", SETTING_TEXT, "conf.d", "the folder of the task files, *.conf", 0, 0, NULL},
	{"auth-file", SETTING_TEXT, NULL,
	 "a file whose first line is scheme:credential, such as digest:user:password", 0, 0, NULL},
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
	HEALTH_KEYS,
	{"log-level", SETTING_CHOICE, "info", "error, warning, info or debug", 0, 0, log_levels},
	{"log-format", SETTING_CHOICE, "text", "text or json", 0, 0, log_formats},
};

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static const struct settings_form form = {.keys = keys, .n_keys = N_KEYS};

/* A configuration being made from its settings. */
struct making {
	struct config *c;
	const struct config *running; /* NULL: this is the start */
	const struct settings *settings;
	struct problems *problems;
};

static void problem(const struct making *m, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Tells it with the line and the name of the key. */
static void problem(const struct making *m, const char *key, const char *format, ...)
{
	const struct setting *setting = settings_get(m->settings, m->settings->sections, key);
	char text[PROBLEM_TEXT_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	/*
	 * What is wrong with a key that is not there, or with its default, is told of the first
	 * line.
	 */
	problems_add(m->problems, m->c->file, setting->line ? setting->line : 1, "%s: %s", key,
		     text);
}

static const char *text_of(const struct making *m, const char *key)
{
	return settings_text(m->settings, m->settings->sections, key);
}

static int64_t number_of(const struct making *m, const char *key)
{
	return settings_get(m->settings, m->settings->sections, key)->number;
}

static char *copy_of(const struct making *m, const char *key)
{
	const char *text = text_of(m, key);

	return text ? mem_strdup(text) : NULL;
}

static char *path_of(const struct making *m, const char *key)
{
	const char *text = text_of(m, key);

	return text ? textfile_beside(m->c->file, text) : NULL;
}

/* --- ZooKeeper ------------------------------------------------------------ */

/* What is wrong with an absolute znode path, NULL: nothing. */
static const char *bad_znode(const char *path)
{
	if (path[0] != '/')
		return "does not begin with \"/\"";
	if (strlen(path) > CONFIG_ROOT_MAX)
		return "is over 255 bytes long";
	for (const char *c = path; *c; c++) {
		if (*c <= ' ' || *c >= 0x7f)
			return "has something else than printable ASCII in it";
	}
	for (const char *part = path; part; part = strchr(part + 1, '/')) {
		size_t len = strcspn(part + 1, "/");

		if (len == 0)
			return part[1] ? "has \"//\" in it" : "ends with \"/\"";
		if (len <= 2 && strspn(part + 1, ".") >= len)
			return "has a part \".\" or \"..\"";
	}
	return NULL;
}

static void take_root(struct making *m)
{
	const char *text = text_of(m, "root");
	const char *wrong = text ? bad_znode(text) : NULL;

	if (!text)
		return;
	if (strcmp(text, "/") == 0)
		problem(m, "root",
			"\"/\" is the whole tree: name a znode of your own, such as \"/myapps\"");
	else if (strcmp(text, "/zookeeper") == 0 || strncmp(text, "/zookeeper/", 11) == 0)
		problem(m, "root", "\"%s\" belongs to ZooKeeper itself: name another znode", text);
	else if (wrong)
		problem(m, "root", "\"%s\" %s: write it as \"/myapps\"", text, wrong);
	else
		m->c->root = mem_strdup(text);
}

static bool is_host_name(const char *text)
{
	size_t len =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");

	return len > 0 && len <= NAME_HOST_MAX && text[len] == '\0' && text[0] != '-';
}

/* 1..65535 in digits alone, 0: it is not that. */
static uint16_t parse_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	long port;

	if (digits == 0 || digits > 5 || text[digits])
		return 0;
	port = strtol(text, NULL, 10);
	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

/*
 * "host", "host:port", "[v6]" or "[v6]:port", which is written to. NULL, or what is wrong with it.
 */
static const char *parse_host(char *text, struct config_host *host)
{
	char *name = text;
	char *port;

	host->port = CONFIG_PORT_DEFAULT;
	if (strpbrk(text, " ;"))
		return "has a blank or a \";\" in it: a comma goes between two servers";
	if (text[0] == '[') {
		char *end = strchr(text, ']');

		if (!end)
			return "has a \"[\" without a \"]\"";
		name = text + 1;
		*end = '\0';
		if (!name_is_ip(name, strlen(name)) || !strchr(name, ':'))
			return "has no IPv6 address between its brackets";
		if (end[1] != '\0' && end[1] != ':')
			return "has something else than \":port\" after its \"]\"";
		port = end[1] ? end + 2 : NULL;
	} else {
		port = strchr(text, ':');
		if (port && strchr(port + 1, ':'))
			return "has more than one \":\": an IPv6 address stands in brackets";
		if (port)
			*port++ = '\0';
		if (!is_host_name(name))
			return name[0] ? "is no name or address of a host" : "has no host";
	}
	if (port) {
		host->port = parse_port(port);
		if (host->port == 0)
			return "has a port that is not a number from 1 to 65535";
	}
	host->host = mem_strdup(name);
	return NULL;
}

/* The text without the blanks around it, which is written to. */
static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " ");
	for (len = strlen(text); len > 0 && text[len - 1] == ' '; len--)
		text[len - 1] = '\0';
	return text;
}

static void take_hosts(struct making *m, char *list)
{
	struct config *c = m->c;
	char *next;

	for (char *text = list; text; text = next) {
		mem_auto char *shown = NULL;
		const char *wrong;

		next = strchr(text, ',');
		if (next)
			*next++ = '\0';
		text = trim(text);
		shown = mem_strdup(text);
		if (c->n_hosts == CONFIG_HOSTS_MAX) {
			problem(m, "zookeeper", "more than %d servers", CONFIG_HOSTS_MAX);
			return;
		}
		wrong = parse_host(text, &c->hosts[c->n_hosts]);
		if (wrong)
			problem(m, "zookeeper",
				"\"%.100s\" %s: write host:port,host:port, and a /chroot at the "
				"end if you "
				"need one",
				shown, wrong);
		else
			c->n_hosts++;
	}
}

static void take_zookeeper(struct making *m)
{
	mem_auto char *text = copy_of(m, "zookeeper");
	char *chroot;

	if (!text)
		return;
	m->c->zookeeper = mem_strdup(text);
	trim(text);
	chroot = strchr(text, '/');
	if (chroot && chroot[1]) { /* "/" alone is no chroot */
		const char *wrong = strchr(chroot, ',')
					    ? "has a \",\" in it: it stands once, at the end"
					    : bad_znode(chroot);

		if (wrong)
			problem(m, "zookeeper",
				"the chroot \"%.260s\" %s: write it as \"/some/path\"", chroot,
				wrong);
		else
			m->c->chroot = mem_strdup(chroot);
	}
	if (chroot)
		*chroot = '\0';
	take_hosts(m, text);
}

/* --- version and address -------------------------------------------------- */

/*
 * The version without what version-strip takes off its front; nothing is, where nothing would be
 * left.
 */
static const char *strip_version(const struct config *c, const char *version)
{
	size_t len = c->version_strip ? strlen(c->version_strip) : 0;

	if (len > 0 && strncmp(version, c->version_strip, len) == 0 &&
	    name_is_version(version + len, strlen(version + len)))
		return version + len;
	return version;
}

static void warn_of_form(const struct config *c, const char *key, int line, const char *version,
			 struct problems *problems)
{
	const char *odd = version_form_text(version_form(version));

	if (odd[0])
		problems_warn(problems, c->file, line, "%s: \"%.100s\" %s", key, version, odd);
}

int config_read_version(const struct config *c, char **ret_version, struct problems *problems)
{
	mem_auto char *version = NULL;
	size_t len;
	int r = textfile_read_line(c->version_file, CONFIG_LINE_MAX, &version, &len, NULL);

	if (r < 0) {
		problems_add(problems, c->file, c->version_file_line, "version-file: \"%s\" %s",
			     c->version_file, textfile_error(r));
		return r;
	}
	if (len == 0) {
		problems_add(
			problems, c->file, c->version_file_line,
			"version-file: \"%s\" has an empty first line: write the version there",
			c->version_file);
		return -EINVAL;
	}
	if (!name_is_version(version, len)) {
		problems_add(problems, c->file, c->version_file_line,
			     "version-file: \"%s\" begins with \"%.100s\", which is no version: "
			     "that is up "
			     "to %d characters of printable ASCII",
			     c->version_file, version, NAME_VERSION_MAX);
		return -EINVAL;
	}
	*ret_version = mem_strdup(strip_version(c, version));
	warn_of_form(c, "version-file", c->version_file_line, *ret_version, problems);
	return 0;
}

static void take_version(struct making *m)
{
	const struct setting *fixed = settings_get(m->settings, m->settings->sections, "version");
	const struct setting *file =
		settings_get(m->settings, m->settings->sections, "version-file");
	const char *version = text_of(m, "version");

	m->c->version_strip = copy_of(m, "version-strip");
	if (fixed->line && file->line) {
		problem(m, fixed->line > file->line ? "version" : "version-file",
			"version and version-file are both set: keep one");
	} else if (!fixed->line && !file->line && !m->settings->partial) {
		problems_add(m->problems, m->c->file, 1,
			     "version or version-file is needed: the version of the application "
			     "that runs "
			     "here");
	}
	if (version && !name_is_version(version, strlen(version)))
		problem(m, "version",
			"\"%.100s\" is no version: that is up to %d characters of printable ASCII",
			version, NAME_VERSION_MAX);
	else if (version)
		m->c->version = mem_strdup(strip_version(m->c, version));
	if (m->c->version)
		warn_of_form(m->c, "version", fixed->line, m->c->version, m->problems);
	m->c->version_file = path_of(m, "version-file");
	m->c->version_file_line = file->line;
	if (m->c->version_file && !m->c->version)
		(void)config_read_version(m->c, &m->c->version, m->problems);
}

static void take_node(struct making *m)
{
	const char *text = text_of(m, "node");

	if (!text)
		return;
	if (!name_is_task(text, strlen(text)))
		problem(m, "node",
			"\"%.100s\" is no name: up to %d letters, digits, \".\", \"_\" and \"-\", "
			"beginning with a letter or digit",
			text, NAME_TASK_MAX);
	else
		m->c->node = mem_strdup(text);
}

static void take_address(struct making *m)
{
	const char *text = text_of(m, "address");

	if (!text)
		return;
	if (!name_is_ip(text, strlen(text)))
		problem(m, "address",
			"\"%.100s\" is not an IP address such as \"192.0.2.7\" or \"2001:db8::7\"",
			text);
	else
		m->c->address = mem_strdup(text);
}

/* --- the socket ----------------------------------------------------------- */

/* Returns 0, -ENOENT where there is no such group, or another negative errno. */
static int find_group(const char *name, gid_t *ret_gid)
{
	size_t size = 4096;

	for (;;) {
		mem_auto char *buffer = mem_alloc(size);
		struct group group, *found;
		int r = getgrnam_r(name, &group, buffer, size, &found);

		if (r == ERANGE && size < GROUP_BUFFER_MAX) {
			size *= 2;
			continue;
		}
		if (found)
			*ret_gid = group.gr_gid;
		return found ? 0 : r ? -r : -ENOENT;
	}
}

/* systemd makes a folder for each instance of the unit: the default lies in that one. */
static void socket_in_runtime_folder(struct making *m)
{
	const char *folder = getenv("RUNTIME_DIRECTORY");
	const char name[] = "/zkleader.sock";

	if (!folder || folder[0] != '/' || strchr(folder, ':') ||
	    settings_get(m->settings, m->settings->sections, "socket")->line != 0)
		return;
	size_t size = strlen(folder) + sizeof(name);
	free(m->c->socket);
	m->c->socket = mem_alloc(size);
	snprintf(m->c->socket, size, "%s%s", folder, name);
}

static void take_socket(struct making *m)
{
	const char *mode = text_of(m, "socket-mode");
	const char *group = text_of(m, "socket-group");
	struct config *c = m->c;
	const size_t path_max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

	c->socket = path_of(m, "socket");
	socket_in_runtime_folder(m);
	if (c->socket && strlen(c->socket) > path_max)
		problem(m, "socket",
			"\"%s\" is over %zu bytes long, more than a socket's path may be",
			c->socket, path_max);
	if (mode) {
		size_t digits = strspn(mode, "01234567");

		if (digits < 3 || digits > 4 || mode[digits] || strtol(mode, NULL, 8) > 0777)
			problem(m, "socket-mode",
				"\"%.100s\" is not an octal mode such as \"0666\" or \"0660\"",
				mode);
		else
			c->socket_mode = (mode_t)strtol(mode, NULL, 8);
	}
	if (group && m->running) {
		c->socket_group = mem_strdup(group);
		c->socket_gid = m->running->socket_gid;
	} else if (group) {
		int r = find_group(group, &c->socket_gid);

		if (r == -ENOENT)
			problem(m, "socket-group", "there is no group \"%.100s\" on this host",
				group);
		else if (r < 0)
			problem(m, "socket-group", "the group \"%.100s\" cannot be looked up: %s",
				group, strerror(-r));
		else
			c->socket_group = mem_strdup(group);
	}
}

/* --- auth-file ------------------------------------------------------------ */

/* What is wrong with scheme:credential, NULL: nothing. None of it may get into a message. */
static const char *bad_auth(const char *line)
{
	size_t scheme = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789");

	if (scheme == 0 || line[scheme] != ':' || !line[scheme + 1])
		return "does not begin with a line scheme:credential, such as digest:user:password";
	if (!text_is_printable(line))
		return "has a control character in its first line, or is not UTF-8";
	if (scheme == 6 && strncmp(line, "digest", 6) == 0) {
		const char *colon = strchr(line + 7, ':');

		if (!colon || colon == line + 7 || !colon[1])
			return "needs a user and a password: digest:user:password";
	}
	return NULL;
}

static const char *bad_auth_owner(const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs to another user: chown it to root or to the sidecar's user";
	if (st->st_mode & (S_IRGRP | S_IROTH))
		return "can be read by others: chmod 600 it";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "can be written by others: chmod 600 it";
	return NULL;
}

static void take_auth(struct making *m)
{
	struct config *c = m->c;
	const char *wrong;
	struct stat st;
	size_t len;
	char *line;
	int r;

	c->auth_file = path_of(m, "auth-file");
	if (!c->auth_file)
		return;
	r = textfile_read_line(c->auth_file, CONFIG_LINE_MAX, &line, &len, &st);
	if (r < 0) {
		problem(m, "auth-file", "\"%s\" %s", c->auth_file, textfile_error(r));
		return;
	}
	wrong = bad_auth_owner(&st);
	if (!wrong)
		wrong = strlen(line) == len ? bad_auth(line) : "has a NUL byte in its first line";
	if (wrong) {
		problem(m, "auth-file", "\"%s\" %s", c->auth_file, wrong);
	} else {
		char *colon = strchr(line, ':');

		c->auth_scheme = mem_strndup(line, (size_t)(colon - line));
		c->auth_credential = mem_strdup(colon + 1);
	}
	explicit_bzero(line, len);
	free(line);
}

/* --- the whole ------------------------------------------------------------ */

static void take_times(struct making *m)
{
	struct config *c = m->c;

	c->session_timeout_ms = number_of(m, "session-timeout");
	c->yield_delay_ms = number_of(m, "yield-delay");
	c->stop_wait_ms = number_of(m, "stop-wait");
	c->tick_guard_ms = number_of(m, "tick-guard");
	c->clock_tolerance_ms = number_of(m, "clock-tolerance");
	if (c->tick_guard_ms >= CONFIG_GUARD_LIMIT_MS && text_of(m, "tick-guard"))
		problem(m, "tick-guard",
			"\"%s\" is not below 30s: half a minute or more leaves no time for a "
			"handover",
			text_of(m, "tick-guard"));
}

static void take_all(struct making *m)
{
	const struct setting *task_dir;
	struct config *c = m->c;

	take_zookeeper(m);
	take_root(m);
	take_version(m);
	take_node(m);
	take_address(m);
	take_socket(m);
	take_auth(m);
	take_times(m);
	health_config_check(m->settings, m->settings->sections, m->problems);
	health_config_take(&c->health, m->settings, m->settings->sections, c->file);
	c->task_dir = path_of(m, "task-dir");
	task_dir = settings_get(m->settings, m->settings->sections, "task-dir");
	c->task_dir_line = task_dir->line ? task_dir->line : 1;
	c->log_level = (enum log_level)number_of(m, "log-level");
	c->log_format = (enum log_format)number_of(m, "log-format");
}

static int examine(const char *path, const struct config *running, struct config **ret_config,
		   struct problems *problems)
{
	size_t first = problems->n, total = problems->total;
	struct settings settings;
	struct making m = {.running = running, .settings = &settings, .problems = problems};
	int r = settings_load(path, path, &form, &settings, problems);

	*ret_config = NULL;
	if (r < 0)
		return r;
	m.c = mem_calloc(1, sizeof(*m.c));
	m.c->file = mem_strdup(path);
	take_all(&m);
	settings_done(&settings);
	*ret_config = m.c;
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
	free(c->task_dir);
	free(c->auth_file);
	free(c->auth_scheme);
	if (c->auth_credential)
		explicit_bzero(c->auth_credential, strlen(c->auth_credential));
	free(c->auth_credential);
	health_config_done(&c->health);
	free(c);
}

const struct setting_key *config_keys(size_t *ret_n)
{
	*ret_n = N_KEYS;
	return keys;
}

char *config_servers(const struct config *c)
{
	size_t size = 1, used = 0;

	for (size_t i = 0; i < c->n_hosts; i++)
		size += strlen(c->hosts[i].host) + sizeof("[]:65535,");
	char *text = mem_calloc(size, 1);
	for (size_t i = 0; i < c->n_hosts; i++) {
		const struct config_host *h = &c->hosts[i];
		int len = snprintf(text + used, size - used,
				   strchr(h->host, ':') ? "%s[%s]:%u" : "%s%s:%u", i ? "," : "",
				   h->host, (unsigned)h->port);
		used += (size_t)len;
	}
	return text;
}
