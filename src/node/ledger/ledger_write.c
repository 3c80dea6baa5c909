#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/ledger/ledger.h"
#include "node/notices/notices.h"
#include "node/tree/paths.h"
#include "wire/records/seen_record.h"

/* A record that is being written. */
struct write {
	struct leaders *leaders;
	char task[NAME_ELECTION_MAX + 1];
	char tick[TICK_NAME_SIZE];
	struct buffer data; /* of the record */
	int64_t ok_ms;	    /* when it ended well, 0: it did not */
	int32_t version;
	bool must_lead;
	char trigger[STORE_PATH_MAX]; /* goes with it; "" */
	bool unseen;		      /* ROOT/seen/TASK is not there */
	int seen_at;		      /* the operation that sets that, 0: none does */
	struct notice_record event;   /* is noted with it, if has_event; its output is the next */
	char output[RECORD_OUTPUT_MAX];
	bool has_event;
	ledger_fn fn;
	void *arg;
};

enum ledger_result ledger_failure(const char *task, const char *tick,
				  const struct store_reply *reply)
{
	if (!store_is_refusal(reply->code))
		return LEDGER_UNKNOWN;
	log_error("ledger refused", LOG_STR("task", task), LOG_STR("tick", tick),
		  LOG_STR("why", reply->text));
	return LEDGER_FAILED;
}

static void send(struct write *w);

static void on_written(void *arg, const struct store_reply *reply)
{
	struct write *w = arg;
	enum ledger_result result;

	/*
	 * ROOT/seen/TASK is missing: the leader has not looked at the task yet, or its release does
	 * not know that node.
	 */
	if (reply->code == STORE_NO_NODE && w->seen_at > 0 && reply->failed_op == w->seen_at) {
		w->unseen = true;
		send(w);
		return;
	}
	if (reply->code == STORE_OK)
		result = LEDGER_DONE;
	else if (reply->code == STORE_BAD_VERSION || reply->code == STORE_NO_NODE)
		result = LEDGER_AGAIN;
	else
		result = ledger_failure(w->task, w->tick, reply);
	w->fn(w->arg, result, NULL, 0);
	buffer_done(&w->data);
	free(w);
}

/*
 * A run that ended well postpones the time at which the task is overdue. If the task has been taken
 * from this node while it ran, only ROOT/seen/TASK tells whether the others have an alert-after.
 */
static bool is_seen(const struct write *w)
{
	const struct task *t = tasks_find_any(w->leaders, w->task);

	return (!t || t->settings->alert_after_ms > 0) && !w->unseen && w->ok_ms > 0;
}

static void send(struct write *w)
{
	const struct leaders *l = w->leaders;
	const struct seen_record seen = {.since = w->ok_ms, .ok = true};
	char leader[STORE_PATH_MAX], path[STORE_PATH_MAX], seen_path[STORE_PATH_MAX];
	struct buffer seen_data;
	int n = w->must_lead ? 3 : 1;

	path_of(l->registry->settings, PATH_LEADERS, w->task, leader);
	path_of(l->registry->settings, PATH_SEEN, w->task, seen_path);
	path_of_tick(l->session->settings, w->task, w->tick, path);
	buffer_init(&seen_data, RECORD_SEEN_MAX);
	int error = record_pack_seen(&seen_data, &seen);
	assert(error == 0);
	(void)error;
	struct store_op ops[5] = {
		{.type = STORE_OP_SET,
		 .path = path,
		 .data = w->data.data,
		 .len = w->data.len,
		 .version = w->version},
		{.type = STORE_OP_CHECK, .path = l->session->registration, .version = -1},
		{.type = STORE_OP_CHECK, .path = leader, .version = -1},
	};
	if (w->trigger[0])
		ops[n++] = (struct store_op){
			.type = STORE_OP_DELETE, .path = w->trigger, .version = -1};
	w->seen_at = is_seen(w) ? n : 0;
	if (w->seen_at > 0)
		ops[n++] = (struct store_op){.type = STORE_OP_SET,
					     .path = seen_path,
					     .data = seen_data.data,
					     .len = seen_data.len,
					     .version = -1};
	notices_multi(l->registry, ops, (size_t)n, w->has_event ? &w->event : NULL, on_written, w);
	buffer_done(&seen_data);
}

static void take_event(struct write *w, const struct notice_record *event)
{
	w->has_event = true;
	w->event = *event;
	w->event.output = w->output;
	if (event->output_len > 0)
		memcpy(w->output, event->output, event->output_len);
}

void ledger_write(struct leaders *l, const char *task, const char *tick, const char *trigger,
		  const struct run_record *record, int32_t version, bool must_lead,
		  const struct notice_record *event, ledger_fn fn, void *arg)
{
	struct write *w = mem_calloc(1, sizeof(*w));

	w->leaders = l;
	snprintf(w->task, sizeof(w->task), "%s", task);
	snprintf(w->tick, sizeof(w->tick), "%s", tick);
	snprintf(w->trigger, sizeof(w->trigger), "%s", trigger ? trigger : "");
	/* The record is packed at once: what it borrows may be freed before the answer. */
	buffer_init(&w->data, RECORD_RUN_MAX);
	int error = record_pack_run(&w->data, record);
	assert(error == 0);
	(void)error;
	w->ok_ms = strcmp(record->state, "ok") == 0 ? record->ended_at : 0;
	w->version = version;
	w->must_lead = must_lead;
	w->fn = fn;
	w->arg = arg;
	if (event)
		take_event(w, event);
	send(w);
}
