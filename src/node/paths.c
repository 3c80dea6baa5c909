#include "node/paths.h"

#include <stdio.h>
#include <string.h>

static const char *const folders[PATH_FOLDERS] = {
	[PATH_WORKERS] = "workers",   [PATH_LEADERS] = "leaders",
	[PATH_POLICY] = "policy",     [PATH_RUNS] = "runs",
	[PATH_COUNTERS] = "counters", [PATH_SPLITS] = "partitions",
	[PATH_ROSTER] = "roster",     [PATH_SEEN] = "seen",
	[PATH_ROLLING] = "rolling",   [PATH_LOCKS] = "locks",
	[PATH_BARRIERS] = "barriers", [PATH_SCHEDULES] = "schedules",
	[PATH_NOTICES] = "notices",   [PATH_LED] = "led"};

void path_of(const struct node_settings *s, enum path_folder folder, const char *name,
	     char path[STORE_PATH_MAX])
{
	snprintf(path, STORE_PATH_MAX, "%s/%s%s%s", s->root, folders[folder], name ? "/" : "",
		 name ? name : "");
}

void path_of_tick(const struct node_settings *s, const char *task, const char *tick,
		  char path[STORE_PATH_MAX])
{
	snprintf(path, STORE_PATH_MAX, "%s/%s/%s%s%s", s->root, folders[PATH_RUNS], task,
		 tick ? "/" : "", tick ? tick : "");
}

static bool is_plain(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == ':' || (c == '.' && !first);
}

/* Appends the name, as no name of a znode may have a slash. False: it is too long, or empty. */
static bool append_node(char path[STORE_PATH_MAX], const char *node)
{
	size_t used = strlen(path);

	for (const char *c = node; *c; c++) {
		bool plain = is_plain(*c, c == node);
		if (used + (plain ? 1 : 3) >= STORE_PATH_MAX)
			return false;
		if (plain)
			path[used++] = *c;
		else
			used += (size_t)snprintf(path + used, STORE_PATH_MAX - used, "%%%02X",
						 (unsigned)(unsigned char)*c);
	}
	path[used] = '\0';
	return node[0] != '\0';
}

bool path_of_node(const struct node_settings *s, const char *node, char path[STORE_PATH_MAX])
{
	path_of(s, PATH_ROSTER, "", path);
	return append_node(path, node);
}

void path_of_rolling(const struct node_settings *s, const char *group, const char *folder,
		     const char *name, char path[STORE_PATH_MAX])
{
	snprintf(path, STORE_PATH_MAX, "%s/%s/%s%s%s%s%s", s->root, folders[PATH_ROLLING], group,
		 folder ? "/" : "", folder ? folder : "", name ? "/" : "", name ? name : "");
}

bool path_of_slot(const struct node_settings *s, const char *group, const char *node,
		  char path[STORE_PATH_MAX])
{
	path_of_rolling(s, group, "slots", "", path);
	return append_node(path, node);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool path_is_node(const char *name, char ret_node[WORKER_NODE_MAX + 1])
{
	size_t n = 0;

	for (const char *c = name; *c; c++) {
		char byte = *c;
		if (n == WORKER_NODE_MAX)
			return false;
		if (*c == '%') {
			int high = hex_digit(c[1]), low = high < 0 ? -1 : hex_digit(c[2]);
			if (low < 0)
				return false;
			byte = (char)(high * 16 + low);
			c += 2;
			if (byte == '\0' || is_plain(byte, n == 0))
				return false; /* written another way than we do */
		} else if (!is_plain(byte, n == 0)) {
			return false;
		}
		ret_node[n++] = byte;
	}
	ret_node[n] = '\0';
	return n > 0;
}
