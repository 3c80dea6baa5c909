#include "control/programs/runner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/election/listing.h"
#include "node/schedule/schedules.h"

/* --- the list of runners -------------------------------------------------- */

struct runner *runners_find(const struct methods *m, uid_t uid)
{
	struct runner *r = m->runners.list;

	while (r && r->uid != uid)
		r = r->next;
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
	r->next = m->runners.list;
	m->runners.list = r;
	return r;
}

static void forget_refusals(struct runner *r)
{
	for (size_t i = 0; i < r->n_refused; i++) {
		free(r->refused[i].file);
		free(r->refused[i].text);
	}
	free(r->refused);
	r->refused = NULL;
	r->n_refused = 0;
}

bool runner_is_away(const struct methods *m, const struct runner *r)
{
	return r->c ? r->hangs : host_now_ms(m->node->host) - r->gone_ms >= RUNNERS_AWAY_MS;
}

/* Its peer, which may be told of something to start; NULL: nobody would start it. */
static struct peer *peer_of(const struct runner *r)
{
	return r && !r->hangs ? r->c : NULL;
}

/* Sets the timer for when the next runner will have been away for too long. */
static void schedule(struct methods *m)
{
	int64_t now = host_now_ms(m->node->host), first = INT64_MAX;

	for (const struct runner *r = m->runners.list; r; r = r->next)
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

	for (struct runner *r = m->runners.list; r; r = r->next)
		r->told |= runner_is_away(m, r);
	changed(m);
}

static void answer_nothing(struct call *call)
{
	struct pack *p = peer_begin(call->c);

	rpc_pack_result(p, call->msgid);
	pack_map(p, 0);
	peer_end(call->c, call->msgid);
}

/* --- whether they answer --------------------------------------------------- */

static void ping(struct runner *r)
{
	struct pack *p = peer_begin_notification(r->c);

	r->unanswered = 1;
	r->ping++;
	if (!p)
		return;
	rpc_pack_notify(p, "ping");
	pack_map(p, 1);
	pack_kv_uint(p, "number", r->ping);
	peer_end(r->c, PEER_NOTIFICATION);
}

/*
 * Looks are counted, and not the time: behind a pause of this process or of the machine the answer
 * is still to be read.
 */
static void on_ping(void *arg)
{
	struct methods *m = arg;
	bool any = false, hung = false;

	for (struct runner *r = m->runners.list; r; r = r->next) {
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

	if (!r || r->c != call->c || call->n_params != 1 ||
	    reader_uint(&call->params, &number) != 0) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "pong is for a runner, with the number of a ping");
		return;
	}
	answer_nothing(call);
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

/* {"pings"}; unknown keys are skipped, and an earlier release says nothing. */
static bool take_pings(const struct call *call)
{
	struct reader r = call->params;
	struct reader_text key;
	bool pings = false;
	size_t n;

	if (call->n_params < 1 || reader_map(&r, &n) != 0)
		return false;
	for (; n > 0 && reader_str(&r, &key) == 0; n--)
		if ((reader_text_is(key, "pings") ? reader_bool(&r, &pings) : reader_skip(&r)) != 0)
			return false;
	return pings;
}

void runner_register(struct call *call)
{
	struct runner *r = runner_of(call->m, call->c->uid);
	struct peer *before = r->c == call->c ? NULL : r->c;

	r->c = call->c;
	r->told = r->hangs = false;
	r->lost = 0;
	r->unanswered = 0;
	r->pings = take_pings(call);
	if (r->pings && !host_timer_is_set(&call->m->runners.ping))
		host_timer_start(&call->m->runners.ping, RUNNERS_PING_MS);
	forget_refusals(r);
	if (before) {
		log_warning("a runner takes the place of another of its user",
			    LOG_INT("uid", r->uid), LOG_INT("pid", call->c->pid),
			    LOG_INT("from", before->pid));
		peer_drop(before);
	} else {
		log_info("runner", LOG_INT("uid", r->uid), LOG_INT("pid", call->c->pid),
			 LOG_STR("to", "there"));
	}
	answer_nothing(call);
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

static void forget(struct methods *m, const struct runner *r)
{
	struct runner **at = &m->runners.list;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
}

void runners_client_gone(struct methods *m, const struct peer *c)
{
	struct runner *r = runners_find(m, c->uid);

	if (!r || r->c != c)
		return;
	/* One that hung does not become healthy for a moment by that. */
	r->gone_ms = host_now_ms(m->node->host) - (r->hangs ? RUNNERS_AWAY_MS : 0);
	r->c = NULL;
	r->hangs = false;
	log_info("runner", LOG_INT("uid", r->uid), LOG_INT("pid", c->pid), LOG_STR("to", "away"));
	if (is_needed(m, r->uid)) {
		schedule(m);
		return;
	}
	forget(m, r);
	forget_refusals(r);
	free(r);
}

static char *take_text(struct reader_text text)
{
	size_t len = text.len < RUNNERS_TEXT_MAX ? text.len : RUNNERS_TEXT_MAX;

	return mem_strndup(text.data, strnlen(text.data, len));
}

/* {"task", "file", "message"}; unknown keys are skipped. */
static bool take_refusal(struct reader *r, struct runner_refusal *ret)
{
	struct reader_text key, task = {"", 0}, file = {"", 0}, text = {"", 0};
	size_t n;

	if (reader_map(r, &n) != 0)
		return false;
	for (; n > 0; n--) {
		int e = reader_str(r, &key);
		if (e == 0 && reader_text_is(key, "task"))
			e = reader_str(r, &task);
		else if (e == 0 && reader_text_is(key, "file"))
			e = reader_str(r, &file);
		else if (e == 0 && reader_text_is(key, "message"))
			e = reader_str(r, &text);
		else if (e == 0)
			e = reader_skip(r);
		if (e != 0)
			return false;
	}
	if (!name_is_task(task.data, task.len))
		return false;
	memcpy(ret->task, task.data, task.len);
	ret->task[task.len] = '\0';
	ret->file = take_text(file);
	ret->text = take_text(text);
	return true;
}

int runner_refusals_by_task(const void *a, const void *b)
{
	const struct runner_refusal *x = a, *y = b;

	return strcmp(x->task, y->task);
}

/* Adds the refusals of the list. False: one is bad, or there are too many. Those before it stay. */
static bool take_refusals(struct runner *r, struct reader *params, size_t n)
{
	bool good = r->n_refused + n <= RUNNERS_REFUSALS_MAX;

	if (good)
		r->refused = mem_resize(r->refused, r->n_refused + n + 1, sizeof(*r->refused));
	for (; good && n > 0; n--) {
		good = take_refusal(params, &r->refused[r->n_refused]);
		r->n_refused += good;
	}
	if (r->n_refused > 0)
		qsort(r->refused, r->n_refused, sizeof(*r->refused), runner_refusals_by_task);
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
		peer_error(call->c, call->msgid, RPC_MISUSE, "refusals is for a runner");
		return;
	}
	good = call->n_params >= 1 && call->n_params <= 3 && reader_array(&list, &n) == 0;
	if (good && call->n_params >= 2)
		good = reader_skip(&rest) == 0 && reader_bool(&rest, &more) == 0;
	if (good && call->n_params == 3)
		good = reader_uint(&rest, &lost) == 0;
	if (good)
		r->lost = lost;
	if (good && !more)
		forget_refusals(r);
	good = good && take_refusals(r, &list, n);
	if (good)
		answer_nothing(call);
	else
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "refusals takes a list of {task, file, message}, whether it is to be "
			   "added to those before, and how many lines of the log were lost");
	changed(call->m);
}

/* --- telling runners what is due ------------------------------------------ */

bool runners_due(struct methods *m, const char *task, const char *tick, int64_t attempt)
{
	const struct listing *l = listings_find_of(&m->node->leaders, task);
	const struct runner *r =
		l && l->settings.has_user ? runners_find(m, l->settings.user) : NULL;
	struct pack *p = peer_of(r) ? peer_begin_notification(r->c) : NULL;

	if (!p)
		return false;
	rpc_pack_notify(p, "due");
	pack_map(p, 3);
	pack_kv_str(p, "task", task);
	pack_kv_str(p, "tick", tick);
	pack_kv_int(p, "attempt", attempt);
	peer_end(r->c, PEER_NOTIFICATION);
	return true;
}

bool runners_job(struct methods *m, const char *queue, const struct job_id *id)
{
	const struct listing *l = listings_find(&m->node->leaders, queue, strlen(queue));
	const struct runner *r =
		l && l->settings.has_user ? runners_find(m, l->settings.user) : NULL;
	struct pack *p = peer_of(r) ? peer_begin_notification(r->c) : NULL;
	char text[JOB_ID_MAX + 1];

	if (!p)
		return false;
	job_id_format(id, text);
	rpc_pack_notify(p, "job");
	pack_map(p, 2);
	pack_kv_str(p, "queue", queue);
	pack_kv_str(p, "id", text);
	peer_end(r->c, PEER_NOTIFICATION);
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
	while (m->runners.list) {
		struct runner *r = m->runners.list;

		m->runners.list = r->next;
		forget_refusals(r);
		free(r);
	}
}
