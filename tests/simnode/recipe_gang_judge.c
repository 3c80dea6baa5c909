/* Judges gangs by each transaction that is committed: see recipe_gang.c. */
#include <stdio.h>
#include <string.h>

#include "recipe_gang.h"

static bool is_there(unsigned k, uint64_t id)
{
	for (unsigned i = 0; i < n_gang_nodes; i++)
		if (gang_nodes[i].gang == k && gang_nodes[i].id == id)
			return true;
	return false;
}

static unsigned count_running(unsigned k)
{
	unsigned n = 0;

	for (size_t i = 0; i < gangs[k].record.n; i++)
		n += is_there(k, gangs[k].record.members[i].id);
	return n;
}

/* --- what is committed ----------------------------------------------------------------------------- */

/*
 * Whether all have left it in order, which anybody may find; or the session has had one that did, and whoever
 * else was in it is lost: the last one out takes the gang away, however long its connection was gone meanwhile.
 */
static bool was_left(unsigned k, int64_t by)
{
	bool all = true, own = false;

	for (size_t i = 0; i < gangs[k].record.n; i++) {
		all &= gangs[k].left_by[i] != 0;
		own |= gangs[k].left_by[i] == by;
	}
	return all || own;
}

static void check_end(unsigned k, int64_t by, const char *what)
{
	if (gangs[k].record.n == 0)
		return;
	if (count_running(k) > 0)
		sim_violation("gang %u is %s while somebody is in it", k, what);
	else if (!was_left(k, by) && (gangs[k].empty_at == 0 ||
				      sim.now - gangs[k].empty_at < GANG_DEAD_MS * MS * 9 / 10))
		sim_violation("gang %u is %s although its members may come back", k, what);
}

static void check_members(unsigned k, const struct gang_record *r)
{
	for (size_t i = 0; i < r->n; i++) {
		uint64_t id = r->members[i].id;
		struct gang_ask *a = id - 1 < n_gang_asks ? &gang_asks[id - 1] : NULL;
		char key[8];
		if (!a || a->gang != k || !is_there(k, id)) {
			sim_violation("gang %u begins without member %zu", k, i);
			return;
		}
		snprintf(key, sizeof(key), "k%u", a->key);
		if (strcmp(key, r->members[i].key) != 0)
			sim_violation("gang %u: a member has another key", k);
		else if (a->denied)
			sim_violation("gang %u: one begins behind its end", k);
		a->counted = true;
		a->begun = gangs[k].begun + 1;
	}
}

static void begins(unsigned k, const struct gang_record *r)
{
	if (r->n != gangs[k].count || r->goes_on != gangs[k].goes_on)
		sim_violation("gang %u begins with another count", k);
	if (count_running(k) > 0)
		sim_violation("gang %u begins while another of its name lives", k);
	for (size_t i = 0; i < gangs[k].record.n; i++)
		if (strcmp(r->members[i].key, gangs[k].record.members[i].key) != 0)
			sim_violation("gang %u begins again with other indexes", k);
	check_members(k, r);
	gangs[k].begun++;
	memset(gangs[k].left_by, 0, sizeof(gangs[k].left_by));
	sim.figures.gangs[0]++;
}

static void comes_back(unsigned k, struct gang_ask *a)
{
	if (a->denied)
		sim_violation("gang %u: one comes back behind its end", k);
	a->counted = true;
	a->begun = gangs[k].begun;
}

/* A member has come back, or the record notes that one is lost, or that nobody is there. */
static void goes_on(unsigned k, const struct gang_record *r)
{
	const struct gang_record *before = &gangs[k].record;
	size_t changed = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->members[i].id == before->members[i].id)
			continue;
		changed++;
		if (!r->goes_on || is_there(k, before->members[i].id) || count_running(k) == 0 ||
		    strcmp(r->members[i].key, before->members[i].key) != 0)
			sim_violation("gang %u: one comes back that may not", k);
		else if (!is_there(k, r->members[i].id) || r->members[i].id - 1 >= n_gang_asks)
			sim_violation("gang %u: one comes back that is not there", k);
		else
			comes_back(k, &gang_asks[r->members[i].id - 1]);
		sim.figures.gangs[1]++;
	}
	if (r->lost && !before->lost && (r->goes_on || count_running(k) == r->n))
		sim_violation("gang %u is stopped though nobody is lost", k);
	if (changed > 1)
		sim_violation("gang %u: several come back at once", k);
}

static void written(unsigned k, const struct op *op, int64_t session)
{
	static struct gang_record r;
	const char *why;

	if (record_parse_gang(op->data->bytes, op->data->len, &r, &why) != 0) {
		sim_violation("gang %u has a bad record: %s", k, why);
		return;
	}
	if (r.n == 0)
		check_end(k, session, "given up");
	else if (r.instance == gangs[k].record.instance && gangs[k].record.n > 0)
		goes_on(k, &r);
	else
		begins(k, &r);
	gangs[k].record = r;
}

static void made(unsigned k, const struct op *op, int64_t session)
{
	struct party_ticket t;

	if (!party_ticket_parse(PATH_GANGS, path_name(op->path), &t) || t.left ||
	    t.id - 1 >= n_gang_asks || gang_asks[t.id - 1].gang != k || t.session != session ||
	    n_gang_nodes == GANG_NODES_MAX) {
		sim_violation("a node of gang %u is bad: %s", k, path_text(op->path));
		return;
	}
	gang_nodes[n_gang_nodes].path = op->path;
	gang_nodes[n_gang_nodes].session = session;
	gang_nodes[n_gang_nodes].gang = k;
	gang_nodes[n_gang_nodes++].id = t.id;
	gangs[k].empty_at = 0;
}

static void gone(path_id path, int64_t session, bool in_order)
{
	for (unsigned i = 0; i < n_gang_nodes;) {
		unsigned k = gang_nodes[i].gang;
		if (gang_nodes[i].path != path && gang_nodes[i].session != session) {
			i++;
			continue;
		}
		for (size_t j = 0; j < gangs[k].record.n; j++)
			if (gangs[k].record.members[j].id == gang_nodes[i].id && in_order)
				gangs[k].left_by[j] = gang_nodes[i].session;
		if (session != 0) /* it may begin in another one */
			gang_asks[gang_nodes[i].id - 1].counted = false;
		gang_nodes[i] = gang_nodes[--n_gang_nodes];
	}
	for (unsigned k = 0; k < GANGS; k++) {
		bool any = false;
		for (unsigned i = 0; i < n_gang_nodes; i++)
			any |= gang_nodes[i].gang == k;
		if (!any && gangs[k].empty_at == 0)
			gangs[k].empty_at = sim.now;
	}
}

static void look_at_op(unsigned k, const struct transaction *x, const struct op *op)
{
	bool marks = false;

	for (size_t i = 0; i < x->n_ops; i++)
		marks |= x->ops[i].type == STORE_OP_CREATE;
	if (op->path == gangs[k].path && op->type == STORE_OP_DELETE) {
		check_end(k, x->session, "removed");
		gangs[k].record.n = 0;
	} else if (op->path == gangs[k].path &&
		   (op->type == STORE_OP_SET || op->type == STORE_OP_CREATE)) {
		written(k, op, x->session);
	} else if (path_parent(op->path) == gangs[k].path && op->type == STORE_OP_DELETE) {
		gone(op->path, 0, marks);
	}
}

void gang_commit(const struct transaction *x)
{
	if (x->type == TRANSACTION_CLOSE)
		gone(PATH_ROOT, x->session, false);
	/* Nodes first: one that comes back is written before it in its transaction. */
	for (size_t i = 0; i < x->n_ops && !sim.stop; i++)
		for (unsigned k = 0; k < GANGS; k++)
			if (path_parent(x->ops[i].path) == gangs[k].path &&
			    x->ops[i].type == STORE_OP_CREATE_EPHEMERAL)
				made(k, &x->ops[i], x->session);
	for (size_t i = 0; i < x->n_ops && !sim.stop; i++)
		for (unsigned k = 0; k < GANGS; k++)
			look_at_op(k, x, &x->ops[i]);
}
