#include "control/answer/handover.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/fleet/fleet_draft.h"
#include "core/fleet/identity.h"
#include "core/fleet/version.h"

#define NOT_KNOWN (-1)

/* A copy of a leader's data, as the leader may have left the fleet since. */
struct seen_leader {
	char *id, *hostname, *node, *version; /* owned; NULL: no leader was seen */
};

struct handover {
	int64_t token; /* token of the last leadership that was seen; 0: none */
	struct seen_leader leader, previous;
	int64_t since_ms; /* end of that leadership, by host_now_ms(); 0: not ended; NOT_KNOWN */
	/* How the leader came to lead: */
	const char *reason; /* NULL: not known */
	int64_t vacant_ms;  /* how long nobody led before, or NOT_KNOWN */
};

static void seen_leader_done(struct seen_leader *l)
{
	free(l->id);
	free(l->hostname);
	free(l->node);
	free(l->version);
	*l = (struct seen_leader){NULL, NULL, NULL, NULL};
}

void handover_forget(struct task *t)
{
	struct handover *h = t->above;

	if (!h)
		return;
	seen_leader_done(&h->leader);
	seen_leader_done(&h->previous);
	free(h);
	t->above = NULL;
}

/*
 * Why the new leader is better than the previous one, which is still a candidate. If it is not
 * better, or not by what the task is yielded for, the previous leader has lost its session: its
 * registration goes in a moment. The draft decides among members of one version whatever their
 * ranks are, and gives some a worse version where those of the better one have as many as they may.
 */
static const char *why_better(const struct task *t, const struct member *leader,
			      const struct member *previous)
{
	int newer = version_compare(leader->worker->version, previous->worker->version);
	struct ranked a = fleet_rank_member(leader, &t->contest);
	struct ranked b = fleet_rank_member(previous, &t->contest);

	if (t->election.config.yield == ELECTION_YIELD_NEVER)
		return "left the fleet";
	if (t->contest.version_policy == VERSION_ANY)
		newer = 0;
	if (newer != 0 && (newer > 0) != (t->contest.version_policy == VERSION_OLDEST))
		return newer > 0 ? "newer version" : "older version";
	if (t->contest.draft)
		return fleet_draft_owner(&t->leaders->registry->fleet, t->index) == previous
			       ? "left the fleet"
			       : "moved by the draft";
	return newer == 0 && t->election.config.yield == ELECTION_YIELD_RANK &&
			       fleet_compare_ranked(&a, &b) > 0
		       ? "higher rank"
		       : "left the fleet";
}

/* Why the previous leader leads no more; NULL: not known. */
static const char *reason(const struct task *t, const char *previous_id)
{
	const struct member *leader = leaders_leader(t);
	const struct member *previous = fleet_find(&t->leaders->registry->fleet, previous_id);

	if (!previous)
		return "left the fleet";
	if (previous->clock_off)
		return "its clock is wrong";
	if (fleet_has_resigned(previous, t->index))
		return "resigned";
	switch (fleet_fitness(previous, &t->contest, t->index)) {
	case WHY_NOT_LISTED: return "no longer lists it";
	case WHY_DRAINED: return "drained";
	case WHY_UNHEALTHY: return "not healthy";
	case WHY_BELOW_MINIMUM: return "older than min-version";
	case WHY_NOT_PINNED: return "not the pinned version";
	case WHY_BEST:
	case WHY_WORSE_VERSION:
	case WHY_LOWER_RANK:
	case WHY_LOWER_IP:
	case WHY_LOWER_ID:
	case WHY_NOT_DRAFTED:
	case WHY_RESIGNED:
	case WHY_CLOCK_OFF: break;
	}
	return leader && leader != previous ? why_better(t, leader, previous) : NULL;
}

/*
 * Copies the leader's names from its registration. They are empty if that has not been read yet:
 * begin() then tries again for the previous leader.
 */
static void name_leader(struct seen_leader *l, const struct member *m)
{
	free(l->hostname);
	free(l->node);
	free(l->version);
	l->hostname = mem_strdup(m ? m->worker->hostname : "");
	l->node = mem_strdup(m ? identity_name(m) : "");
	l->version = mem_strdup(m ? m->worker->version : "");
}

static void begin(struct handover *h, const struct task *t, int64_t now_ms)
{
	const struct fleet *f = &t->leaders->registry->fleet;
	const struct member *leader = leaders_leader(t);

	h->vacant_ms = h->token == 0 || h->since_ms == NOT_KNOWN ? NOT_KNOWN
		       : h->since_ms > 0			 ? now_ms - h->since_ms
								 : 0;
	seen_leader_done(&h->previous);
	h->previous = h->leader;
	if (h->previous.id && h->previous.hostname[0] == '\0')
		name_leader(&h->previous, fleet_find(f, h->previous.id));
	h->reason = h->previous.id ? reason(t, h->previous.id) : NULL;
	h->leader =
		(struct seen_leader){.id = mem_strdup(leader ? leader->worker->id : t->leader.id)};
	name_leader(&h->leader, leader);
	h->token = t->election.node.token;
	h->since_ms = 0;
}

void handover_look(struct task *t)
{
	const struct session *session = t->leaders->session;
	int64_t now_ms = host_now_ms(session->host);

	if (t->watchers == 0) {
		handover_forget(t);
		return;
	}
	if (!t->above)
		t->above = mem_calloc(1, sizeof(struct handover));
	struct handover *h = t->above;
	if (leaders_fresh(t) && leaders_is_led(t)) {
		if (t->election.node.token != h->token)
			begin(h, t, now_ms);
		h->since_ms = 0;
	} else if (h->since_ms == 0) {
		h->since_ms = session_is_up(session) ? now_ms : NOT_KNOWN;
	}
}

static void pack_previous(struct pack *p, const struct seen_leader *l)
{
	pack_str(p, "previous");
	if (!l || !l->id) {
		pack_nil(p);
		return;
	}
	pack_map(p, 4);
	pack_kv_str(p, "id", l->id);
	pack_kv_str(p, "hostname", l->hostname);
	pack_kv_str(p, "node", l->node);
	pack_kv_str(p, "version", l->version);
}

void handover_pack(struct pack *p, const struct task *t)
{
	const struct handover *h = t->above;
	bool led = leaders_is_led(t), seen = h && led && t->election.node.token == h->token;

	pack_previous(p, seen ? &h->previous : h ? &h->leader : NULL);
	pack_kv_str(p, "reason", seen ? h->reason : t->standing.paused && !led ? "paused" : NULL);
	pack_kv_known(p, "vacant_ms", seen && h->vacant_ms != NOT_KNOWN, seen ? h->vacant_ms : 0);
}
