#include "splits.h"

#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "node/election/partitions.h"
#include "scenario.h"
#include "site.h"
#include "wire/records/record.h"

#define ON_ITS_WAY_US (10 * SECOND) /* a request may be under way, since the server said its time */
#define TOLERANCE_MS  (CLOCKS_TOLERANCE_MS + 2000)

static enum { SPLITS_REST, SPLITS_DAMAGED, SPLITS_AWAY, SPLITS_BACK, SPLITS_RESUME } phase;
static unsigned files[HOSTS_MAX]; /* sites' files, where a hand has damaged the number; 0: as all */
static unsigned claimed[PARTITIONS]; /* the number by which each was claimed last */
static unsigned other;		     /* the number that is in force between */
/* By how much sites' clocks are ahead of the quorum's leader's, and since when. */
static struct {
	int64_t ahead_ms, since;
} clocks_seen[HOSTS_MAX];

static path_id path_in(const char *folder, unsigned number)
{
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), SITE_ROOT "/%s/" PARTITIONED ":%u", folder, number);
	return path_intern(path);
}

static bool is_there(unsigned n)
{
	const struct tree *t = servers_tree();

	return t && tree_get(t, path_in("partitions", n));
}

static bool is_damaged(void)
{
	const struct tree *t = servers_tree();
	const struct znode *node = t ? tree_get(t, path_in("partitions", PARTITIONS)) : NULL;
	struct split_record r;
	const char *why;

	return node && (!node->data ||
			record_parse_split(node->data->bytes, node->data->len, &r, &why) != 0);
}

static bool is_paused(void)
{
	const struct tree *t = servers_tree();
	const struct znode *folder = t ? tree_get(t, path_intern(SITE_ROOT "/policy")) : NULL;

	for (size_t i = 0; folder && i < folder->n_children; i++) {
		const struct znode *node = tree_get(t, folder->children[i]);
		struct policy_record r;
		const char *why;
		if (node->data &&
		    record_parse_policy(node->data->bytes, node->data->len, &r, &why) == 0 &&
		    strcmp(r.kind, "pause") == 0 && strcmp(r.task, PARTITIONED) == 0)
			return true;
	}
	return false;
}

static void on_changed(void *arg, enum partitions_result result, const char *text)
{
	(void)arg;
	TRACE("a repartition ends with %d: %s", (int)result, text);
}

static void change_to(unsigned n)
{
	struct site *by = order_any_node();

	if (!by)
		return;
	TRACE("site %u is told: %u partitions", by->id, n);
	partitions_change(&by->node.leaders, PARTITIONED, n, "", "operator", on_changed, NULL);
	machine_wake(by->machine, 0);
}

static void on_step(void *arg, uint64_t number);

static void step_later(void)
{
	event_at(sim.now + random_exp(2 * SECOND), on_step, NULL, 0);
}

static void set_files(unsigned n)
{
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		files[i] = n && random_chance(500) ? n : 0;
		if (fault_listens(&sites[i]))
			site_configure(&sites[i]);
	}
}

/* Puts the files right again, and deletes a record that cannot be read. */
static void mend(void)
{
	set_files(0);
	if (is_damaged())
		hand_delete(path_in("partitions", PARTITIONS));
}

unsigned split_file(unsigned site)
{
	return files[site] ? files[site] : PARTITIONS;
}

/* Does one step, again and again until it has shown; without a quorum nothing shows. */
static void on_step(void *arg, uint64_t number)
{
	bool paused = is_paused();

	(void)arg, (void)number;
	if (!servers_tree()) {
		step_later();
		return;
	}
	if (phase == SPLITS_DAMAGED || phase == SPLITS_BACK)
		mend();
	if (phase == SPLITS_DAMAGED)
		phase = SPLITS_BACK;
	if (phase == SPLITS_AWAY && is_there(other))
		phase = SPLITS_BACK;
	else if (phase == SPLITS_BACK && is_there(PARTITIONS) && !is_damaged())
		phase = SPLITS_RESUME;
	if (phase != SPLITS_RESUME && !paused)
		order_pause(PARTITIONED, true);
	if (phase == SPLITS_AWAY)
		change_to(other);
	else if (phase == SPLITS_BACK)
		change_to(PARTITIONS);
	else if (paused)
		order_pause(PARTITIONED, false);
	else
		phase = SPLITS_REST;
	if (phase != SPLITS_REST)
		step_later();
}

void splits_reset(void)
{
	phase = SPLITS_REST;
	memset(clocks_seen, 0, sizeof(clocks_seen));
	memset(files, 0, sizeof(files));
	memset(claimed, 0, sizeof(claimed));
}

/*
 * A hand deletes the number that is in force, or writes over it, beside hosts with another one in their files: one
 * of the two is put in force, or none as long as a record is there that cannot be read.
 */
bool split_damage(void)
{
	struct transaction *x;

	if (phase != SPLITS_REST || !sim.options.partitions || !is_there(PARTITIONS))
		return false;
	phase = SPLITS_DAMAGED;
	other = (unsigned)random_range(2, PARTITIONS - 1);
	set_files(other);
	TRACE("the number of partitions is damaged by hand, beside files with %u", other);
	x = transaction_new(TRANSACTION_OPS, HAND, 1);
	x->ops[0].version = -1;
	x->ops[0].type = random_chance(700) ? STORE_OP_DELETE : STORE_OP_SET;
	x->ops[0].path = path_in("partitions", PARTITIONS);
	if (x->ops[0].type == STORE_OP_SET)
		x->ops[0].data = blob_new("junk", 4);
	servers_by_hand(x);
	event_at(sim.now + random_range(2, 30) * SECOND, on_step, NULL, 0);
	return true;
}

bool split_change(void)
{
	if (phase != SPLITS_REST || !sim.options.partitions)
		return false;
	struct site *late = fault_site(true);
	phase = SPLITS_AWAY;
	/* A paused site hears of the pause and of the change only when both have been made. */
	if (late && random_chance(700))
		pause_site(late, false, random_range(2, 8) * SECOND);
	other = (unsigned)random_range(2, PARTITIONS - 1);
	on_step(NULL, 0);
	return true;
}

bool splits_waiting(void)
{
	/* A pause may have been on its way while it was taken back. */
	if (phase == SPLITS_REST && sim.options.partitions && (!servers_tree() || is_paused())) {
		phase = SPLITS_RESUME;
		on_step(NULL, 0);
	}
	return phase != SPLITS_REST;
}

/* The number that the claim goes by: it checks that this is in force. */
static unsigned number_of(const struct transaction *x)
{
	for (size_t i = 0; i < x->n_ops; i++)
		for (unsigned n = 2; n < PARTITIONS; n++)
			if (x->ops[i].type == STORE_OP_CHECK &&
			    x->ops[i].path == path_in("partitions", n))
				return n;
	return PARTITIONS;
}

/* Two numbers are never at work at a time. */
static void check_claim(const struct transaction *x, const struct tree *before, unsigned k)
{
	unsigned n = number_of(x);

	if (!tree_get(before, path_in("partitions", n)))
		sim_violation("partition %u is claimed while its number is not in force", k);
	for (unsigned i = 0; i < PARTITIONS; i++) {
		const struct znode *node = tree_get(before, path_in("leaders", i));
		if (node && node->stat.owner != 0 && node->stat.owner != HAND && claimed[i] != n)
			sim_violation("partition %u of %u is claimed while %u of %u is led", k, n,
				      i, claimed[i]);
	}
	claimed[k] = n;
}

int64_t split_changed_ms(const struct tree *t)
{
	const struct znode *node = tree_get(t, path_in("partitions", PARTITIONS));
	struct split_record r;
	const char *why;

	if (!node || !node->data ||
	    record_parse_split(node->data->bytes, node->data->len, &r, &why) != 0)
		return 0;
	return r.from > 0 ? node->stat.ctime : 0;
}

/* By how much the site's clock is ahead of that which the transaction has. */
static int64_t ahead_ms(const struct site *s, const struct transaction *x)
{
	return host_wall_ms(machine_host(s->machine)) - x->wall_ms;
}

static void note_clocks(const struct transaction *x)
{
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		int64_t ahead = ahead_ms(&sites[i], x);
		if (ahead - clocks_seen[i].ahead_ms > 1000 ||
		    clocks_seen[i].ahead_ms - ahead > 1000)
			clocks_seen[i].since = sim.now;
		clocks_seen[i].ahead_ms = ahead;
	}
}

/* The ticks up to now count as claimed, by the server's clock. */
static void check_clock(const struct transaction *x, const struct blob *record)
{
	struct split_record r;
	const char *why;

	if (record_parse_split(record->bytes, record->len, &r, &why) != 0 || r.from == 0)
		return; /* the first number: no tick counts as claimed */
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		int64_t ahead = clocks_seen[i].ahead_ms;
		if (x->session == sites[i].node.session.id &&
		    sim.now - clocks_seen[i].since > ON_ITS_WAY_US &&
		    (ahead > TOLERANCE_MS || -ahead > TOLERANCE_MS))
			sim_violation("site %u changes the number of partitions, and its clock is "
				      "%lld ms ahead of the server's",
				      i, (long long)ahead);
	}
}

static void check_number(const struct tree *before, unsigned n)
{
	for (unsigned k = 0; k < PARTITIONS; k++) {
		const struct znode *node = tree_get(before, path_in("leaders", k));
		if (node && node->stat.owner != 0)
			sim_violation("%u partitions are put in force while somebody leads %u", n,
				      k);
	}
}

void splits_propose(const struct transaction *x, const struct tree *before)
{
	if (!sim.options.partitions)
		return;
	note_clocks(x);
	if (x->session == HAND)
		return;
	for (size_t i = 0; i < x->n_ops; i++) {
		for (unsigned k = 0; k < PARTITIONS; k++) {
			if (x->ops[i].type == STORE_OP_CREATE_EPHEMERAL &&
			    x->ops[i].path == path_in("leaders", k))
				check_claim(x, before, k);
			if (x->ops[i].type == STORE_OP_CREATE &&
			    x->ops[i].path == path_in("partitions", k + 1)) {
				check_number(before, k + 1);
				check_clock(x, x->ops[i].data);
			}
		}
	}
}
