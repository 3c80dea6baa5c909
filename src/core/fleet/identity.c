#include "core/fleet/identity.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#define NAMES_GROWTH 64 /* names of members that the list grows by */

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
	return (uint32_t)hash_bytes(name, strcspn(name, ":"), 0);
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

/* Those who have something in common with the worker that comes or goes. */
struct others {
	const struct worker *worker;
	struct alike hostname; /* nodes of those with the same hostname */
	struct alike brief;    /* nodes that are alike up to the colon */
	struct alike machine;  /* machines of those that have the same node, and tell theirs */
};

static bool has_node(const struct worker *w, const char *node)
{
	return w->node[0] && w->machine[0] && strcmp(w->node, node) == 0;
}

static void compare(struct others *o, const struct worker *w)
{
	if (strcmp(w->hostname, o->worker->hostname) == 0)
		alike_add(&o->hostname, w->node);
	if (same_short(w->node, o->worker->node))
		alike_add(&o->brief, w->node);
	if (has_node(w, o->worker->node))
		alike_add(&o->machine, w->machine);
}

static void mark(const struct others *o, struct member *m)
{
	if (strcmp(m->worker->hostname, o->worker->hostname) == 0)
		m->shares_hostname = o->hostname.differ;
	if (same_short(m->worker->node, o->worker->node))
		m->shares_short = o->brief.differ;
	if (has_node(m->worker, o->worker->node))
		m->twin = o->machine.differ;
}

static int by_key(const void *key, const void *name)
{
	uint32_t x = *(const uint32_t *)key, y = ((const struct fleet_name *)name)->key;

	return (x > y) - (x < y);
}

/* The place of the first name with that key, or where it would be. */
static size_t first_named(const struct fleet *f, uint32_t key)
{
	return sort_place(&key, f->names, f->n_names, sizeof(*f->names), by_key);
}

/* Sets the keys of its hostname and node, and returns how many differ: mostly they are alike. */
static size_t keys_of(const struct worker *w, uint32_t ret_keys[2])
{
	ret_keys[0] = key_of(w->hostname);
	ret_keys[1] = key_of(w->node);
	return ret_keys[0] == ret_keys[1] ? 1 : 2;
}

/*
 * Members with one hostname, or with nodes that are alike up to the colon, share a name if their
 * nodes are not all the same; those of one node are twins if their machines are not. Each is one
 * property of all of them: also a fleet on a single host is looked through twice for a change.
 */
static void update(struct fleet *f, const struct worker *w)
{
	struct others others = {.worker = w};
	uint32_t keys[2];
	size_t n = keys_of(w, keys), i;

	for (size_t k = 0; k < n; k++)
		for (i = first_named(f, keys[k]); i < f->n_names && f->names[i].key == keys[k]; i++)
			compare(&others, f->names[i].member->worker);
	for (size_t k = 0; k < n; k++)
		for (i = first_named(f, keys[k]); i < f->n_names && f->names[i].key == keys[k]; i++)
			mark(&others, f->names[i].member);
}

void identity_joined(struct fleet *f, struct member *m)
{
	uint32_t keys[2];
	size_t n = keys_of(m->worker, keys);

	for (size_t k = 0; k < n; k++) {
		size_t at = first_named(f, keys[k]);
		if (f->n_names % NAMES_GROWTH == 0)
			f->names = mem_resize(f->names, f->n_names + NAMES_GROWTH,
					      sizeof(f->names[0]));
		memmove(f->names + at + 1, f->names + at, (f->n_names - at) * sizeof(f->names[0]));
		f->names[at] = (struct fleet_name){keys[k], m};
		f->n_names++;
	}
	update(f, m->worker);
}

void identity_left(struct fleet *f, const struct member *m)
{
	uint32_t keys[2];
	size_t n = keys_of(m->worker, keys);

	for (size_t k = 0; k < n; k++) {
		size_t at = first_named(f, keys[k]);
		while (f->names[at].member != m)
			at++;
		f->n_names--;
		memmove(f->names + at, f->names + at + 1, (f->n_names - at) * sizeof(f->names[0]));
	}
	update(f, m->worker);
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
