#include "daemon/zookeeper/zk_trouble.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/machine/offload.h"

#define PROBE_AGAIN_MS	    5000 /* for a port of which nothing was found out */
#define RETCODE_AUTH_FAILED (-115)
#define PROBE_KNOWN_MS	    60000 /* for one that speaks something else */

struct trouble_probe {
	struct troubles *all; /* NULL: they are gone */
	char server[TROUBLE_SERVER_MAX];
	enum port_speaks speaks;
};

/*
 * A line is "Socket 192.0.2.1:2181 zk retcode=-4, errno=111(Connection refused): MESSAGE", and of
 * later libraries has the address in brackets. The library says EHOSTDOWN where a server hung up.
 */
bool trouble_parse(const char *line, struct trouble *ret_trouble)
{
	static const char before[] = "Socket ", between[] = " zk retcode=";
	const char *server = strstr(line, before), *code = strstr(line, between);
	const char *error = code ? strstr(code, ", errno=") : NULL;

	if (!server || !error || server + sizeof(before) > code)
		return false;
	server += sizeof(before) - 1;
	size_t len = (size_t)(code - server);
	if (len > 2 && server[0] == '[' && server[len - 1] == ']') {
		server++;
		len -= 2;
	}
	if (len >= sizeof(ret_trouble->server) || memchr(server, '\n', len))
		return false;
	memset(ret_trouble, 0, sizeof(*ret_trouble));
	memcpy(ret_trouble->server, server, len);
	ret_trouble->error = (int)strtol(error + strlen(", errno="), NULL, 10);
	ret_trouble->refused = strtol(code + strlen(between), NULL, 10) == RETCODE_AUTH_FAILED;
	ret_trouble->hung_up = ret_trouble->error == EHOSTDOWN ||
			       ret_trouble->error == ECONNRESET || ret_trouble->error == EPIPE;
	return ret_trouble->error > 0 || ret_trouble->refused;
}

void trouble_say(const struct trouble *t, unsigned times, enum port_speaks speaks, bool tls,
		 char message[TROUBLE_MESSAGE_MAX])
{
	const char *word = t->error == EHOSTDOWN ? "it hung up" : strerror(t->error), *hint = "";

	if (t->why) {
		snprintf(message, TROUBLE_MESSAGE_MAX, "%s", t->why);
		return;
	}
	if (t->refused)
		hint = "authentication refused by the server (SASL): see auth-file, or "
		       "sasl-keytab, and "
		       "the server's log";
	else if (speaks == PORT_TLS && !tls)
		hint = ": the port speaks TLS, and the sidecar is not told to: set tls = true, or "
		       "name the port without TLS (clientPort) in the key zookeeper";
	else if (speaks == PORT_HTTP)
		hint = ": the port speaks HTTP, so it is not ZooKeeper's (clientPort): correct the "
		       "key zookeeper";
	else if (t->hung_up && times > 1 && tls)
		hint = ", again and again: the port may be the one without TLS (name "
		       "secureClientPort), or the server may have no quorum: see its log";
	else if (t->hung_up && times > 1)
		hint = ", again and again: the port may want TLS, the server may have no quorum, "
		       "or refuse more connections of one address (maxClientCnxns): see its log";
	else if (t->error == ECONNREFUSED)
		hint = ": nothing listens there: start the server, or correct the key zookeeper";
	else if (!t->hung_up)
		hint = ": see that the server runs, the network, firewalls and the key zookeeper";
	snprintf(message, TROUBLE_MESSAGE_MAX, "%s%s", t->refused ? "" : word, hint);
}

static bool is_probed(const struct troubles *all, const char *server)
{
	int64_t good_ms = all->speaks == PORT_UNKNOWN ? PROBE_AGAIN_MS : PROBE_KNOWN_MS;

	return strcmp(all->probed, server) == 0 && clock_boot_ms() - all->probed_ms < good_ms;
}

static void tell(struct troubles *all)
{
	const struct trouble *t = &all->last;
	bool known = t->error != ECONNREFUSED && strcmp(all->probed, t->server) == 0;
	char message[TROUBLE_MESSAGE_MAX];

	trouble_say(t, all->hung_up, known ? all->speaks : PORT_UNKNOWN, all->tls, message);
	all->said(all->arg, t->server, message);
}

static void probe_work(void *arg)
{
	struct trouble_probe *p = arg;

	p->speaks = port_probe(p->server);
}

static void probe_done(void *arg)
{
	struct trouble_probe *p = arg;
	struct troubles *all = p->all;

	if (all) {
		all->probe = NULL;
		snprintf(all->probed, sizeof(all->probed), "%s", p->server);
		all->speaks = p->speaks;
		all->probed_ms = clock_boot_ms();
		if (p->speaks != PORT_UNKNOWN && strcmp(p->server, all->last.server) == 0)
			tell(all);
	}
	free(p);
}

static void start_probe(struct troubles *all, const char *server)
{
	struct trouble_probe *p = mem_calloc(1, sizeof(*p));

	p->all = all;
	snprintf(p->server, sizeof(p->server), "%s", server);
	if (offload(all->loop, probe_work, probe_done, p) == 0)
		all->probe = p;
	else
		free(p); /* no thread: the next line asks again */
}

void troubles_heard(struct troubles *all, const struct trouble *t)
{
	free(all->last.why);
	all->last = *t;
	all->hung_up = t->hung_up ? all->hung_up + 1 : 0;
	tell(all);
	if ((t->hung_up || t->error == ETIMEDOUT) && !all->tls && !t->why && !all->probe &&
	    !is_probed(all, t->server))
		start_probe(all, t->server);
}

void troubles_done(struct troubles *all)
{
	free(all->last.why);
	all->last.why = NULL;
	if (all->probe)
		all->probe->all = NULL;
	all->probe = NULL;
}
