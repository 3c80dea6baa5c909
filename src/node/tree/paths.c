#include "node/tree/paths.h"

#include <stdio.h>
#include <string.h>

#define PATH_NUMBER_LEN 10 /* digits that the server appends */
#define CALLBACKS	".callback"

static const char *const folders[PATH_FOLDERS] = {
	[PATH_WORKERS] = "workers", [PATH_LEADERS] = "leaders",	  [PATH_POLICY] = "policy",
	[PATH_RUNS] = "runs",	    [PATH_COUNTERS] = "counters", [PATH_SPLITS] = "partitions",
	[PATH_ROSTER] = "roster",   [PATH_SEEN] = "seen",	  [PATH_ROLLING] = "rolling",
	[PATH_LOCKS] = "locks",	    [PATH_BARRIERS] = "barriers", [PATH_SCHEDULES] = "schedules",
	[PATH_NOTICES] = "notices", [PATH_LED] = "led",		  [PATH_JOBS] = "jobs",
	[PATH_CLOSED] = "closed",   [PATH_GANGS] = "gangs",	  [PATH_TROUBLES] = "troubles",
	[PATH_OUTAGES] = "outages", [PATH_LISTS] = "lists",	  [PATH_ROLL] = "roll"};

/* Appends as much of the text as there is room for, and returns the length of all. */
static size_t append(char path[STORE_PATH_MAX], size_t used, const char *text)
{
	size_t len = strnlen(text, STORE_PATH_MAX - 1 - used);

	memcpy(path + used, text, len);
	path[used + len] = '\0';
	return used + len;
}

/* Appends "/" and the name; nothing for NULL. */
static size_t descend(char path[STORE_PATH_MAX], size_t used, const char *name)
{
	return name ? append(path, append(path, used, "/"), name) : used;
}

static size_t begin(const struct node_settings *s, enum path_folder folder, const char *name,
		    char path[STORE_PATH_MAX])
{
	return descend(path, descend(path, append(path, 0, s->root), folders[folder]), name);
}

void path_of(const struct node_settings *s, enum path_folder folder, const char *name,
	     char path[STORE_PATH_MAX])
{
	begin(s, folder, name, path);
}

const char *path_behind(const struct node_settings *s, enum path_folder folder, const char *path)
{
	size_t root = strlen(s->root), len = strlen(folders[folder]);

	if (strncmp(path, s->root, root) != 0 || path[root] != '/' ||
	    strncmp(path + root + 1, folders[folder], len) != 0 || path[root + 1 + len] != '/')
		return NULL;
	return path + root + 1 + len + 1;
}

void path_of_tick(const struct node_settings *s, const char *task, const char *tick,
		  char path[STORE_PATH_MAX])
{
	descend(path, begin(s, PATH_RUNS, task, path), tick);
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
	descend(path, descend(path, begin(s, PATH_ROLLING, group, path), folder), name);
}

bool path_of_slot(const struct node_settings *s, const char *group, const char *node,
		  char path[STORE_PATH_MAX])
{
	path_of_rolling(s, group, "slots", "", path);
	return append_node(path, node);
}

bool path_in_party(const struct node_settings *s, enum path_folder folder, const char *party,
		   const char *name, const char *key, char path[STORE_PATH_MAX])
{
	size_t len = begin(s, folder, party, path);

	if (len + 1 + strlen(name) >= STORE_PATH_MAX)
		return false;
	descend(path, len, name);
	if (!key)
		return true;
	if (!append_node(path, key) || strlen(path) + 1 + PATH_NUMBER_LEN >= STORE_PATH_MAX)
		return false;
	append(path, strlen(path), "-");
	return true;
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

/* --- jobs ----------------------------------------------------------------- */

void path_of_queue(const struct node_settings *s, const char *queue, const char *folder,
		   const char *name, char path[STORE_PATH_MAX])
{
	descend(path, descend(path, begin(s, PATH_JOBS, queue, path), folder), name);
}

void path_of_job_folder(const struct node_settings *s, const char *queue, int64_t minute, char x,
			char path[STORE_PATH_MAX])
{
	char name[JOB_MINUTE_SIZE + 2];

	job_minute_format(minute, name);
	if (x)
		snprintf(name + strlen(name), 3, "/%c", x);
	path_of_queue(s, queue, "job", name, path);
}

void path_of_job(const struct node_settings *s, const struct job_id *id, char path[STORE_PATH_MAX])
{
	path_of_job_folder(s, id->queue, id->minute, id->uuid[0], path);
	descend(path, strlen(path), id->uuid);
}

void path_of_due_folder(const struct node_settings *s, const char *queue, int64_t minute,
			bool callbacks, char path[STORE_PATH_MAX])
{
	char name[JOB_MINUTE_SIZE + sizeof(CALLBACKS)];
	size_t len;

	job_minute_format(minute, name);
	len = strlen(name);
	snprintf(name + len, sizeof(name) - len, "%s", callbacks ? CALLBACKS : "");
	path_of_queue(s, queue, "due", name, path);
}

void path_of_due(const struct node_settings *s, const char *queue, int64_t minute,
		 const struct job_pointer *p, char path[STORE_PATH_MAX])
{
	char name[JOB_POINTER_MAX + 1];

	path_of_due_folder(s, queue, minute, p->callback, path);
	job_pointer_format(p, true, name);
	descend(path, strlen(path), name);
}

bool path_is_due_folder(const char *name, int64_t *ret_minute, bool *ret_callbacks)
{
	size_t len = strlen(name), end = sizeof(CALLBACKS) - 1;

	*ret_callbacks = len > end && strcmp(name + len - end, CALLBACKS) == 0;
	return job_minute_parse(name, *ret_callbacks ? len - end : len, ret_minute);
}

bool path_of_at(const struct node_settings *s, const char *queue, const char *node,
		const struct job_pointer *p, char path[STORE_PATH_MAX])
{
	path_of_queue(s, queue, "at", "", path);
	if (!append_node(path, node))
		return false;
	size_t used = strlen(path);
	if (used + 1 + JOB_POINTER_MAX >= STORE_PATH_MAX)
		return false;
	if (p) {
		path[used] = '/';
		job_pointer_format(p, false, path + used + 1);
	}
	return true;
}

const char *path_in_queue(const struct node_settings *s, const char *path,
			  char ret_queue[NAME_TASK_MAX + 1])
{
	const char *name = path_behind(s, PATH_JOBS, path),
		   *slash = name ? strchr(name, '/') : NULL;

	if (!slash || slash - name > NAME_TASK_MAX)
		return NULL;
	memcpy(ret_queue, name, (size_t)(slash - name));
	ret_queue[slash - name] = '\0';
	return slash + 1;
}
