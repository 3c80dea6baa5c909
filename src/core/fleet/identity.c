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

/* The names by which a member is looked for, and their keys. */
struct names {
	const char *hostname, *node;
	uint32_t hostname_key, node_key;
};

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

/*
 * Whether both may be called by one hostname: their own, or a name by the key that looks like it.
 */
static bool may_be_confused(const struct member *m, const struct names *n)
{
	return (m->hostname_key == n->hostname_key &&
		strcmp(m->worker->hostname, n->hostname) == 0) ||
	       (m->node_key == n->node_key && same_short(m->worker->node, n->node));
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

static void update_member(const struct fleet *f, struct member *m)
{
	const struct worker *w = m->worker;
	struct names names = {w->hostname, w->node, m->hostname_key, m->node_key};

	m->shares_name = m->twin = false;
	for (size_t i = 0; i < f->n_members; i++) {
		if (!may_be_confused(f->by_id[i], &names))
			continue;
		const struct worker *other = f->by_id[i]->worker;
		bool same_node = strcmp(other->node, w->node) == 0;
		m->shares_name |= !same_node;
		m->twin |= same_node && w->node[0] != '\0' && w->machine[0] != '\0' &&
			   other->machine[0] != '\0' && strcmp(other->machine, w->machine) != 0;
	}
}

void identity_update(struct fleet *f, const char *hostname, const char *node)
{
	struct names names = {hostname, node, key_of(hostname), key_of(node)};

	for (size_t i = 0; i < f->n_members; i++)
		if (may_be_confused(f->by_id[i], &names))
			update_member(f, f->by_id[i]);
}

const char *identity_name(const struct member *m)
{
	const struct worker *w = m->worker;

	if (is_named_by_host(w) && (!m->shares_name || w->node[0] == '\0'))
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
