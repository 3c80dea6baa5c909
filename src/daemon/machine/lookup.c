/*
 * store_lookup(): asks the system's resolver for the addresses of ZooKeeper's servers, in a thread
 * of its own.
 */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "daemon/machine/host_uv.h"
#include "daemon/machine/offload.h"
#include "daemon/machine/server_names.h"
#include "node/store.h"

#define FOUND_MAX 2048 /* bytes of the list of addresses */

struct lookup {
	char *hosts;
	store_lookup_fn done;
	void *arg;
	struct host_timer failed; /* reports the failure if no thread could be started */
	char found[FOUND_MAX];
	char problem[256]; /* with the last name that was not found; "": none */
};

static bool is_listed(const char *list, const char *one)
{
	size_t len = strlen(one);

	for (const char *at = strstr(list, one); at; at = strstr(at + 1, one))
		if ((at == list || at[-1] == ',') && (at[len] == '\0' || at[len] == ','))
			return true;
	return false;
}

static void add_found(struct lookup *l, const char *name, const struct addrinfo *list)
{
	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		char host[NI_MAXHOST], port[NI_MAXSERV];
		if (getnameinfo(a->ai_addr, a->ai_addrlen, host, sizeof(host), port, sizeof(port),
				NI_NUMERICHOST | NI_NUMERICSERV) != 0)
			continue;
		char one[NI_MAXHOST + NI_MAXSERV + 4];
		snprintf(one, sizeof(one), a->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
			 port);
		server_names_add(one, name);
		size_t used = strlen(l->found);
		if (used + strlen(one) + 2 <= sizeof(l->found) && !is_listed(l->found, one))
			snprintf(l->found + used, sizeof(l->found) - used, "%s%s", used ? "," : "",
				 one);
	}
}

/* Looks up "name:port" or "[address]:port". Changes the text. */
static void look_up(struct lookup *l, char *host)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	char *port = strrchr(host, ':'), *bracket = strrchr(host, ']');
	struct addrinfo *list = NULL;

	if (port && port > host)
		*port++ = '\0';
	if (host[0] == '[' && bracket) {
		*bracket = '\0';
		host++;
	}
	int error = port ? getaddrinfo(host, port, &hints, &list) : EAI_NONAME;
	if (error) {
		snprintf(l->problem, sizeof(l->problem), "cannot look up %.100s: %s", host,
			 gai_strerror(error));
		return;
	}
	server_names_forget(host, port);
	add_found(l, host, list);
	freeaddrinfo(list);
}

static void lookup_work(void *arg)
{
	struct lookup *l = arg;
	char *rest = NULL;

	for (char *host = strtok_r(l->hosts, ",", &rest); host; host = strtok_r(NULL, ",", &rest))
		look_up(l, host);
}

static void lookup_done(void *arg)
{
	struct lookup *l = arg;

	host_timer_done(&l->failed);
	l->done(l->arg, l->found, l->problem[0] ? l->problem : NULL);
	free(l->hosts);
	free(l);
}

void store_lookup(struct host *host, void *world, const char *hosts, store_lookup_fn done,
		  void *arg)
{
	struct lookup *l = mem_calloc(1, sizeof(*l));

	(void)world;
	l->hosts = mem_strdup(hosts);
	l->done = done;
	l->arg = arg;
	if (offload(host->loop, lookup_work, lookup_done, l) == 0)
		return;
	snprintf(l->problem, sizeof(l->problem), "cannot start a lookup");
	host_timer_init(&l->failed, host, lookup_done, l);
	host_timer_start(&l->failed, 0);
}
