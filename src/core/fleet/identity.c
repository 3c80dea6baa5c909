#include "core/fleet/identity.h"

#include <string.h>

#include "core/fleet/rank.h"

/* HOSTNAME alone also means HOSTNAME:SOCKET. A name by the key `node` has no colon. */
bool identity_means(const char *node, const char *text, size_t len)
{
	return (strlen(node) == len || strcspn(node, ":") == len) && memcmp(node, text, len) == 0;
}

static bool ends_at(const char *node, size_t i)
{
	return node[i] == ':' || node[i] == '\0';
}

/* Whether the names are alike up to the colon. */
static bool same_short(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] == b[i] && !ends_at(a, i))
		i++;
	return ends_at(a, i) && ends_at(b, i);
}

/* A key that is the same for names that are alike up to the colon. */
static uint32_t key_of(const char *name)
{
	return (uint32_t)rank_hash(name, strcspn(name, ":"), 0);
}

void identity_set_keys(struct member *m)
{
	m->hostname_key = key_of(m->worker->hostname);
	m->node_key = key_of(m->worker->node);
}

/* Without the key `node` the name is HOSTNAME:SOCKET, or empty in another program's record. */
static bool is_named_by_host(const struct worker *w)
{
	size_t len = strlen(w->hostname);

	return w->node[0] == '\0' ||
	       (strncmp(w->node, w->hostname, len) == 0 && w->node[len] == ':');
}

const char *identity_host(const struct worker *w)
{
	return is_named_by_host(w) ? w->hostname : w->node;
}

/* Members that have something in common, as they are looked through. */
struct alike {
	const char *first; /* NULL: none yet */
	bool differ;	   /* not all of them have what the first has */
};

static void alike_add(struct alike *a, const char *text)
{
	if (!a->first)
		a->first = text;
	a->differ |= strcmp(a->first, text) != 0;
}

/* Names that a member is compared with, and their keys. */
struct names {
	const char *hostname, *node;
	uint32_t hostname_key, node_key;
};

enum {
	HOSTNAME = 1, /* the same */
	SHORT = 2,    /* their nodes' names are alike up to the colon */
	NODE = 4,     /* the same node, and it tells its machine */
};

static unsigned in_common(const struct member *m, const struct names *n)
{
	const struct worker *w = m->worker;
	unsigned common = 0;

	if (m->hostname_key == n->hostname_key && strcmp(w->hostname, n->hostname) == 0)
		common |= HOSTNAME;
	if (m->node_key == n->node_key && same_short(w->node, n->node))
		common |= SHORT;
	if ((common & SHORT) && w->node[0] && w->machine[0] && strcmp(w->node, n->node) == 0)
		common |= NODE;
	return common;
}

/*
 * Members with one hostname, or with nodes that are alike up to the colon, share a name if their
 * nodes are not all the same; those of one node are twins if their machines are not. Each is one
 * property of all of them: also a fleet on a single host is looked through twice for a change.
 */
void identity_update(struct fleet *f, const char *hostname, const char *node)
{
	struct names names = {hostname, node, key_of(hostname), key_of(node)};
	struct alike by_hostname = {0}, by_short = {0}, machines = {0};

	for (size_t i = 0; i < f->n_members; i++) {
		unsigned common = in_common(f->by_id[i], &names);
		const struct worker *w = f->by_id[i]->worker;
		if (common & HOSTNAME)
			alike_add(&by_hostname, w->node);
		if (common & SHORT)
			alike_add(&by_short, w->node);
		if (common & NODE)
			alike_add(&machines, w->machine);
	}
	for (size_t i = 0; i < f->n_members; i++) {
		unsigned common = in_common(f->by_id[i], &names);
		struct member *m = f->by_id[i];
		if (common & HOSTNAME)
			m->shares_hostname = by_hostname.differ;
		if (common & SHORT)
			m->shares_short = by_short.differ;
		if (common & NODE)
			m->twin = machines.differ;
	}
}

const char *identity_name(const struct member *m)
{
	const struct worker *w = m->worker;

	if (is_named_by_host(w) &&
	    (w->node[0] == '\0' || (!m->shares_hostname && !m->shares_short)))
		return w->hostname;
	return w->node;
}

static bool is_there(const struct fleet *f, const char *node, const char *machine)
{
	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		if (strcmp(w->node, node) == 0 && strcmp(w->machine, machine) == 0)
			return true;
	}
	return false;
}

bool identity_concerns(const struct fleet *f, const char *decided_node, const char *decided_machine,
		       const char *node, const char *machine)
{
	if (strcmp(decided_node, node) != 0)
		return false;
	return decided_machine[0] == '\0' || machine[0] == '\0' ||
	       strcmp(decided_machine, machine) == 0 || !is_there(f, decided_node, decided_machine);
}

void identity_machine(const struct fleet *f, const char *node, const char *own_node,
		      const char *own_machine, char ret_machine[WORKER_MACHINE_MAX + 1])
{
	const char *machine = "";

	if (node[0] != '\0' && strcmp(node, own_node) == 0)
		machine = own_machine;
	for (size_t i = 0; node[0] != '\0' && machine[0] == '\0' && i < f->n_members; i++) {
		const struct member *m = f->by_id[i];
		if (!m->twin && strcmp(m->worker->node, node) == 0)
			machine = m->worker->machine;
	}
	memmove(ret_machine, machine, strlen(machine) + 1);
}
