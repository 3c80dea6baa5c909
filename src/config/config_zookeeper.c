#include "config/config_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/name.h"

/* The error in an absolute znode path; NULL: none. */
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

void config_take_root(struct config_values *v)
{
	const char *text = config_text(v, "root");
	const char *wrong = text ? bad_znode(text) : NULL;

	if (!text)
		return;
	if (strcmp(text, "/") == 0)
		config_problem(
			v, "root",
			"\"/\" is the whole tree: name a znode of your own, such as \"/myapps\"");
	else if (strcmp(text, "/zookeeper") == 0 || strncmp(text, "/zookeeper/", 11) == 0)
		config_problem(v, "root", "\"%s\" belongs to ZooKeeper itself: name another znode",
			       text);
	else if (wrong)
		config_problem(v, "root", "\"%s\" %s: write it as \"/myapps\"", text, wrong);
	else
		v->c->root = mem_strdup(text);
}

bool config_is_host_name(const char *text)
{
	size_t len =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");

	return len > 0 && len <= NAME_HOST_MAX && text[len] == '\0' && text[0] != '-';
}

/* Parses a port, 1 to 65535 in digits alone; 0: it is none. */
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
 * Parses "host", "host:port", "[v6]" or "[v6]:port", and writes to the text. Returns what is wrong
 * with it; NULL: nothing.
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
		if (!config_is_host_name(name))
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

/* Cuts off the blanks around the text, in place. Returns its beginning. */
static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " ");
	for (len = strlen(text); len > 0 && text[len - 1] == ' '; len--)
		text[len - 1] = '\0';
	return text;
}

static void take_hosts(struct config_values *v, char *list)
{
	struct config *c = v->c;
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
			config_problem(v, "zookeeper", "more than %d servers", CONFIG_HOSTS_MAX);
			return;
		}
		wrong = parse_host(text, &c->hosts[c->n_hosts]);
		if (wrong)
			config_problem(
				v, "zookeeper",
				"\"%.100s\" %s: write host:port,host:port, and a /chroot at the "
				"end if you "
				"need one",
				shown, wrong);
		else
			c->n_hosts++;
	}
}

void config_take_zookeeper(struct config_values *v)
{
	mem_auto char *text = config_copy(v, "zookeeper");
	char *chroot;

	if (!text)
		return;
	v->c->zookeeper = mem_strdup(text);
	trim(text);
	chroot = strchr(text, '/');
	if (chroot && chroot[1]) { /* "/" alone is no chroot */
		const char *wrong = strchr(chroot, ',')
					    ? "has a \",\" in it: it stands once, at the end"
					    : bad_znode(chroot);

		if (wrong)
			config_problem(v, "zookeeper",
				       "the chroot \"%.260s\" %s: write it as \"/some/path\"",
				       chroot, wrong);
		else
			v->c->chroot = mem_strdup(chroot);
	}
	if (chroot)
		*chroot = '\0';
	take_hosts(v, text);
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
