#include "node/run_event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/registry.h"

/* --- why ------------------------------------------------------------------ */

static void set_why(struct run_record *r, const char *why, const char *detail)
{
	snprintf(r->why, sizeof(r->why), "%s", why);
	snprintf(r->detail, sizeof(r->detail), "%s", detail);
}

/* As a shell says it: 128 and the signal's number. */
static bool is_signal(int64_t status)
{
	return status > 128 && status <= 128 + 64;
}

void run_why_ended(struct run_record *r, const char *start)
{
	char detail[RECORD_DETAIL_MAX + 1];

	set_why(r, "", "");
	if (strcmp(r->state, "timeout") == 0) {
		set_why(r, "timeout", "it was ended by its timeout");
	} else if (strcmp(r->state, "lost") == 0) {
		set_why(r, "lease",
			"it was ended with its lease, its sidecar or its supervisor, or nobody was "
			"left to report its end");
	} else if (strcmp(r->state, "failed") == 0 && start && start[0]) {
		snprintf(detail, sizeof(detail), "the command could not be started: %.150s", start);
		set_why(r, "start", detail);
	} else if (strcmp(r->state, "failed") == 0) {
		bool by_signal = is_signal(r->exit_status);
		snprintf(detail, sizeof(detail), by_signal ? "signal %d" : "exit status %d",
			 (int)(by_signal ? r->exit_status - 128 : r->exit_status));
		set_why(r, by_signal ? "signal" : "status", detail);
	}
}

void run_why_node(struct run_record *r)
{
	char detail[RECORD_DETAIL_MAX + 1];

	snprintf(detail, sizeof(detail), "the session of %.150s, where it ran, has ended",
		 r->node[0] ? r->node : r->hostname);
	set_why(r, "node", detail);
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
	/* It may have run elsewhere, with another version. */
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
	ret_event->exit_status = -1;
	snprintf(ret_event->text, sizeof(ret_event->text),
		 "a run of %s%s%s was lost: its end on %.200s is not known", task,
		 tick[0] ? " for " : "", tick, ret_event->node);
}

bool run_event_of(const struct registry *r, const char *task, const char *tick,
		  const struct run_record *record, struct notice_record *ret_event)
{
	bool timeout = strcmp(record->state, "timeout") == 0;

	if (strcmp(record->state, "lost") == 0) {
		run_event_lost(r, task, tick, record, ret_event);
		return true;
	}
	if (!timeout && strcmp(record->state, "failed") != 0)
		return false;
	fill(r, NOTICE_FAILED, task, tick, record, ret_event);
	snprintf(ret_event->text, sizeof(ret_event->text),
		 timeout ? "a run of %s%s%s on %.200s was ended by its timeout, status %" PRId64
			 : "a run of %s%s%s on %.200s failed with status %" PRId64,
		 task, tick[0] ? " for " : "", tick, ret_event->node, record->exit_status);
	return true;
}
