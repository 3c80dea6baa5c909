#include "node/notices/run_event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/fleet/registry.h"

/* --- why ------------------------------------------------------------------ */

void run_why_set(char why[RECORD_WHY_MAX + 1], char detail[RECORD_DETAIL_MAX + 1], const char *word,
		 const char *text)
{
	snprintf(why, RECORD_WHY_MAX + 1, "%s", word);
	snprintf(detail, RECORD_DETAIL_MAX + 1, "%s", text);
}

/* A signal as a shell reports it: 128 plus its number. */
static bool is_signal(int64_t status)
{
	return status > 128 && status <= 128 + 64;
}

static void why_failed(char why[RECORD_WHY_MAX + 1], char detail[RECORD_DETAIL_MAX + 1],
		       int64_t exit_status, const char *start)
{
	bool by_signal = is_signal(exit_status);
	char text[RECORD_DETAIL_MAX + 1];

	if (start && start[0])
		snprintf(text, sizeof(text), "the command could not be started: %.150s", start);
	else if (exit_status < 0)
		snprintf(text, sizeof(text), "its receiver did not take it");
	else
		snprintf(text, sizeof(text), by_signal ? "signal %d" : "exit status %d",
			 (int)(by_signal ? exit_status - 128 : exit_status));
	run_why_set(why, detail,
		    start && start[0] ? "start"
		    : by_signal	      ? "signal"
				      : "status",
		    text);
}

void run_why_attempt(char why[RECORD_WHY_MAX + 1], char detail[RECORD_DETAIL_MAX + 1],
		     enum attempt_how how, int64_t exit_status, const char *start)
{
	switch (how) {
	case ATTEMPT_OK:
	case ATTEMPT_CANCELLED: run_why_set(why, detail, "", ""); break;
	case ATTEMPT_TIMEOUT:
		run_why_set(why, detail, "timeout", "it was ended by its timeout");
		break;
	case ATTEMPT_LOST:
		run_why_set(why, detail, "lease",
			    "it was ended with its lease, its sidecar or its supervisor, or nobody "
			    "was left to report its end");
		break;
	case ATTEMPT_FAILED: why_failed(why, detail, exit_status, start); break;
	case ATTEMPT_DEAD: run_why_set(why, detail, "status", "its receiver refused it"); break;
	}
}

void run_why_ended(struct run_record *r, const char *start)
{
	enum attempt_how how = strcmp(r->state, "timeout") == 0	 ? ATTEMPT_TIMEOUT
			       : strcmp(r->state, "lost") == 0	 ? ATTEMPT_LOST
			       : strcmp(r->state, "failed") == 0 ? ATTEMPT_FAILED
								 : ATTEMPT_OK;

	run_why_attempt(r->why, r->detail, how, r->exit_status, start);
}

void run_why_lost(char why[RECORD_WHY_MAX + 1], char detail[RECORD_DETAIL_MAX + 1],
		  const char *node)
{
	char text[RECORD_DETAIL_MAX + 1];

	snprintf(text, sizeof(text), "the session of %.150s, where it ran, has ended", node);
	run_why_set(why, detail, "node", text);
}

void run_why_node(struct run_record *r)
{
	run_why_lost(r->why, r->detail, r->node[0] ? r->node : r->hostname);
}

/* --- events --------------------------------------------------------------- */

static void fill(const struct registry *r, enum notice_event kind, const char *task,
		 const char *tick, const struct run_record *record, struct notice_record *event)
{
	notice_init(r, event, kind, task);
	event->token = record->token;
	event->attempt = record->attempt;
	event->exit_status = record->exit_status;
	event->output = record->output;
	event->output_len = record->output_len;
	snprintf(event->tick, sizeof(event->tick), "%s", tick);
	run_why_set(event->why, event->detail, record->why, record->detail);
	/* A run on another node may have had another version. */
	if (strcmp(record->id, r->id) == 0)
		return;
	snprintf(event->node, sizeof(event->node), "%s",
		 record->node[0] ? record->node : record->hostname);
	event->version[0] = '\0';
}

bool run_event_wanted(const struct registry *r, const char *task)
{
	return notices_wanted(r, NOTICE_FAILED, task) || notices_wanted(r, NOTICE_LOST, task) ||
	       notices_wanted(r, NOTICE_RETRYING, task) ||
	       notices_wanted(r, NOTICE_RECOVERED, task);
}

/* The text says what happened to which run; and of an attempt, that it is not the last. */
static void put_text(struct notice_record *event, bool retrying, const char *task, const char *tick,
		     const char *what)
{
	char attempt[40] = "a run";

	event->failed = !retrying && event->event != NOTICE_RECOVERED;
	if (retrying)
		snprintf(attempt, sizeof(attempt), "attempt %" PRId64, event->attempt);
	snprintf(event->text, sizeof(event->text), "%s of %s%s%s %s%s", attempt, task,
		 tick[0] ? " for " : "", tick, what, retrying ? "; another one follows" : "");
}

void run_event_lost(const struct registry *r, const char *task, const char *tick,
		    const struct run_record *record, bool retrying, struct notice_record *ret_event)
{
	char what[NOTICE_TEXT_MAX];

	fill(r, retrying ? NOTICE_RETRYING : NOTICE_LOST, task, tick, record, ret_event);
	if (!ret_event->why[0])
		run_why_lost(ret_event->why, ret_event->detail, ret_event->node);
	ret_event->exit_status = -1;
	snprintf(what, sizeof(what), "was lost: its end on %.200s is not known", ret_event->node);
	put_text(ret_event, retrying, task, tick, what);
}

bool run_event_of(const struct registry *r, const char *task, const char *tick,
		  const struct run_record *record, struct notice_record *ret_event)
{
	bool start = strcmp(record->why, "start") == 0, good = strcmp(record->state, "ok") == 0;
	char what[NOTICE_TEXT_MAX];

	if (strcmp(record->state, "lost") == 0) {
		run_event_lost(r, task, tick, record, record->retrying, ret_event);
		return true;
	}
	if (!good && strcmp(record->state, "failed") != 0 && strcmp(record->state, "timeout") != 0)
		return false;
	fill(r,
	     good		? NOTICE_RECOVERED
	     : record->retrying ? NOTICE_RETRYING
				: NOTICE_FAILED,
	     task, tick, record, ret_event);
	if (good)
		snprintf(what, sizeof(what), "on %.100s ended well", ret_event->node);
	else if (strcmp(record->state, "timeout") == 0)
		snprintf(what, sizeof(what), "on %.100s was ended by its timeout, status %" PRId64,
			 ret_event->node, record->exit_status);
	else
		snprintf(what, sizeof(what), "on %.100s failed with status %" PRId64 "%s%s",
			 ret_event->node, record->exit_status, start ? ": " : "",
			 start ? record->detail : "");
	put_text(ret_event, record->retrying && !good, task, tick, what);
	return true;
}
