/* Why a task has another leader, while the one before is still there. */
#include "node_site.h"

#include "control/answer/handover.h"
#include "core/fleet/fleet_draft.h"

#define TASKS	4
#define MEMBERS 4

TestSuite(handover, .init = site_begin);

static const char *const grouped[TASKS] = {"a", "b", "c", "d"};

static void comes(const char *id, int32_t random, const char *version)
{
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", id);
	snprintf(w->version, sizeof(w->version), "%s", version);
	snprintf(w->hostname, sizeof(w->hostname), "host-%s", id);
	snprintf(w->node, sizeof(w->node), "host-%s:/s", id);
	snprintf(w->ip, sizeof(w->ip), "192.0.2.9");
	w->timeout_ms = TIMEOUT_MS;
	for (int32_t i = 0; i < WORKER_RANDOM_INTS; i++)
		w->random_ints[i] = random + i;
	worker_set_tasks(w, grouped, TASKS);
	w->groups = mem_calloc(TASKS + 1, sizeof(*w->groups));
	w->n_groups = TASKS;
	for (size_t i = 0; i < TASKS; i++)
		w->groups[i] = mem_strdup("even");
	registry_add(&registry, w, id[0], host.now_ms);
}

/* A fleet of four, which the tasks of a group are spread over. */
static void fleet_of(int32_t seed, const char *version_of_last)
{
	struct task_settings list[TASKS];

	for (int32_t i = 0; i < MEMBERS; i++)
		comes((char[]){(char)('p' + i), '\0'}, seed * 7919 + i * 104729,
		      i == MEMBERS - 1 ? version_of_last : "1.0");
	for (size_t i = 0; i < TASKS; i++) {
		list[i] = settings_of(grouped[i]);
		list[i].rank_position = -1;
		list[i].spread = "even";
	}
	tasks_apply(&leaders, &site_timing, list, TASKS);
	turn();
}

static void nobody_is_there(void)
{
	for (int i = 0; i < MEMBERS; i++)
		leaves((char[]){(char)('p' + i), '\0'});
	tasks_apply(&leaders, &site_timing, NULL, 0);
	turn();
}

static void leads(struct task *t, const struct member *m, int64_t token)
{
	t->election.up = t->election.watched = true;
	t->election.reads = 0;
	t->election.node.known = t->election.node.exists = true;
	t->election.node.owner = m->session;
	t->election.node.token = token;
	t->leader.id = m->worker->id; /* for as long as it is there */
	handover_look(t);
}

/* Whether that is the reason for which the second one leads after the first. */
static bool goes(struct task *t, const struct member *from, const struct member *to,
		 const char *reason)
{
	struct buffer buffer;
	struct pack p;

	t->watchers++;
	leads(t, from, 1);
	leads(t, to, 2);
	buffer_init(&buffer, 4096);
	pack_init(&p, &buffer);
	handover_pack(&p, t);
	bool found = memmem(buffer.data, buffer.len, reason, strlen(reason)) != NULL;
	buffer_done(&buffer);
	handover_forget(t);
	t->watchers--;
	t->leader.id = "";
	t->election.node.known = false;
	return found;
}

Test(handover, the_draft_gives_a_task_to_another)
{
	size_t by_rank = 0; /* how often the one before is the better one by rank */

	for (int32_t seed = 1; seed <= 20; seed++) {
		fleet_of(seed, "1.0");
		for (size_t i = 0; i < TASKS; i++) {
			struct task *t = task_of(grouped[i]);
			const struct member *owner = fleet_draft_owner(&registry.fleet, t->index);
			const struct standing s =
				fleet_stand_ranked(&registry.fleet, &t->contest, t->index, "");

			cr_assert(owner);
			for (int k = 0; k < MEMBERS; k++) {
				char id[] = {(char)('p' + k), '\0'};
				const struct member *other = fleet_find(&registry.fleet, id);

				if (other == owner)
					continue;
				by_rank += other == s.best;
				cr_expect(goes(t, other, owner, "moved by the draft"));
				/* Its session has ended, and its registration goes in a moment. */
				cr_expect(goes(t, owner, other, "left the fleet"));
			}
		}
		nobody_is_there();
	}
	cr_expect_gt(by_rank, 0, "or the draft has decided nothing");
}

Test(handover, a_newer_version_is_said_before_the_draft)
{
	fleet_of(1, "2.0");
	struct task *t = task_of("a");
	const struct member *owner = fleet_draft_owner(&registry.fleet, t->index);

	cr_assert_str_eq(owner->worker->version, "2.0");
	cr_expect(goes(t, fleet_find(&registry.fleet, "p"), owner, "newer version"));
}

/* A dead leader's registration may be known for longer than the node of the next one. */
Test(handover, what_a_task_is_not_yielded_for_is_no_reason)
{
	static const struct {
		enum election_yield yield;
		const char *by_rank, *by_version;
	} tests[] = {{ELECTION_YIELD_RANK, "higher rank", "newer version"},
		     {ELECTION_YIELD_VERSION, "left the fleet", "newer version"},
		     {ELECTION_YIELD_NEVER, "left the fleet", "left the fleet"}};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		for (int newer = 0; newer <= 1; newer++) {
			struct task_settings settings = settings_of("a");

			fleet_of(1, newer ? "2.0" : "1.0");
			settings.rank_position = -1;
			settings.yield = tests[i].yield;
			tasks_apply(&leaders, &site_timing, &settings, 1);
			turn();
			struct task *t = task_of("a");
			const struct member *best =
				fleet_stand_ranked(&registry.fleet, &t->contest, t->index, "").best;
			const struct member *worse = fleet_find(&registry.fleet, "p");
			if (worse == best)
				worse = fleet_find(&registry.fleet, "q");
			cr_expect(goes(t, worse, best,
				       newer ? tests[i].by_version : tests[i].by_rank),
				  "%zu %d", i, newer);
			nobody_is_there();
		}
	}
}
