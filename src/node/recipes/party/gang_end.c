/* The end of a gang: a member is lost, all have left, or no member has been there for long. */
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

#define RETRY_MS     100 /* while the registration is being renewed */
#define DISSOLVE_MAX 20	 /* attempts: waiters come, or a node is not ours */

int gang_index_of_key(const struct gang_record *r, const char *key)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->members[i].key, key) == 0)
			return (int)i;
	return -1;
}

const struct party_ticket *gang_runner(const struct party *p)
{
	const struct party_ticket *one = NULL;

	for (size_t i = 0; i < p->gang->n && !one; i++)
		one = p->sight->by_index[i];
	return one;
}

bool gang_is_over(const struct party *p)
{
	bool over = true;

	for (size_t i = 0; i < p->gang->n; i++)
		over &= p->sight->marked[i];
	return over;
}

/*
 * Replaces the record. proof: a node seen in the folder, which proves that it is the same gang: one
 * that was removed and made again may have reached the same version. NULL: there was no node.
 */
static void write_record(struct party *p, const struct gang_record *r,
			 const struct party_ticket *proof)
{
	struct party_ops o;

	party_ops_init(&o, p, 3, true);
	party_ops_record(&o, STORE_OP_SET, p->version, r);
	if (proof)
		party_ops_node(&o, STORE_OP_CHECK, proof, NULL);
	party_ops_send(&o, party_on_done);
}

static void on_dissolved(void *arg, const struct store_reply *reply)
{
	struct party *p = arg;
	struct session *s = p->all->session;

	p->dirty = true;
	p->unsure |= party_is_lost(reply);
	if (reply->code == STORE_OK || (reply->code == STORE_NO_NODE && reply->failed_op > 0))
		p->dissolved = 0;
	else if (!party_is_lost(reply) && ++p->dissolved == DISSOLVE_MAX)
		log_warning("gang not removed", LOG_STR("gang", p->name),
			    LOG_STR("why", reply->text));
	if (!p->closed && reply->code == STORE_NO_NODE && reply->failed_op == 0) {
		session_confirm(s);
		p->retry_ms = host_now_ms(s->host) + RETRY_MS;
	}
	party_answered(p);
}

/*
 * Deletes the folder if nothing else is in it; otherwise the record becomes that of a gang without
 * members. Both fail if the record has changed, or another node has come meanwhile.
 */
void gang_dissolve(struct party *p)
{
	const struct party_sight *sight = p->sight;
	bool alone = sight->n_waiting == 0 && sight->n_names == sight->n_marked;
	mem_auto struct gang_record *none = mem_calloc(1, sizeof(*none));
	struct party_ops o;

	if (p->dissolving || p->dissolved >= DISSOLVE_MAX)
		return;
	p->dissolving = true;
	none->count = p->gang->count;
	party_ops_init(&o, p, sight->n_marked + 2, true);
	for (size_t i = 0; i < sight->n && o.n < STORE_OPS_MAX - 1; i++)
		if (sight->tickets[i].left)
			party_ops_node(&o, STORE_OP_DELETE, &sight->tickets[i], NULL);
	party_ops_record(&o, alone ? STORE_OP_DELETE : STORE_OP_SET, p->version,
			 alone ? NULL : none);
	party_ops_send(&o, on_dissolved);
}

/* --- nobody is there ------------------------------------------------------ */

/* A gang is dead by our own observation, or by that of the first in rank, which the record has. */
bool gang_is_dead(const struct party *p)
{
	if (p->gang->n == 0 || p->sight->n_running + p->sight->n_waiting > 0 || p->pzxid == 0)
		return false;
	return p->gang->empty == p->pzxid || (p->dead_since > 0 && p->dead_pzxid == p->pzxid &&
					      party_now(p) - p->dead_since >= GANG_DEAD_MS);
}

void gang_look(struct party *p)
{
	p->dissolving = false;
	if (p->gang->n == 0 || p->sight->n_running + p->sight->n_waiting > 0) {
		p->dead_since = 0;
	} else if (p->pzxid != 0 && (p->dead_since == 0 || p->dead_pzxid != p->pzxid)) {
		p->dead_since = party_now(p);
		p->dead_pzxid = p->pzxid;
	}
}

/*
 * The first in rank of the fleet removes a gang that has ended or never began, and notes in the
 * record of another that it has been empty for long.
 */
void gang_sweep(struct party *p)
{
	const struct party_sight *s = p->sight;
	bool over = gang_is_over(p);

	if (!p->there || p->refused || s->n_running + s->n_waiting > 0)
		return;
	if (over && s->n_names == s->n_marked) {
		gang_dissolve(p);
	} else if (!over && p->gang->empty != p->pzxid && gang_is_dead(p)) {
		p->gang->empty = p->pzxid;
		write_record(p, p->gang, s->n > 0 ? &s->tickets[0] : NULL);
	}
}

/* --- loss of a member ----------------------------------------------------- */

/* Whether a running member has gone without leaving. */
static bool is_one_lost(const struct party *p)
{
	for (size_t i = 0; i < p->gang->n; i++)
		if (!p->sight->by_index[i] && !p->sight->marked[i])
			return true;
	return false;
}

/* Each member watches the next present one, if that is another sidecar's. */
static void watch_next(struct party *p, struct party_member *m)
{
	const struct party_ticket *next = NULL;
	size_t n = p->gang->n;

	for (size_t i = 1; i < n && !next; i++)
		next = p->sight->by_index[(m->index + i) % n];
	party_watch_end(m, next && next->session != p->all->session->id ? next : NULL);
}

void gang_decided(struct party *p)
{
	bool stops = p->gang->n > 0 && !p->gang->goes_on;

	if (p->busy == 1 && stops && !p->gang->lost && p->sight->n_running > 0 && is_one_lost(p)) {
		p->gang->lost = true;
		write_record(p, p->gang, gang_runner(p));
		log_warning("gang stops, as a member was lost", LOG_STR("gang", p->name),
			    LOG_INT("instance", p->gang->instance));
	}
	if (p->busy == 1)
		party_consider(p);
	for (struct party_member *m = p->members; m && stops; m = m->next)
		if (m->state == PARTY_RUNS && !m->held.lost)
			watch_next(p, m);
}
