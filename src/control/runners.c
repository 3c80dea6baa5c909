#include "control/runners.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "node/listing.h"

/* A task whose file the runner refuses. */
struct runner_refusal {
	char task[NAME_TASK_MAX + 1];
	char *file, *text;
};

/*
 * The runner of one user of this host: it is listed once a task here has that user, or once it has
 * connected.
 */
struct runner {
	struct runner *next;
	uid_t uid;
	struct peer *c;			/* NULL: it is not connected */
	int64_t gone_ms;		/* when it disconnected, or was listed */
	bool told;			/* its absence was reported */
	uint64_t lost;			/* lines of its log that nobody has read */
	struct runner_refusal *refused; /* sorted by task */
	size_t n_refused;
};

/* --- the list of runners -------------------------------------------------- */

static struct runner *find(const struct methods *m, uid_t uid)
{
	struct runner *r = m->runners.list;

	while (r && r->uid != uid)
		r = r->next;
	return r;
}

static struct runner *runner_of(struct methods *m, uid_t uid)
{
	struct runner *r = find(m, uid);

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

static bool is_away(const struct methods *m, const struct runner *r)
{
	return !r->c && host_now_ms(m->node->host) - r->gone_ms >= RUNNERS_AWAY_MS;
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
		r->told |= is_away(m, r);
	changed(m);
}

/* --- the methods ---------------------------------------------------------- */

void runner_register(struct call *call)
{
	struct runner *r = runner_of(call->m, call->c->uid);
	struct peer *before = r->c == call->c ? NULL : r->c;

	r->c = call->c;
	r->told = false;
	r->lost = 0;
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
	struct pack *p = peer_begin(call->c);
	rpc_pack_result(p, call->msgid);
	pack_map(p, 0);
	peer_end(call->c, call->msgid);
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
	struct runner *r = find(m, c->uid);

	if (!r || r->c != c)
		return;
	r->c = NULL;
	r->gone_ms = host_now_ms(m->node->host);
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

static int by_task(const void *a, const void *b)
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
		qsort(r->refused, r->n_refused, sizeof(*r->refused), by_task);
	return good;
}

void runner_refusals(struct call *call)
{
	struct runner *r = find(call->m, call->c->uid);
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
	if (good) {
		struct pack *p = peer_begin(call->c);
		rpc_pack_result(p, call->msgid);
		pack_map(p, 0);
		peer_end(call->c, call->msgid);
	} else {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "refusals takes a list of {task, file, message}, whether it is to be "
			   "added to those before, and how many lines of the log were lost");
	}
	changed(call->m);
}

/* --- telling runners what is due ------------------------------------------ */

bool runners_due(struct methods *m, const char *task, const char *tick, int64_t attempt)
{
	const struct listing *l = listings_find_of(&m->node->leaders, task);
	const struct runner *r = l && l->settings.has_user ? find(m, l->settings.user) : NULL;
	struct pack *p = r && r->c ? peer_begin_notification(r->c) : NULL;

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
	const struct runner *r = l && l->settings.has_user ? find(m, l->settings.user) : NULL;
	struct pack *p = r && r->c ? peer_begin_notification(r->c) : NULL;
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

/* --- problems ------------------------------------------------------------- */

static bool judge(const struct methods *m, const struct task_config *t, struct runners_trouble *ret)
{
	const struct listing *l = listings_find(&m->node->leaders, t->name, strlen(t->name));
	const char *user = task_config_user(t);
	const struct runner_refusal *refusal = NULL;
	const struct runner *r;
	struct runner_refusal key;

	*ret = (struct runners_trouble){.task = t->name, .about = t->file};
	if (!l || (!l->settings.has_user && l->settings.users_asked))
		return false;
	if (!l->settings.has_user) {
		snprintf(ret->text, sizeof(ret->text),
			 "there is no user \"%.100s\" on this host, whom its command runs as",
			 user);
		return true;
	}
	r = find(m, l->settings.user);
	snprintf(key.task, sizeof(key.task), "%s", t->name);
	if (r && r->n_refused > 0)
		refusal = bsearch(&key, r->refused, r->n_refused, sizeof(key), by_task);
	if (refusal) {
		ret->about = refusal->file[0] ? refusal->file : t->file;
		snprintf(ret->text, sizeof(ret->text), "not started from this file: %s",
			 refusal->text);
		return true;
	}
	if (!r || !is_away(m, r))
		return false;
	ret->about = user;
	snprintf(ret->text, sizeof(ret->text),
		 "no runner of this user is there to start its tasks: systemctl enable --now "
		 "zkleader-runner@%.100s",
		 user);
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct runners_trouble *x = a, *y = b;

	return strcmp(x->task, y->task);
}

struct runners_trouble *runners_troubles(const struct methods *m, size_t *ret_n)
{
	const struct task_files *files = m->process->tasks;
	struct runners_trouble *list = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < files->n; i++) {
		for (size_t j = 0; j < files->list[i].n_tasks; j++) {
			const struct task_config *t = files->list[i].tasks[j];
			struct runners_trouble one;

			if (!task_config_user(t) || !judge(m, t, &one))
				continue;
			list = mem_resize(list, *ret_n + 1, sizeof(*list));
			list[(*ret_n)++] = one;
		}
	}
	if (*ret_n > 1)
		qsort(list, *ret_n, sizeof(*list), by_name);
	return list;
}

/* Whether the same problem is listed already: tasks of one user or one file share it. */
static bool is_there(const struct problems *problems, const struct runners_trouble *t)
{
	for (size_t i = 0; i < problems->n; i++)
		if (strcmp(problems->list[i].file, t->about) == 0 &&
		    strcmp(problems->list[i].message, t->text) == 0)
			return true;
	return false;
}

void runners_find_problems(const struct methods *m, struct problems *problems)
{
	size_t n;
	struct runners_trouble *list = runners_troubles(m, &n);

	for (size_t i = 0; i < n; i++)
		if (!is_there(problems, &list[i]))
			problems_add(problems, list[i].about, PROBLEM_WHOLE_FILE, "%s",
				     list[i].text);
	free(list);
	for (const struct runner *r = m->runners.list; r; r = r->next)
		if (r->c && r->lost > 0)
			problems_warn(problems, "zkleader-runner", PROBLEM_WHOLE_FILE,
				      "nobody reads what the runner of uid %u logs: %" PRIu64
				      " lines are lost",
				      (unsigned)r->uid, r->lost);
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
