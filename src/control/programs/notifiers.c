#include "control/programs/notifiers.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log/log.h"
#include "config/tasks/notify_files.h"

static bool tell(void *arg, const struct notice_record *record)
{
	const struct methods *m = arg;
	struct pack *p = m->notifier.c ? peer_begin_notification(m->notifier.c, "notice") : NULL;

	if (!p)
		return false;
	notice_pack(p, record);
	peer_end(m->notifier.c, PEER_NOTIFICATION);
	return true;
}

/* --- the methods ---------------------------------------------------------- */

static bool take_problems(struct call *call)
{
	struct program_problems *all = &call->m->notifier.problems;
	size_t n;

	program_problems_forget(all);
	return reader_array(&call->params, &n) == 0 && n <= NOTIFIERS_PROBLEMS_MAX &&
	       program_problems_take(all, &call->params, n, false);
}

void notifier_register(struct call *call)
{
	struct methods *m = call->m;
	struct peer *before = m->notifier.c;

	if (!take_problems(call)) {
		call_misused(call);
		return;
	}
	call_done(call);
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
		call_refuse(call, "noticed is for the notifier");
		return;
	}
	good = reader_array(&call->params, &n) == 0 && n <= NOTIFIERS_IDS_MAX;
	for (; good && n > 0; n--) {
		good = reader_str(&call->params, &id) == 0;
		if (good)
			notices_taken(&m->node->notices, id.data, id.len);
	}
	if (good)
		call_done(call);
	else
		call_misused(call);
}

/* --- the rest ------------------------------------------------------------- */

void notifiers_client_gone(struct methods *m, const struct peer *c)
{
	if (m->notifier.c != c)
		return;
	log_info("notifier", LOG_INT("pid", c->pid), LOG_STR("to", "away"));
	m->notifier.c = NULL;
	m->notifier.gone_ms = host_now_ms(m->node->host);
	program_problems_forget(&m->notifier.problems);
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
	for (size_t i = 0; i < m->notifier.problems.n; i++)
		problems_add(problems, m->notifier.problems.list[i].file, PROBLEM_WHOLE_FILE, "%s",
			     m->notifier.problems.list[i].text);
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
	program_problems_forget(&m->notifier.problems);
}
