#include "control/programs/notifiers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "config/tasks/notify_files.h"

/* A problem that the notifier reports: with its spool, or with a file that it does not trust. */
struct notifier_problem {
	char *file, *text;
};

static void forget_problems(struct methods *m)
{
	for (size_t i = 0; i < m->notifier.n_problems; i++) {
		free(m->notifier.problems[i].file);
		free(m->notifier.problems[i].text);
	}
	free(m->notifier.problems);
	m->notifier.problems = NULL;
	m->notifier.n_problems = 0;
}

static void answer(const struct call *call)
{
	struct pack *p = peer_begin(call->c);

	rpc_pack_result(p, call->msgid);
	pack_map(p, 0);
	peer_end(call->c, call->msgid);
}

static bool tell(void *arg, const struct notice_record *record)
{
	const struct methods *m = arg;
	struct pack *p = m->notifier.c ? peer_begin_notification(m->notifier.c) : NULL;

	if (!p)
		return false;
	rpc_pack_notify(p, "notice");
	notice_pack(p, record);
	peer_end(m->notifier.c, PEER_NOTIFICATION);
	return true;
}

/* --- the methods ---------------------------------------------------------- */

static char *take_text(struct reader_text text)
{
	size_t len = text.len < NOTIFIERS_TEXT_MAX ? text.len : NOTIFIERS_TEXT_MAX;

	return mem_strndup(text.data, strnlen(text.data, len));
}

/* {"file", "message"}; unknown keys are skipped. */
static bool take_problem(struct reader *r, struct notifier_problem *ret)
{
	struct reader_text key, file = {"", 0}, text = {"", 0};
	size_t n;

	if (reader_map(r, &n) != 0)
		return false;
	for (; n > 0; n--) {
		int e = reader_str(r, &key);
		if (e == 0 && reader_text_is(key, "file"))
			e = reader_str(r, &file);
		else if (e == 0 && reader_text_is(key, "message"))
			e = reader_str(r, &text);
		else if (e == 0)
			e = reader_skip(r);
		if (e != 0)
			return false;
	}
	ret->file = take_text(file);
	ret->text = take_text(text);
	return true;
}

static bool take_problems(struct call *call)
{
	struct methods *m = call->m;
	bool good = true;
	size_t n;

	forget_problems(m);
	if (call->n_params != 1 || reader_array(&call->params, &n) != 0 ||
	    n > NOTIFIERS_PROBLEMS_MAX)
		return false;
	m->notifier.problems = mem_calloc(n + 1, sizeof(*m->notifier.problems));
	for (; good && n > 0; n--) {
		good = take_problem(&call->params, &m->notifier.problems[m->notifier.n_problems]);
		m->notifier.n_problems += good;
	}
	return good;
}

void notifier_register(struct call *call)
{
	struct methods *m = call->m;
	struct peer *before = m->notifier.c;

	if (!peer_may_change(call->c)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, METHODS_NOT_ALLOWED);
		return;
	}
	if (!take_problems(call)) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "notifier takes a list of at most 20 {file, message}: what is wrong "
			   "with it");
		return;
	}
	answer(call);
	if (before != call->c) {
		m->notifier.c = call->c;
		log_info("notifier", LOG_INT("pid", call->c->pid), LOG_STR("to", "there"));
		if (before)
			peer_drop(before);
	}
	/* The notifier may have had no room: all notices that it has not taken are sent again. */
	notices_listen(&m->node->notices, true);
}

void notifier_noticed(struct call *call)
{
	struct methods *m = call->m;
	struct reader_text id;
	bool good = false;
	size_t n = 0;

	if (m->notifier.c != call->c) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "noticed is for the notifier");
		return;
	}
	good = call->n_params == 1 && reader_array(&call->params, &n) == 0 &&
	       n <= NOTIFIERS_IDS_MAX;
	for (; good && n > 0; n--) {
		good = reader_str(&call->params, &id) == 0;
		if (good)
			notices_taken(&m->node->notices, id.data, id.len);
	}
	if (good)
		answer(call);
	else
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "noticed takes a list of at most 1,000 ids");
}

/* --- the rest ------------------------------------------------------------- */

void notifiers_client_gone(struct methods *m, const struct peer *c)
{
	if (m->notifier.c != c)
		return;
	log_info("notifier", LOG_INT("pid", c->pid), LOG_STR("to", "away"));
	m->notifier.c = NULL;
	m->notifier.gone_ms = host_now_ms(m->node->host);
	forget_problems(m);
	notices_listen(&m->node->notices, false);
}

void notifiers_drained(struct methods *m)
{
	if (m->notifier.c)
		notices_go_on(&m->node->notices);
}

void notifiers_find_problems(const struct methods *m, struct problems *problems)
{
	const struct notices *n = &m->node->notices;
	size_t all;
	const struct notify_config **channels = notify_configs_all(m->process->tasks, &all);

	if (all > 0 && !m->notifier.c &&
	    host_now_ms(m->node->host) - m->notifier.gone_ms >= NOTIFIERS_AWAY_MS)
		problems_add(problems, channels[0]->file, channels[0]->line,
			     "nobody is told of events: no zkleader-notify is there: systemctl "
			     "enable --now zkleader-notify");
	if (n->drops)
		problems_add(
			problems, "notices", PROBLEM_WHOLE_FILE,
			"%d events wait for zkleader-notify, and people are not told of %" PRIu64
			" more: see that it runs and has room",
			NOTICES_MAX, n->dropped);
	for (size_t i = 0; i < m->notifier.n_problems; i++)
		problems_add(problems, m->notifier.problems[i].file, PROBLEM_WHOLE_FILE, "%s",
			     m->notifier.problems[i].text);
	free(channels);
}

void notifiers_init(struct methods *m)
{
	m->notifier.gone_ms = host_now_ms(m->node->host);
	m->node->notices.tell = tell;
	m->node->notices.arg = m;
}

void notifiers_done(struct methods *m)
{
	forget_problems(m);
}
