/* The table of methods. */
#include "base/doing.h"
#include "control/answer/subscriptions.h"
#include "control/checks.h"
#include "control/control.h"
#include "control/metrics.h"
#include "control/orders/orders.h"
#include "control/programs/notifiers.h"
#include "control/programs/runners.h"
#include "control/queues/queues.h"
#include "control/recipes/recipes.h"
#include "control/ticks/history.h"
#include "control/ticks/ticks.h"

#define ANYBODY	     NULL
#define CHANGERS     call_may_change /* clients that may make changes */
#define RECIPE_USERS recipes_may_use
#define TASKS	     "a task, or an array of names and globs, "

static const struct {
	const char *name;
	void (*call)(struct call *call);
	bool (*may)(const struct call *call); /* false after an error answer; NULL: all may */
	unsigned least, most;		      /* parameters */
	const char *takes;		      /* NULL: any */
} methods[] = {
	{"check", method_check, ANYBODY, 1, 3,
	 "a task, how long to wait in ms, and a map of options"},
	{"tasks", method_tasks, ANYBODY, 0, 0, NULL},
	{"workers", method_workers, ANYBODY, 0, 0, NULL},
	{"status", method_status, ANYBODY, 0, 0, NULL},
	{"explain", method_explain, ANYBODY, 1, 2, "one task, and a tick"},
	{"subscribe", method_subscribe, ANYBODY, 0, 0, NULL},
	{"reload", reload_answer, CHANGERS, 0, 0, NULL},
	{"claim", run_request_claim, ANYBODY, 2, 2, "a task and a map of options"},
	{"renew", run_request_renew, ANYBODY, 1, 1, "the number of a run"},
	{"finish", run_request_finish, ANYBODY, 2, 2, "the number of a run and its exit_status"},
	{"history", history_method, ANYBODY, 0, 2, "one task, or none"},
	{"drain", order_give, CHANGERS, 0, 1, "a map of options"},
	{"undrain", order_give, CHANGERS, 0, 1, "a map of options"},
	{"pause", order_give, CHANGERS, 1, 2, TASKS "and a map of options"},
	{"resume", order_give, CHANGERS, 1, 2, TASKS "and a map of options"},
	{"resign", order_give, CHANGERS, 1, 2, TASKS "and a map of options"},
	{"unresign", order_give, CHANGERS, 1, 2, TASKS "and a map of options"},
	{"pin", order_give, CHANGERS, 2, 3, TASKS "a version, and a map of options"},
	{"unpin", order_give, CHANGERS, 1, 2, TASKS "and a map of options"},
	{"attach", run_request_attach, ANYBODY, 2, 2, "a task and the id of a claim"},
	{"partitions", method_partitions, ANYBODY, 1, 1, "one task"},
	{"repartition", repartition, CHANGERS, 2, 3, "a task, a number, and a map of options"},
	{"counter", recipe_counter, RECIPE_USERS, 1, 2, "a name, and how much to add"},
	{"metrics", method_metrics, ANYBODY, 0, 0, NULL},
	{"index", recipe_index, RECIPE_USERS, 0, 0, "no parameters"},
	{"roster", recipe_roster, RECIPE_USERS, 0, 0, "no parameters"},
	{"forget", recipe_forget, RECIPE_USERS, 1, 1, "the name of a node"},
	{"wait", recipe_wait, RECIPE_USERS, 1, 1,
	 "a map: workers, and may have task, version and timeout_ms"},
	{"rolling", recipe_rolling, RECIPE_USERS, 0, 2, "a group, and a map of what to do"},
	{"barrier", recipe_barrier, RECIPE_USERS, 2, 2,
	 "a name and a map: id, 16 hexadecimal digits, and count, from 1 to 1000; it may have "
	 "timeout_ms and command"},
	{"barrier_leave", recipe_barrier_leave, RECIPE_USERS, 2, 2,
	 "a name and a map: id and round, as barrier was asked and answered"},
	{"next", method_next, ANYBODY, 0, 0, NULL},
	{"trigger", trigger_answer, ANYBODY, 1, 2, "a task and a map of options"},
	{"outcome", outcome_answer, ANYBODY, 2, 2, "a task and a tick"},
	{"runner", runner_register, ANYBODY, 0, 0, NULL},
	{"refusals", runner_refusals, ANYBODY, 1, 3,
	 "a list of {task, file, message}, whether it is to be added to those before, and how many "
	 "lines of the log were lost"},
	{"pong", runner_pong, ANYBODY, 1, 1, "the number of a ping"},
	{"notifier", notifier_register, CHANGERS, 1, 1,
	 "a list of at most 20 {file, message}: what is wrong with it"},
	{"noticed", notifier_noticed, ANYBODY, 1, 1, "a list of at most 1,000 ids"},
	{"lock", method_lock, RECIPE_USERS, 2, 2, "a name and a map of options"},
	{"lock_renew", method_lock_renew, ANYBODY, 1, 1, "the number of a lock of this connection"},
	{"lock_finish", method_lock_finish, ANYBODY, 1, 2, "a number"},
	{"lock_attach", method_lock_attach, RECIPE_USERS, 2, 2, "a name and an id"},
	{"locks", method_locks, RECIPE_USERS, 0, 1, "a name, or nothing"},
	{"submit", method_submit, ANYBODY, 2, 2, "a queue and a map of options"},
	{"job", method_job, ANYBODY, 1, 2, "the id of a job, and a map of options"},
	{"cancel", method_cancel, CHANGERS, 1, 1, "the id of a job"},
	{"queue", method_queue, ANYBODY, 0, 1, "the name of a queue, or nothing"},
	{"jobs", method_jobs, ANYBODY, 1, 2, "the name of a queue, and a map of options"},
	{"job_id", method_job_id, ANYBODY, 1, 1, "the name of a queue"},
	{"dead", method_dead, ANYBODY, 1, 2, "the name of a queue, and a map of options"},
	{"requeue", method_requeue, CHANGERS, 1, REQUEUE_MAX,
	 "up to 1,000 ids of jobs, or {\"queue\": Q} and in it \"after\": ID"},
	{"purge", method_purge, CHANGERS, 1, 2, "the name of a queue, and a map of options"},
	{"job_begin", method_job_begin, ANYBODY, 1, 1, "the id of a job"},
	{"job_renew", method_job_renew, ANYBODY, 1, 1, "the number of a job of this connection"},
	{"job_finish", method_job_finish, ANYBODY, 2, 2,
	 "the number of a job and a map of how it has ended"},
	{"job_attach", method_job_attach, ANYBODY, 2, 2,
	 "the id of a job and the number of its attempt"},
	{"join", method_join, RECIPE_USERS, 2, 2,
	 "a name and a map with id, 16 hexadecimal digits, and count, from 1 to 256; it may have "
	 "key, timeout_ms "
	 "and goes_on"},
	{"join_renew", method_join_renew, ANYBODY, 1, 1,
	 "the number of a member of this connection"},
	{"join_finish", method_join_finish, ANYBODY, 1, 2, "a number and a map"},
	{"join_attach", method_join_attach, RECIPE_USERS, 2, 2, "a name and an id"},
};

_Static_assert(sizeof(methods) / sizeof(methods[0]) <= METHODS_COUNT_MAX,
	       "each method has a place in asked[]");

/* False after an error answer. */
static bool is_good(const struct call *call, size_t i)
{
	if (!methods[i].takes ||
	    (call->n_params >= methods[i].least && call->n_params <= methods[i].most))
		return !methods[i].may || methods[i].may(call);
	return call_misused(call);
}

void methods_request(struct methods *m, struct peer *c, const struct rpc_message *message)
{
	struct call call = {m, c, message->msgid, message->params, message->n_params, NULL, NULL};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (reader_text_is(message->method, methods[i].name)) {
			const char *before = doing_begin(methods[i].name);

			m->asked[i].n++;
			call.method = methods[i].name;
			call.takes = methods[i].takes;
			if (is_good(&call, i))
				methods[i].call(&call);
			doing_end(before);
			return;
		}
	}
	peer_error(c, message->msgid, RPC_MISUSE, "unknown method");
}

void methods_list(struct methods *m)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		m->asked[i].name = methods[i].name;
}
