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

void run_event_lost(const struct registry *r, const char *task, const char *tick,
		    const struct run_record *record, struct notice_record *ret_event)
{
	fill(r, NOTICE_LOST, task, tick, record, ret_event);
	if (!ret_event->why[0])
		run_why_lost(ret_event->why, ret_event->detail, ret_event->node);
	ret_event->exit_status = -1;
	snprintf(ret_event->text, sizeof(ret_event->text),
		 "a run of %s%s%s was lost: its end on %.200s is not known", task,
		 tick[0] ? " for " : "", tick, ret_event->node);
}

bool run_event_of(const struct registry *r, const char *task, const char *tick,
		  const struct run_record *record, struct notice_record *ret_event)
{
	bool start = strcmp(record->why, "start") == 0;
	char how[RECORD_DETAIL_MAX + 40];

	if (strcmp(record->state, "lost") == 0) {
		run_event_lost(r, task, tick, record, ret_event);
		return true;
	}
	if (strcmp(record->state, "timeout") == 0)
		snprintf(how, sizeof(how), "was ended by its timeout, status %" PRId64,
			 record->exit_status);
	else if (strcmp(record->state, "failed") == 0)
		snprintf(how, sizeof(how), "failed with status %" PRId64 "%s%s",
			 record->exit_status, start ? ": " : "", start ? record->detail : "");
	else
		return false;
	fill(r, NOTICE_FAILED, task, tick, record, ret_event);
	snprintf(ret_event->text, sizeof(ret_event->text), "a run of %s%s%s on %.100s %s", task,
		 tick[0] ? " for " : "", tick, ret_event->node, how);
	return true;
}
