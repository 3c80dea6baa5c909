#include "control/checks.h"

#include "control/answer/answers.h"
#include "control/answer/explain.h"
#include "control/answer/parked.h"
#include "control/answer/partition_answers.h"
#include "control/answer/subscriptions.h"
#include "control/ask/options.h"
#include "control/ask/subject.h"
#include "control/ticks/ticks.h"

/* The options of check. */
struct check_options {
	bool any;
};

static const struct key check_keys[] = {OPTION_BOOL(check_options, any, "any")};

/* Takes the parameters after the name; false after an error answer. */
static bool take_check_rest(struct call *call, struct reader params, int64_t *ret_wait_ms,
			    bool *ret_any)
{
	struct check_options o = {.any = false};
	const char *why = NULL;

	if (reader_skip(&params) != 0)
		why = "a parameter is not the name of a task";
	else if (call->n_params >= 2 &&
		 keys_parse_int(&params, 0, METHODS_WAIT_MAX_MS, ret_wait_ms))
		why = "the time to wait is not a number of ms up to a day";
	else if (call->n_params == 3)
		why = options_read(&params, OPTIONS(check_keys), &o);
	*ret_any = o.any;
	return !why || call_refuse(call, why);
}

/* Answers whether this node leads any partition of the task. */
static void check_any(struct call *call, const struct subject *s, int64_t wait_ms)
{
	struct node *node = call->m->node;

	for (size_t i = 0; i < s->listing->n; i++)
		leaders_refresh(s->listing->tasks[i]);
	if (wait_ms == 0 || partition_any_settled(s->listing)) {
		answer_check_any(call_result(call), node, s->listing);
		call_end(call);
		return;
	}
	parked_about(parked_add(call, PARKED_CHECK_ANY, wait_ms), s);
}

static void check_one(struct call *call, const struct subject *s, int64_t wait_ms)
{
	leaders_refresh(s->task);
	if (wait_ms == 0 || parked_settled(s->task)) {
		answer_check(call_result(call), call->m->node, s->task, s->task->name);
		call_end(call);
		return;
	}
	parked_about(parked_add(call, PARKED_CHECK, wait_ms), s);
}

void method_check(struct call *call)
{
	int64_t wait_ms = 0;
	bool any = false;
	struct subject s;

	if (!take_check_rest(call, call->params, &wait_ms, &any) || !subject_take(call, &s))
		return;
	if (any && s.task && partitions_state(s.listing) != PARTITIONS_PLAIN)
		call_refuse(call, "any is about a task, not about one of its partitions");
	else if (s.task)
		check_one(call, &s, wait_ms);
	else if (any && s.listing->n > 0)
		check_any(call, &s, wait_ms);
	else
		methods_refuse_whole(call, s.listing);
}

/* Parks a request until ZooKeeper has answered. Takes the subjects over; NULL: all tasks. */
static void park_survey(struct call *call, enum parked_kind kind, struct subjects *subjects)
{
	struct node *s = call->m->node;
	bool up = session_is_up(&s->session);
	struct parked *k = parked_add(call, kind, up ? METHODS_SURVEY_MAX_MS : 0);

	k->all = !subjects;
	if (subjects)
		k->subjects = *subjects;
	struct task *const *list = k->all ? s->leaders.tasks : k->subjects.tasks;
	size_t n = k->all ? s->leaders.n_tasks : k->subjects.n_tasks;
	for (size_t i = 0; i < n; i++)
		leaders_refresh(list[i]);
	if (kind == PARKED_WORKERS)
		parked_begin_round(call->m);
	if (kind == PARKED_TASKS)
		last_runs_ask(&s->last_runs, list, n);
	parked_wake(call->m);
}

void method_tasks(struct call *call)
{
	struct subjects subjects;

	if (call->n_params == 0)
		park_survey(call, PARKED_TASKS, NULL);
	else if (subjects_take(call, &subjects))
		park_survey(call, PARKED_TASKS, &subjects);
}

void method_workers(struct call *call)
{
	park_survey(call, PARKED_WORKERS, NULL);
}

void method_explain(struct call *call)
{
	struct reader params = call->params;
	struct subjects subjects;
	struct reader_text name;

	if (call->n_params == 1 && reader_str(&params, &name) == 0 &&
	    reader_text_is(name, EXPLAIN_ROLL)) {
		answer_explain_roll(call_result(call), call->m->node);
		call_end(call);
	} else if (call->n_params == 2)
		explain_tick_method(call);
	else if (subjects_take(call, &subjects))
		park_survey(call, PARKED_EXPLAIN, &subjects);
}

void method_partitions(struct call *call)
{
	char text[EXPLAIN_TEXT_MAX] = "", problem[PARTITIONS_TEXT_MAX];
	struct call again = *call;
	struct subjects subjects;
	struct subject s;

	if (!subject_take(call, &s))
		return;
	if (s.task)
		explain_say(text, "%s has no partitions", subject_name(&s));
	else if (partitions_problem(s.listing, problem))
		explain_say(text, "%s: %s", s.listing->name, problem);
	else if (subjects_take(&again, &subjects))
		park_survey(&again, PARKED_PARTITIONS, &subjects);
	if (text[0])
		call_refuse(call, text);
}

void method_status(struct call *call)
{
	answer_status(call_result(call), call->m);
	call_end(call);
}

/* Whether the last parameter is a map, that is the options. */
static bool has_options(const struct call *call)
{
	struct reader r = call->params;
	enum reader_type type = READER_NIL;

	for (size_t i = 1; i < call->n_params; i++)
		if (reader_skip(&r) != 0)
			return false;
	return call->n_params > 0 && reader_peek(&r, &type) == 0 && type == READER_MAP;
}

void method_subscribe(struct call *call)
{
	struct subscriptions *s = call->m->subscriptions;
	struct subscribe_options {
		bool mine;
	} o = {.mine = false};
	static const struct key keys[] = {OPTION_BOOL(subscribe_options, mine, "mine")};
	bool options = has_options(call);
	struct subjects subjects;
	const char *why = NULL;

	call->n_params -= options;
	if (!subjects_take(call, &subjects))
		return;
	size_t n = subjects.n > 0 ? subjects.n_tasks : call->m->node->leaders.n_tasks;
	if (options)
		why = options_read(&call->params, OPTIONS(keys), &o);
	if (!why && !peer_may_subscribe(call->c, n))
		why = "too many subscriptions of this user";
	if (!why)
		subscription_begin(s, call->c, &subjects, o.mine);
	subjects_done(&subjects);
	if (why) {
		call_refuse(call, why);
		return;
	}
	struct pack *p = call_result(call);
	pack_bool(p, true);
	call_end(call);
}
