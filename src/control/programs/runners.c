#include "control/programs/runner.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "control/ask/options.h"
#include "node/election/listing.h"
#include "node/schedule/schedules.h"

/* --- the list of runners -------------------------------------------------- */

struct runner *runners_find(const struct methods *m, uid_t uid)
{
	struct runner *r;

	SLIST_FOREACH (r, &m->runners.list, link)
		if (r->uid == uid)
			break;
	return r;
}

static struct runner *runner_of(struct methods *m, uid_t uid)
{
	struct runner *r = runners_find(m, uid);

	if (r)
		return r;
	r = mem_calloc(1, sizeof(*r));
	r->uid = uid;
	r->gone_ms = host_now_ms(m->node->host);
	SLIST_INSERT_HEAD(&m->runners.list, r, link);
	return r;
}

bool runner_is_away(const struct methods *m, const struct runner *r)
{
	return r->c ? r->hangs : host_now_ms(m->node->host) - r->gone_ms >= RUNNERS_AWAY_MS;
}

/* Sets the timer for when the next runner will have been away for too long. */
static void schedule(struct methods *m)
{
	int64_t now = host_now_ms(m->node->host), first = INT64_MAX;
	const struct runner *r;

	SLIST_FOREACH (r, &m->runners.list, link)
		if (!r->c && !r->told && r->gone_ms + RUNNERS_AWAY_MS < first)
			first = r->gone_ms + RUNNERS_AWAY_MS;
	if (first < INT64_MAX)
		host_timer_start(&m->runners.due, first > now ? first - now : 0);
}

static void changed(struct methods *m)
{
	schedule(m);
	m->process->health_changed(m->process->arg);
}

static void on_due(void *arg)
{
	struct methods *m = arg;
	struct runner *r;

	SLIST_FOREACH (r, &m->runners.list, link)
		r->told |= runner_is_away(m, r);
	changed(m);
}

/* --- whether they answer --------------------------------------------------- */

static void ping(struct runner *r)
{
	struct pack *p = peer_begin_notification(r->c, "ping");

	r->unanswered = 1;
	r->ping++;
	if (!p)
		return;
	pack_map(p, 1);
	pack_kv_uint(p, "number", r->ping);
	peer_end(r->c, PEER_NOTIFICATION);
}

/*
 * Unanswered looks are counted instead of time: after a pause of this process or of the machine the
 * answer is still to be read.
 */
static void on_ping(void *arg)
{
	struct methods *m = arg;
	bool any = false, hung = false;
	struct runner *r;

	SLIST_FOREACH (r, &m->runners.list, link) {
		if (!r->c || !r->pings)
			continue;
		any = true;
		if (r->unanswered == 0) {
			ping(r);
		} else if (r->unanswered++ == RUNNERS_PINGS_MAX) {
			log_warning("runner", LOG_INT("uid", r->uid), LOG_INT("pid", r->c->pid),
				    LOG_STR("to", "hanging"));
			r->hangs = hung = true;
		}
	}
	if (hung)
		changed(m);
	if (any)
		host_timer_start(&m->runners.ping, RUNNERS_PING_MS);
}

void runner_pong(struct call *call)
{
	struct runner *r = runners_find(call->m, call->c->uid);
	uint64_t number;

	if (!r || r->c != call->c || reader_uint(&call->params, &number) != 0) {
		call_refuse(call, "pong is for a runner, with the number of a ping");
		return;
	}
	call_done(call);
	if (number != r->ping)
		return;
	r->unanswered = 0;
	if (!r->hangs)
		return;
	r->hangs = false;
	log_info("runner", LOG_INT("uid", r->uid), LOG_INT("pid", r->c->pid),
		 LOG_STR("to", "there"));
	changed(call->m);
	schedules_tell_anew(&call->m->node->schedules, r->uid);
}

/* --- the methods ---------------------------------------------------------- */

/* The options with which a runner introduces itself; earlier releases send none. */
struct introduction {
	bool pings;
};

void runner_register(struct call *call)
{
	static const struct key keys[] = {OPTION_BOOL(introduction, pings, "pings")};
	struct introduction said = {.pings = false};
	struct runner *r = runner_of(call->m, call->c->uid);
	struct peer *before = r->c == call->c ? NULL : r->c;

	r->c = call->c;
	r->told = r->hangs = false;
	r->lost = 0;
	r->unanswered = 0;
	if (call->n_params > 0 && options_read(&call->params, OPTIONS(keys), &said))
		said.pings = false;
	r->pings = said.pings;
	if (r->pings && !host_timer_is_set(&call->m->runners.ping))
		host_timer_start(&call->m->runners.ping, RUNNERS_PING_MS);
	program_problems_forget(&r->refused);
	if (before) {
		log_warning("a runner takes the place of another of its user",
			    LOG_INT("uid", r->uid), LOG_INT("pid", call->c->pid),
			    LOG_INT("from", before->pid));
		peer_drop(before);
	} else {
		log_info("runner", LOG_INT("uid", r->uid), LOG_INT("pid", call->c->pid),
			 LOG_STR("to", "there"));
	}
	call_done(call);
	changed(call->m);
	schedules_tell_anew(&call->m->node->schedules, r->uid);
}

/* Whether a task here runs as that user. */
static bool is_needed(const struct methods *m, uid_t uid)
{
	const struct leaders *l = &m->node->leaders;

	for (size_t i = 0; i < l->n_listings; i++)
		if (l->listings[i]->settings.has_user && l->listings[i]->settings.user == uid)
			return true;
	return false;
}

void runners_client_gone(struct methods *m, const struct peer *c)
{
	struct runner *r = runners_find(m, c->uid);

	if (!r || r->c != c)
		return;
	/* A hanging runner that disconnects counts as away at once, without a healthy moment. */
	r->gone_ms = host_now_ms(m->node->host) - (r->hangs ? RUNNERS_AWAY_MS : 0);
	r->c = NULL;
	r->hangs = false;
	log_info("runner", LOG_INT("uid", r->uid), LOG_INT("pid", c->pid), LOG_STR("to", "away"));
	if (is_needed(m, r->uid)) {
		schedule(m);
		return;
	}
	SLIST_REMOVE(&m->runners.list, r, runner, link);
	program_problems_forget(&r->refused);
	free(r);
}

int runner_refusals_by_task(const void *a, const void *b)
{
	const struct program_problem *x = a, *y = b;

	return strcmp(x->task, y->task);
}

/* Adds the refusals of the list. False: one is bad, or there are too many. Those before it stay. */
static bool take_refusals(struct runner *r, struct reader *params, size_t n)
{
	bool good = r->refused.n + n <= RUNNERS_REFUSALS_MAX &&
		    program_problems_take(&r->refused, params, n, true);

	if (r->refused.n > 0)
		qsort(r->refused.list, r->refused.n, sizeof(*r->refused.list),
		      runner_refusals_by_task);
	return good;
}

void runner_refusals(struct call *call)
{
	struct runner *r = runners_find(call->m, call->c->uid);
	struct reader list = call->params, rest = call->params;
	uint64_t lost = 0;
	bool more = false, good;
	size_t n = 0;

	if (!r || r->c != call->c) {
		call_refuse(call, "refusals is for a runner");
		return;
	}
	good = reader_array(&list, &n) == 0;
	if (good && call->n_params >= 2)
		good = reader_skip(&rest) == 0 && reader_bool(&rest, &more) == 0;
	if (good && call->n_params == 3)
		good = reader_uint(&rest, &lost) == 0;
	if (good)
		r->lost = lost;
	if (good && !more)
		program_problems_forget(&r->refused);
	good = good && take_refusals(r, &list, n);
	if (good)
		call_done(call);
	else
		call_misused(call);
	changed(call->m);
}

/* --- telling runners what is due ------------------------------------------ */

/* Begins to tell the runner of the task's user something; NULL: nobody can be told. */
static struct pack *begin_telling(const struct methods *m, const struct listing *l,
				  const char *method, struct peer **ret_c)
{
	const struct runner *r =
		l && l->settings.has_user ? runners_find(m, l->settings.user) : NULL;

	if (!r || r->hangs || !r->c)
		return NULL;
	*ret_c = r->c;
	return peer_begin_notification(r->c, method);
}

bool runners_due(struct methods *m, const char *task, const char *tick, int64_t attempt)
{
	const struct listing *l = listings_find_of(&m->node->leaders, task);
	struct peer *c;
	struct pack *p = begin_telling(m, l, "due", &c);

	if (!p)
		return false;
	pack_map(p, 3);
	pack_kv_str(p, "task", task);
	pack_kv_str(p, "tick", tick);
	pack_kv_int(p, "attempt", attempt);
	peer_end(c, PEER_NOTIFICATION);
	return true;
}

bool runners_job(struct methods *m, const char *queue, const struct job_id *id)
{
	const struct listing *l = listings_find(&m->node->leaders, queue, strlen(queue));
	char text[JOB_ID_MAX + 1];
	struct peer *c;
	struct pack *p = begin_telling(m, l, "job", &c);

	if (!p)
		return false;
	job_id_format(id, text);
	pack_map(p, 2);
	pack_kv_str(p, "queue", queue);
	pack_kv_str(p, "id", text);
	peer_end(c, PEER_NOTIFICATION);
	return true;
}

/* --- begin and end -------------------------------------------------------- */

void runners_look(struct methods *m)
{
	const struct leaders *l = &m->node->leaders;

	for (size_t i = 0; i < l->n_listings; i++)
		if (l->listings[i]->settings.has_user)
			runner_of(m, l->listings[i]->settings.user);
	changed(m);
}

void runners_init(struct methods *m)
{
	host_timer_init(&m->runners.due, m->node->host, on_due, m);
	host_timer_init(&m->runners.ping, m->node->host, on_ping, m);
}

void runners_done(struct methods *m)
{
	while (!SLIST_EMPTY(&m->runners.list)) {
		struct runner *r = SLIST_FIRST(&m->runners.list);

		SLIST_REMOVE_HEAD(&m->runners.list, link);
		program_problems_forget(&r->refused);
		free(r);
	}
}
