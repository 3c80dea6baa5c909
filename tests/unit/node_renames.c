/* A task whose file names a former name: who bars it, what is moved, and what proves that it may be. */
#include "node_site.h"

#include "node/election/renames.h"

#define T1    "2026-11-20T01:00:00Z"
#define T2    "2026-11-20T02:00:00Z"
#define PROOF "check workers/me, create leaders/old, delete leaders/old"

TestSuite(renames, .init = site_begin);

static struct task *renamed(void)
{
	struct task_settings s = settings_of("new");

	s.renamed_from = "old";
	tasks_apply(&leaders, &site_timing, &s, 1);
	turn();
	return task_of("new");
}

/* A worker whose files have a task of that name. */
static void lists(const char *id, const char *task)
{
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", id);
	snprintf(w->version, sizeof(w->version), "1");
	snprintf(w->hostname, sizeof(w->hostname), "host-%s", id);
	snprintf(w->ip, sizeof(w->ip), "192.0.2.9");
	worker_set_tasks(w, &task, 1);
	registry_add(&registry, w, id[0], host.now_ms);
	candidates_changed(&leaders);
	turn();
}

static struct store_reply record(int32_t version)
{
	return holds("run", 3, (struct store_stat){.version = version});
}

static void rests(void)
{
	asks("get schedules/old", failed(STORE_NO_NODE));
	asks("exists schedules/new", failed(STORE_NO_NODE));
	asks("get seen/old", failed(STORE_NO_NODE));
	asks("exists seen/new", failed(STORE_NO_NODE));
	asks("get troubles/old", failed(STORE_NO_NODE));
	asks("exists troubles/new", failed(STORE_NO_NODE));
}

Test(renames, nobody_leads_it_while_a_worker_lists_the_former_name)
{
	char why[LEADERS_BLOCKED_MAX];
	struct task *t = renamed();

	lists("other", "old");
	joins("me", "2", 5);
	cr_expect(renames_bar(t));
	cr_expect(!t->election.view.candidate);
	cr_expect(leaders_is_blocked(t, why));
	cr_expect_str_eq(why, "it was old, which host-other still lists: it is led once no worker "
			      "lists that, and goes on where that ended");
	leaves("other");
	asks("get runs/old", failed(STORE_NO_NODE));
	cr_expect(!renames_bar(t));
	cr_expect(t->election.view.candidate);
	/* The former name comes back: the leader, if that is we, has to give the task up. */
	lists("other", "old");
	cr_expect(!t->election.view.candidate);
}

Test(renames, what_the_ledger_has_is_moved_with_what_lies_beside_it)
{
	struct task *t = renamed();

	joins("me", "2", 5);
	asks("get runs/old", holds(T1, strlen(T1), (struct store_stat){.version = 3}));
	asks("create runs/new", ok());
	asks("list runs/old", names(T1, T2, "junk", NULL));
	asks("list runs/new", names(T2, NULL));
	asks("get runs/old/" T1, record(4));
	asks("get runs/old/" T2, record(5));
	cr_expect(renames_bar(t));
	asks(PROOF ", create runs/new/" T1 ", delete runs/old/" T1 " v4, delete runs/old/" T2 " v5",
	     ok());
	asks("get runs/old", holds(T1, strlen(T1), (struct store_stat){.version = 3}));
	asks("create runs/new", failed(STORE_NODE_EXISTS));
	asks("list runs/old", names(NULL));
	asks("list runs/new", names(T1, T2, NULL));
	asks("get schedules/old", record(0));
	asks("exists schedules/new", failed(STORE_NO_NODE));
	asks("get seen/old", record(7));
	asks("exists seen/new", ok());
	asks("get troubles/old", record(9));
	asks("exists troubles/new", failed(STORE_NO_NODE));
	cr_expect(renames_bar(t));
	asks(PROOF ", create schedules/new, delete schedules/old v0, delete seen/old v7, "
		   "create troubles/new, delete troubles/old v9, delete runs/old",
	     ok());
	cr_expect(!renames_bar(t));
	cr_expect(t->election.view.candidate);
}

Test(renames, a_former_name_that_is_led_still_is_waited_for)
{
	char why[LEADERS_BLOCKED_MAX];
	struct task *t = renamed();

	joins("me", "2", 5);
	for (int i = 0; i < 2; i++) {
		asks("get runs/old", holds("", 0, (struct store_stat){.version = 0}));
		asks("create runs/new", i == 0 ? ok() : failed(STORE_NODE_EXISTS));
		asks("list runs/old", names(NULL));
		asks("list runs/new", names(NULL));
		rests();
		asks(PROOF ", delete runs/old", failed_at(STORE_NODE_EXISTS, 1));
		cr_expect(leaders_is_blocked(t, why));
		cr_expect_str_eq(why,
				 "it was old, whose runs are taken over first: it is led still");
		pass(2000);
	}
}

Test(renames, one_that_is_not_the_best_candidate_looks_and_moves_nothing)
{
	struct task *t = renamed();

	joins("me", "2", 5);
	joins("better", "3", 1);
	asks("get runs/old", holds("", 0, (struct store_stat){.version = 0}));
	cr_expect(renames_bar(t));
	pass(2000);
	asks("get runs/old", failed(STORE_NO_NODE));
	cr_expect(!renames_bar(t));
}

/* Changes that were made between two sessions are not known. */
Test(renames, another_session_looks_again)
{
	struct task *t = renamed();

	joins("me", "2", 5);
	asks("get runs/old", failed(STORE_NO_NODE));
	cr_expect(!renames_bar(t));
	leaders_expired(&leaders);
	cr_expect(renames_bar(t));
}

Test(renames, no_record_that_a_hand_has_made_too_long_stands_in_the_way)
{
	static char long_text[RECORD_RUN_MAX + 1];

	renamed();
	joins("me", "2", 5);
	asks("get runs/old", holds("", 0, (struct store_stat){.version = 0}));
	asks("create runs/new", ok());
	asks("list runs/old", names(T1, NULL));
	asks("list runs/new", names(NULL));
	asks("get runs/old/" T1,
	     holds(long_text, sizeof(long_text), (struct store_stat){.version = 1}));
	asks(PROOF ", delete runs/old/" T1 " v1", ok());
}

/* --- the claim, and a server that comes back with the former name -------------------------------------------- */

/* Adds a worker that has renamed a task. */
static void has_renamed(const char *id, const char *later, const char *former)
{
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", id);
	snprintf(w->version, sizeof(w->version), "1");
	snprintf(w->hostname, sizeof(w->hostname), "host-%s", id);
	snprintf(w->ip, sizeof(w->ip), "192.0.2.9");
	worker_set_tasks(w, &later, 1);
	w->renamed = calloc(2, sizeof(*w->renamed));
	w->renamed[w->n_renamed++] = strdup(later);
	w->renamed[w->n_renamed++] = strdup(former);
	registry_add(&registry, w, id[0], host.now_ms);
	candidates_changed(&leaders);
	turn();
}

Test(renames, a_claim_proves_that_nobody_leads_the_former_name_and_that_nothing_is_left_of_it)
{
	struct task *t = renamed();

	joins("me", "2", 5);
	asks("get runs/old", failed(STORE_NO_NODE));
	asks("get! leaders/new", failed(STORE_NO_NODE));
	asks("check workers/me, set leaders, create* leaders/new, create leaders/old, delete "
	     "leaders/old, create "
	     "runs/old, delete runs/old",
	     failed_at(STORE_NODE_EXISTS, 3));
	cr_expect(renames_bar(t), "what is there has to be looked at again");
	cr_expect(!t->election.view.candidate);
}

Test(renames, who_comes_back_with_the_former_name_goes_on_where_the_later_one_ended)
{
	char why[LEADERS_BLOCKED_MAX];
	struct task_settings s = settings_of("old");
	struct task *t;

	tasks_apply(&leaders, &site_timing, &s, 1);
	turn();
	t = task_of("old");
	has_renamed("other", "new", "old");
	joins("me", "2", 5);
	cr_expect(renames_bar(t));
	asks("get runs/new", holds(T1, strlen(T1), (struct store_stat){.version = 3}));
	cr_expect(leaders_is_blocked(t, why));
	cr_expect_str_eq(why, "it was called new meanwhile, whose runs are taken over first");
	asks("create runs/old", ok());
	asks("list runs/new", names(T1, NULL));
	asks("list runs/old", names(NULL));
	asks("get runs/new/" T1, record(4));
	asks("check workers/me, create leaders/new, delete leaders/new, create runs/old/" T1
	     ", delete runs/new/" T1 " v4",
	     failed_at(STORE_NODE_EXISTS, 1));
	cr_expect(renames_bar(t), "the later name is led still");
	leaves("other");
	cr_expect(!renames_bar(t), "nobody says that it has another name");
}

Test(renames, what_the_own_files_had_renamed_before_is_known)
{
	struct task_settings s = settings_of("old");

	renamed();
	joins("me", "2", 5);
	asks("get runs/old", failed(STORE_NO_NODE));
	tasks_apply(&leaders, &site_timing, &s, 1);
	cr_expect_str_eq(task_of("old")->rename.later, "new");
	cr_expect(renames_bar(task_of("old")));
}
