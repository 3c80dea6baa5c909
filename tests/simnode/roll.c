#include "roll.h"

#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "node/fleet/roll/roll.h"
#include "scenario.h"
#include "server.h"

#define ROLL_PATH    SITE_ROOT "/roll"
#define WORKERS_PATH SITE_ROOT "/workers"
#define MEAN_US	     (8 * SECOND)

static int64_t well_at; /* true time at which the roll was last as it should be */

/* --- hands -------------------------------------------------------------------------------------------- */

static void hand_write(path_id path, const void *data, size_t len)
{
	struct transaction *x = by_hand(1);

	TRACE("%s is written by hand", path_text(path));
	x->ops[0].type = STORE_OP_SET;
	x->ops[0].path = path;
	x->ops[0].data = blob_new(data, len);
	servers_by_hand(x);
}

static void hand_remove(path_id path)
{
	struct transaction *x = by_hand(1);

	TRACE("%s is deleted by hand", path_text(path));
	x->ops[0].type = STORE_OP_DELETE;
	x->ops[0].path = path;
	servers_by_hand(x);
}

/* A byte of it is another one. */
static void damage(const struct tree *t, path_id path)
{
	const struct znode *node = tree_get(t, path);
	struct buffer bytes;

	if (!node->data || node->data->len == 0)
		return;
	buffer_init(&bytes, node->data->len);
	buffer_append(&bytes, node->data->bytes, node->data->len);
	bytes.data[random_range(0, (int64_t)bytes.len - 1)] ^= 1 << random_range(0, 7);
	hand_write(path, bytes.data, bytes.len);
	buffer_done(&bytes);
}

/* A well-formed roll that says that a worker has left, or that one is there that never was. */
static void lie(const struct tree *t, path_id path)
{
	const struct znode *node = tree_get(t, path);
	const struct znode *workers = tree_get(t, path_intern(WORKERS_PATH));
	struct buffer log, joined, left, bytes, plain;
	struct roll_head head = {.base = 1};
	const char *why;
	int64_t sum;

	buffer_init(&plain, ROLL_PLAIN_MAX);
	if (node->data)
		(void)roll_parse_head(node->data->bytes, node->data->len, &plain, &head, &sum,
				      &why);
	buffer_init(&log, ROLL_LOG_MAX);
	buffer_init(&joined, ROLL_BYTES_MAX);
	buffer_init(&left, ROLL_BYTES_MAX);
	buffer_init(&bytes, 4 * ROLL_BYTES_MAX);
	bool leaves = random_chance(700) && workers && workers->n_children > 0;
	if (leaves)
		roll_pack_id(&left, path_name(workers->children[random_range(
					    0, (int64_t)workers->n_children - 1)]));
	else
		roll_pack_entry(&joined, &(struct roll_entry){.id = "never", .session = 1});
	int64_t zxid = head.zxid + (random_chance(500) ? 1 : 1000);
	buffer_append(&log, head.log, head.log_len);
	roll_pack_batch(&log, zxid, &joined, !leaves, &left, leaves);
	head.zxid = zxid;
	head.workers += random_range(-1, 1) * (head.workers > 0);
	head.log = (const char *)log.data;
	head.log_len = log.len;
	if (roll_pack_head(&bytes, &head) > 0)
		hand_write(path, bytes.data, bytes.len);
	buffer_done(&log);
	buffer_done(&joined);
	buffer_done(&left);
	buffer_done(&bytes);
	buffer_done(&plain);
}

static void on_fault(void *arg, uint64_t number)
{
	const struct tree *t = servers_tree();
	path_id head = path_intern(ROLL_PATH);
	const struct znode *node = t ? tree_get(t, head) : NULL;

	(void)arg, (void)number;
	event_at(sim.now + random_exp(MEAN_US), on_fault, NULL, 0);
	if (!scenario_is_storm() || !node)
		return;
	path_id child = node->n_children > 0
				? node->children[random_range(0, (int64_t)node->n_children - 1)]
				: head;
	sim.figures.roll++;
	switch (random_range(0, 5)) {
	case 0: damage(t, head); break;
	case 1: damage(t, child); break;
	case 2: hand_write(head, NULL, 0); break;
	case 3: hand_remove(child); break;
	default: lie(t, head); break;
	}
}

/* --- what is judged ----------------------------------------------------------------------------------- */

const char *roll_problem(void)
{
	const struct tree *t = servers_tree();
	const struct znode *workers = t ? tree_get(t, path_intern(WORKERS_PATH)) : NULL;
	unsigned n = 0, states[4] = {0};

	if (!sim.options.roll || !workers)
		return NULL;
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		if (!sites[i].running || sites[i].machine->older)
			continue;
		n++;
		states[sites[i].node.registry.roll.state]++;
	}
	/* Nodes that hands make there count as well. */
	bool well = workers->n_children < ROLL_SMALL || n == 0
			    ? states[ROLL_KEEPING] + states[ROLL_FOLLOWING] == 0
			    : states[ROLL_KEEPING] == 1 && states[ROLL_FOLLOWING] == n - 1;
	for (unsigned i = 0; well && i < 4; i++)
		sim.figures.roll_rest[i] += states[i];
	if (well)
		well_at = sim.now;
	return sim.now - well_at > 4 * sim.timeout_ms * MS + 10 * SECOND
		       ? "the roll is not kept by one, and followed by the others"
		       : NULL;
}

void roll_begin(void)
{
	well_at = 0;
	if (sim.options.roll)
		event_at(random_exp(MEAN_US), on_fault, NULL, 0);
}
