/* The end of a gang: a member is lost, all have left, or no member has been there for long. */
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

#define DISSOLVE_MAX 20 /* attempts: waiters come, or a node is not ours */

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

	party_changes(p, reply);
	if (reply->code == STORE_OK || (reply->code == STORE_NO_NODE && reply->failed_op > 0))
		p->dissolved = 0;
	else if (!party_is_lost(reply) && ++p->dissolved == DISSOLVE_MAX)
		log_warning("gang not removed", LOG_STR("gang", p->name),
			    LOG_STR("why", reply->text));
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

	p->sight->removes = false;
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

/* Notes since when nobody is there, and whether the gang may be removed. */
void gang_look(struct party *p)
{
	p->sight->removes = p->dissolved < DISSOLVE_MAX;
	p->sight->failed = p->dissolved > 0;
	if (p->gang->n == 0 || p->sight->n_running + p->sight->n_waiting > 0) {
		p->dead_since = 0;
	} else if (p->pzxid != 0 && (p->dead_since == 0 || p->dead_pzxid != p->pzxid)) {
		p->dead_since = party_now(p);
		p->dead_pzxid = p->pzxid;
	}
}

/* --- what is written ------------------------------------------------------ */

const struct party_ticket *gang_runner(const struct party *p)
{
	const struct party_ticket *one = NULL;

	for (size_t i = 0; i < p->gang->n && !one; i++)
		one = p->sight->by_index[i];
	return one;
}

void gang_note(struct party *p, bool loss)
{
	const struct party_ticket *first = p->sight->n > 0 ? p->sight->tickets : NULL;

	if (!loss) {
		p->gang->empty = p->pzxid;
	} else {
		p->gang->lost = true;
		log_warning("gang stops, as a member was lost", LOG_STR("gang", p->name),
			    LOG_INT("instance", p->gang->instance));
	}
	write_record(p, p->gang, loss ? gang_runner(p) : first);
}
