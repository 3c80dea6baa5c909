#include "config/config_values.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/mem.h"

#define GROUP_BUFFER_MAX (1024 * 1024) /* bytes of a group with all its members */

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

/* The default socket lies in the folder that systemd makes for each instance of the unit. */
static void socket_in_runtime_folder(struct config_values *v)
{
	const char *folder = getenv("RUNTIME_DIRECTORY");
	const char name[] = "/zkleader.sock";

	if (!folder || folder[0] != '/' || strchr(folder, ':') ||
	    settings_get(v->settings, v->settings->sections, "socket")->line != 0)
		return;
	size_t size = strlen(folder) + sizeof(name);
	free(v->c->socket);
	v->c->socket = mem_alloc(size);
	snprintf(v->c->socket, size, "%s%s", folder, name);
}

void config_take_socket(struct config_values *v)
{
	const char *mode = config_text(v, "socket-mode");
	const char *group = config_text(v, "socket-group");
	struct config *c = v->c;
	const size_t path_max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

	c->socket = config_path(v, "socket");
	socket_in_runtime_folder(v);
	if (c->socket && strlen(c->socket) > path_max)
		config_problem(v, "socket",
			       "\"%s\" is over %zu bytes long, more than a socket's path may be",
			       c->socket, path_max);
	if (mode) {
		size_t digits = strspn(mode, "01234567");

		if (digits < 3 || digits > 4 || mode[digits] || strtol(mode, NULL, 8) > 0777)
			config_problem(
				v, "socket-mode",
				"\"%.100s\" is not an octal mode such as \"0666\" or \"0660\"",
				mode);
		else
			c->socket_mode = (mode_t)strtol(mode, NULL, 8);
	}
	if (group && v->running) {
		c->socket_group = mem_strdup(group);
		c->socket_gid = v->running->socket_gid;
	} else if (group) {
		int r = find_group(group, &c->socket_gid);

		if (r == -ENOENT)
			config_problem(v, "socket-group",
				       "there is no group \"%.100s\" on this host", group);
		else if (r < 0)
			config_problem(v, "socket-group",
				       "the group \"%.100s\" cannot be looked up: %s", group,
				       strerror(-r));
		else
			c->socket_group = mem_strdup(group);
	}
}
