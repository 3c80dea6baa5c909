/*
 * The roster: by every transaction that is committed, no two nodes have one number, a node keeps the one that it
 * has, a new one gets the smallest that is free, and only who is noted as gone is forgotten. What is answered is
 * a number that the node had while it was asked for, and two machines of one name are not both told one.
 */
#include <stdio.h>
#include <string.h>

#include "recipes.h"
#include "wire/records/recipe_record.h"

#define ASKS_MAX 4096

static struct {
	path_id path;
	bool there;
	int64_t index;
	bool departed;
	bool damaged; /* its entry, by a hand */
	int64_t had;  /* the number that it lost last, -1 */
	int64_t lost_at;
} nodes[HOSTS_MAX];

static struct ask {
	unsigned site;
	int64_t at;
	bool twin; /* another machine of its name was there then, registered */
	char worker[NAME_ID_MAX + 1], other[NAME_ID_MAX + 1];
} asks[ASKS_MAX];
static unsigned n_asks;

static bool is_used(int64_t index)
{
	for (unsigned i = 0; i < HOSTS_MAX; i++)
		if (nodes[i].there && nodes[i].index == index)
			return true;
	return false;
}

static bool is_any_damaged(void)
{
	for (unsigned i = 0; i < HOSTS_MAX; i++)
		if (nodes[i].there && nodes[i].damaged)
			return true;
	return false;
}

static void numbered(unsigned node, int64_t index)
{
	if (is_used(index))
		sim_violation("number %lld is given out twice", (long long)index);
	for (int64_t k = 0; k < index; k++)
		if (!is_used(k) && !is_any_damaged())
			sim_violation("number %lld is given out while %lld is free",
				      (long long)index, (long long)k);
	nodes[node].there = true;
	nodes[node].index = index;
	sim.figures.numbered++;
}

static void lost(unsigned node)
{
	nodes[node].there = nodes[node].damaged = false;
	nodes[node].had = nodes[node].index;
	nodes[node].lost_at = sim.now;
}

static void written(unsigned node, const struct op *op)
{
	struct roster_record record;
	const char *why;

	if (op->type == STORE_OP_DELETE) {
		if (!nodes[node].departed && !nodes[node].damaged)
			sim_violation("a node was forgotten that is not noted as gone");
		lost(node);
		sim.figures.forgot++;
		return;
	}
	if (op->type != STORE_OP_SET && op->type != STORE_OP_CREATE)
		return;
	if (nodes[node].damaged && op->type == STORE_OP_SET)
		TRACE("what a hand has damaged is written over: its number was known");
	nodes[node].damaged = false;
	if (record_parse_roster(op->data->bytes, op->data->len, &record, &why) != 0)
		sim_violation("an entry of the roster is bad: %s", why);
	else if (op->type == STORE_OP_CREATE)
		numbered(node, record.index);
	else if (record.index != nodes[node].index)
		sim_violation("a node's number went from %lld to %lld",
			      (long long)nodes[node].index, (long long)record.index);
	nodes[node].departed = record.departed != 0;
}

void roster_commit(const struct transaction *x)
{
	for (size_t i = 0; i < x->n_ops; i++)
		for (unsigned k = 0; k < sim.n_hosts; k++)
			if (x->ops[i].path == nodes[k].path) {
				if (x->session == HAND)
					nodes[k].damaged = true;
				else
					written(k, &x->ops[i]);
				break;
			}
}

/* The place of the site's name: twins have one. */
static unsigned place(unsigned site)
{
	for (unsigned k = 0; k < site; k++)
		if (nodes[k].path == nodes[site].path)
			return k;
	return site;
}

/* Another machine with its name that is registered now; its worker id, "". */
static const char *twin_of(unsigned site)
{
	const struct tree *t = servers_tree();

	for (unsigned k = 0; t && k < sim.n_hosts; k++) {
		char path[STORE_PATH_MAX];
		if (k == site || nodes[k].path != nodes[site].path || !sites[k].running)
			continue;
		snprintf(path, sizeof(path), SITE_ROOT "/workers/%s", sites[k].node.registry.id);
		if (sites[k].node.registry.id[0] && tree_get(t, path_intern(path)))
			return sites[k].node.registry.id;
	}
	return "";
}

static void on_index(void *arg, int64_t index, const char *why)
{
	const struct ask *ask = arg;
	unsigned k = place(ask->site);

	(void)why;
	sim.figures.indexed[index >= 0]++;
	if (index < 0)
		return;
	if (!(nodes[k].there && nodes[k].index == index) &&
	    !(nodes[k].had == index && nodes[k].lost_at >= ask->at))
		sim_violation("site %u is told the number %lld, which it does not have", ask->site,
			      (long long)index);
	if (ask->twin && strcmp(twin_of(ask->site), ask->other) == 0 &&
	    strcmp(sites[ask->site].node.registry.id, ask->worker) == 0)
		sim_violation("site %u is told a number beside another machine of its name",
			      ask->site);
}

static void on_forgotten(void *arg, enum roster_result result)
{
	(void)arg, (void)result;
}

static void on_listed(void *arg, enum roster_result result)
{
	const struct roster *r = &((struct site *)arg)->node.recipes.roster;

	for (size_t i = 0; result == ROSTER_DONE && i < r->n; i++)
		for (size_t j = 0; j < i; j++)
			if (r->entries[i].record.index >= 0 &&
			    r->entries[i].record.index == r->entries[j].record.index)
				sim_violation("a list of the roster has number %lld twice",
					      (long long)r->entries[i].record.index);
}

void roster_use(struct site *s)
{
	struct recipes *recipes = &s->node.recipes;
	struct ask *ask = &asks[n_asks++ % ASKS_MAX];
	const char *other = sites[random_range(0, sim.n_hosts - 1)].name;

	*ask = (struct ask){.site = s->id, .at = sim.now};
	snprintf(ask->worker, sizeof(ask->worker), "%s", s->node.registry.id);
	snprintf(ask->other, sizeof(ask->other), "%s", twin_of(s->id));
	ask->twin = ask->other[0] && ask->worker[0];
	own_index_ask(&recipes->index, on_index, ask);
	if (random_chance(100))
		roster_list(&recipes->roster, on_listed, s);
	if (random_chance(100))
		roster_forget(&recipes->roster, other, strlen(other), on_forgotten, NULL);
}

bool roster_damage(void)
{
	unsigned node = (unsigned)random_range(0, sim.n_hosts - 1);
	struct transaction *x;

	if (!nodes[node].there)
		return false;
	TRACE("the entry of site %u in the roster is damaged by hand", node);
	x = transaction_new(TRANSACTION_OPS, HAND, 1);
	x->ops[0].version = -1;
	x->ops[0].type = STORE_OP_SET;
	x->ops[0].path = nodes[node].path;
	x->ops[0].data = blob_new("junk", 4);
	return servers_by_hand(x);
}

const char *roster_at_rest(void)
{
	bool any = false;

	for (unsigned i = 0; i < sim.n_hosts; i++)
		any |= sites[i].running;
	for (unsigned i = 0; any && i < sim.n_hosts; i++) {
		unsigned k = place(i);
		bool present = sites[i].running;
		for (unsigned j = 0; j < sim.n_hosts; j++)
			present |= sites[j].running && nodes[j].path == nodes[i].path;
		if ((sites[i].running && twin_of(i)[0]) || nodes[k].damaged)
			continue; /* it may have none, or nobody can tell */
		if (present && !nodes[k].there && nodes[k].had >= 0 &&
		    sim.now - nodes[k].lost_at < 5 * SECOND)
			continue; /* forgotten, as its entry could not be read */
		if (present && !nodes[k].there)
			return "a node has no number";
		if (nodes[k].there && nodes[k].departed == present)
			return present ? "a node is noted as gone" : "a node is not noted as gone";
	}
	return NULL;
}

void roster_lose(void)
{
	for (unsigned i = 0; i < HOSTS_MAX; i++) {
		if (nodes[i].there)
			lost(i);
		nodes[i].departed = false;
	}
}

void roster_reset(void)
{
	char path[STORE_PATH_MAX];

	memset(nodes, 0, sizeof(nodes));
	n_asks = 0;
	for (unsigned i = 0; i < HOSTS_MAX; i++) {
		/* host-NN:/run/zkleader */
		snprintf(path, sizeof(path), SITE_ROOT "/roster/%s:%%2Frun%%2Fzkleader",
			 sites[i].hostname);
		nodes[i].path = path_intern(path);
		nodes[i].had = -1;
	}
}
