#include "node/election/leader_node.h"

#include <string.h>

#include "base/log/log.h"
#include "node/election/leaders.h"
#include "node/tree/paths.h"

static void read_node(struct task *t);

static void leader_path(const struct task *t, char path[STORE_PATH_MAX])
{
	path_of(t->leaders->registry->settings, PATH_LEADERS, t->name, path);
}

/* Elections that are down wait for no answer: after expiry, what was asked before is nobody's
 * business. */
static bool is_answer(struct task *t, const struct store_reply *reply)
{
	t->leader.pending--;
	return reply->code != STORE_ABANDONED;
}

static void node_failed(struct task *t)
{
	leaders_step(t, &(struct election_event){.type = ELECTION_NODE_FAILED});
}

static void node_absent(struct task *t, bool watched)
{
	leaders_step(t, &(struct election_event){.type = ELECTION_NODE,
						 .node = {.known = true},
						 .unwatched = !watched});
}

static void take_leader(struct task *t, const struct leader_record *r)
{
	ids_set(&t->leaders->ids, &t->leader.id, r->id);
	ids_set(&t->leaders->ids, &t->leader.ip, r->ip);
	ids_set(&t->leaders->ids, &t->leader.hostname, r->hostname);
	ids_set(&t->leaders->ids, &t->leader.version, r->version);
	t->leader.since = r->since;
}

static void forget_leader(struct task *t)
{
	take_leader(t, &(struct leader_record){.since = 0});
}

/*
 * Takes the leader from the record. A node that cannot be a leader's is logged once, as it has to
 * be deleted.
 */
static void take_record(struct task *t, const struct store_reply *reply)
{
	bool told = t->election.node.known && t->election.node.token == reply->stat.czxid;
	struct leader_record record;
	char path[STORE_PATH_MAX];
	const char *why;

	forget_leader(t);
	leader_path(t, path);
	t->leader.marked = reply->stat.owner == 0 && record_is_marker(reply->data, reply->len);
	if (t->leader.marked) {
		if (!told)
			partitions_refresh(t->leaders);
	} else if (reply->stat.owner == 0) {
		if (!told)
			log_error("nobody can lead the task", LOG_STR("task", t->name),
				  LOG_STR("znode", path), LOG_STR("why", "it is not ephemeral"),
				  LOG_STR("remedy", "delete the znode"));
	} else if (record_parse_leader(reply->data, reply->len, &record, &why) == 0) {
		take_leader(t, &record);
	} else {
		log_warning("leader record refused", LOG_STR("znode", path), LOG_STR("why", why));
	}
}

static struct election_node node_of(const struct task *t, const struct store_reply *reply)
{
	return (struct election_node){
		.known = true,
		.exists = true,
		.mine = reply->stat.owner != 0 && reply->stat.owner == t->leaders->session->id,
		.owner = reply->stat.owner,
		.token = reply->stat.czxid,
		.version = reply->stat.version,
	};
}

static void node_there(struct task *t, const struct store_reply *reply)
{
	struct election_event event = {.type = ELECTION_NODE, .node = node_of(t, reply)};

	take_record(t, reply);
	leaders_step(t, &event);
}

/*
 * A missing leader node is usually claimed at once by the best candidate, which needs no watch yet.
 */
static bool is_ours_to_claim(const struct task *t)
{
	return t->election.state == ELECTION_FOLLOWING && t->election.view.candidate &&
	       t->election.view.place == 0;
}

/* A watch for a node that is not there yet can only be set by asking whether it exists. */
static void on_exists(void *arg, const struct store_reply *reply)
{
	struct task *t = arg;

	if (!is_answer(t, reply))
		return;
	if (reply->code == STORE_NO_NODE)
		node_absent(t, true);
	else if (reply->code == STORE_OK)
		read_node(t);
	else
		node_failed(t);
}

/* Whether the task is still free, and is claimed again; if not, its own claim has failed. */
static bool claim_again(struct task *t, const struct store_reply *reply)
{
	t->leader.left_out = false;
	if (reply->code == STORE_NO_NODE) {
		transactions_claim(&t->leaders->transactions, t);
		return true;
	}
	leaders_step(t, &(struct election_event){.type = ELECTION_CLAIMED,
						 .outcome = reply->code == STORE_OK
								    ? ELECTION_REFUSED
								    : ELECTION_UNKNOWN});
	return false;
}

static void on_node(void *arg, const struct store_reply *reply)
{
	struct task *t = arg;
	char path[STORE_PATH_MAX];

	reads_answered(&t->leaders->reads);
	if (!is_answer(t, reply))
		return;
	if (t->leader.left_out && claim_again(t, reply))
		return;
	if (reply->code == STORE_OK) {
		node_there(t, reply);
	} else if (reply->code == STORE_NO_NODE && is_ours_to_claim(t)) {
		reads_list_again(&t->leaders->reads);
		node_absent(t, false);
	} else if (reply->code == STORE_NO_NODE) {
		t->leader.pending++;
		leader_path(t, path);
		watches_exists(&t->leaders->session->watches, path, WATCH_LEADER, t, on_exists, t);
	} else {
		node_failed(t);
	}
}

static void node_unlisted(struct task *t)
{
	if (is_ours_to_claim(t))
		node_absent(t, false);
	else
		read_node(t);
}

static enum election_outcome outcome_of(const struct task *t, const struct store_reply *reply,
					const char *what)
{
	if (reply->code == STORE_OK)
		return ELECTION_DONE;
	if (reply->code == STORE_UNKNOWN)
		return ELECTION_UNKNOWN;
	if (store_is_refusal(reply->code))
		log_error(what, LOG_STR("task", t->name), LOG_STR("why", reply->text));
	return ELECTION_REFUSED;
}

static void on_claimed(struct task *t, const struct store_reply *reply)
{
	struct election_event event = {.type = ELECTION_CLAIMED};
	const struct leaders *l = t->leaders;

	if (reply->code == STORE_ABANDONED)
		return;
	event.outcome = outcome_of(t, reply, "claim refused");
	t->leader.refused = store_refusal(reply->code);
	if (reply->code == STORE_OK) {
		event.token = reply->stat.mzxid;
		event.owner = l->session->id;
		struct leader_record own = {.since = host_wall_ms(l->session->host)};
		memcpy(own.id, l->registry->id, sizeof(own.id));
		take_leader(t, &own);
	}
	leaders_step(t, &event);
}

static void on_released(struct task *t, const struct store_reply *reply)
{
	if (reply->code == STORE_ABANDONED)
		return;
	leaders_step(t,
		     &(struct election_event){.type = ELECTION_RELEASED,
					      .outcome = outcome_of(t, reply, "release refused")});
}

static void left_out(struct task *t)
{
	t->leader.left_out = true;
}

static void get_node(struct task *t)
{
	char path[STORE_PATH_MAX];

	t->leader.pending++;
	leader_path(t, path);
	watches_get(&t->leaders->session->watches, path, WATCH_LEADER, t, on_node, t);
}

static void read_node(struct task *t)
{
	reads_single(&t->leaders->reads, &t->reads);
}

static struct task *read_of(struct reads_item *item)
{
	return (struct task *)(void *)((char *)item - offsetof(struct task, reads));
}

/* A watch that has not fired proves that the node is unchanged. */
static bool on_still(struct reads_item *item)
{
	struct task *t = read_of(item);
	bool still = t->election.watched && t->election.node.known;

	if (still)
		leaders_step(t, &(struct election_event){.type = ELECTION_NODE,
							 .node = t->election.node});
	return still;
}

static void on_unlisted(struct reads_item *item)
{
	node_unlisted(read_of(item));
}

/* The read sets a watch, to hear of it when the task is given up. */
static void on_turn(struct reads_item *item)
{
	get_node(read_of(item));
}

static void on_failed(struct reads_item *item)
{
	node_failed(read_of(item));
}

void leader_node_read(struct task *t)
{
	const struct election *e = &t->election;

	if (e->state == ELECTION_LEADING && e->watched && e->fresh && e->node.known)
		reads_unchanged(&t->leaders->reads, &t->reads);
	else if (is_ours_to_claim(t) && !e->interest)
		reads_led(&t->leaders->reads, &t->reads);
	else
		read_node(t);
}

static void on_glance(void *arg, const struct store_reply *reply)
{
	struct task *t = arg;

	if (is_answer(t, reply) && reply->code == STORE_OK)
		leaders_step(t, &(struct election_event){.type = ELECTION_GLANCE,
							 .node = node_of(t, reply)});
}

void leader_node_glance(struct task *t)
{
	char path[STORE_PATH_MAX];

	t->leader.pending++;
	leader_path(t, path);
	store_get(t->leaders->session->store, path, false, on_glance, t);
}

void leader_node_release(struct task *t, const struct election_action *action)
{
	transactions_release(&t->leaders->transactions, t, action->to ? t->standing.best_id : "",
			     action->version);
}

void leader_node_forget(struct task *t)
{
	char path[STORE_PATH_MAX];

	leader_path(t, path);
	watches_drop(&t->leaders->session->watches, path, WATCH_NODE, t);
	t->leader.left_out = false;
	t->leader.refused = STORE_OK;
	forget_leader(t);
}

void leader_node_init(struct leaders *l)
{
	/* Turn handlers run in the order of their initialization: reads go out before claims. */
	reads_init(&l->reads, l->session,
		   &(struct reads_handlers){.still = on_still,
					    .free = on_unlisted,
					    .read = on_turn,
					    .failed = on_failed});
	transactions_init(&l->transactions, l->session, l->registry, &l->reads,
			  &(struct transactions_handlers){.claimed = on_claimed,
							  .released = on_released,
							  .read = read_node,
							  .left_out = left_out});
}

void leader_node_done(struct leaders *l)
{
	transactions_done(&l->transactions);
	reads_done(&l->reads);
}
