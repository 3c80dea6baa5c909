#include "wire/records/notice_record.h"

#include <errno.h>

#include "base/clock.h"
#include "wire/records/fields.h"

static bool is_task(const char *text, size_t len)
{
	return len == 0 || name_is_election(text, len);
}

static bool is_host(const char *text, size_t len)
{
	return len == 0 || name_is_host(text, len);
}

static int parse_event(struct reader *r, void *record)
{
	struct notice_record *n = record;
	struct reader_text text;

	if (reader_str(r, &text) != 0 || !notice_event_parse(text.data, text.len, &n->event))
		return -EBADMSG;
	return 0;
}

static void pack_event(struct pack *p, const void *record)
{
	pack_str(p, notice_event_name(((const struct notice_record *)record)->event));
}

static const struct key notice_keys[] = {
	CUSTOM_KEY("event", KEY_REQUIRED, parse_event, pack_event, "not known"),
	TEXT_KEY(notice_record, id, KEY_REQUIRED, name_is_id, NOT_ID),
	TEXT_KEY(notice_record, task, KEY_ALWAYS, is_task, NOT_NAME),
	UTF8_KEY(notice_record, node, KEY_ALWAYS, NOT_NODE),
	TEXT_KEY(notice_record, version, KEY_ALWAYS, is_host, NOT_HOST),
	TIME_KEY(notice_record, time, KEY_REQUIRED),
	INT_KEY(notice_record, token, KEY_ALWAYS, 0, INT64_MAX, "not a number from 0 on"),
	BOOL_KEY(notice_record, led, KEY_ALWAYS),
	TEXT_KEY(notice_record, tick, KEY_ALWAYS, is_host,
		 "not a short string of printable ASCII characters"),
	INT_KEY(notice_record, attempt, KEY_ALWAYS, 0, INT64_MAX, "not a number from 0 on"),
	INT_KEY(notice_record, exit_status, KEY_ALWAYS, -1, 255, "not a status", .none = -1),
	INT_KEY(notice_record, failed, KEY_OPTIONAL, 0, INT32_MAX, NOT_NUMBER),
	INT_KEY(notice_record, since, KEY_OPTIONAL, 0, TIME_MAX_MS, NOT_TIME),
	BOOL_KEY(notice_record, first, KEY_OPTIONAL),
	UTF8_KEY(notice_record, text, KEY_ALWAYS, "not a string of at most 400 bytes of UTF-8"),
	TEXT_KEY(notice_record, why, KEY_ALWAYS, is_host, NOT_WHY),
	UTF8_KEY(notice_record, detail, KEY_ALWAYS, NOT_TEXT),
	BYTES_KEY(notice_record, output, KEY_ALWAYS, RECORD_OUTPUT_MAX, NOT_OUTPUT),
};
RECORD_DEFINE(notice, notice_record, notice_keys, RECORD_NOTICE_MAX)

/* Whether another attempt follows; nil for what is not about one. */
static void pack_final(struct pack *p, enum notice_event event)
{
	pack_str(p, "final");
	if (event == NOTICE_FAILED || event == NOTICE_LOST || event == NOTICE_MISSED ||
	    event == NOTICE_DEAD)
		pack_bool(p, true);
	else if (event == NOTICE_RETRYING)
		pack_bool(p, false);
	else
		pack_nil(p);
}

/* The part of the event that is about a row of failures. */
static void pack_row(struct pack *p, const struct notice_record *r)
{
	bool counts = r->event == NOTICE_RECOVERED || r->failed > 0;

	pack_kv_known(p, "failed", counts, r->failed);
	pack_kv_time(p, "since", r->since);
	pack_str(p, "first");
	if (r->event != NOTICE_RECOVERED && r->failed > 0)
		pack_bool(p, r->first);
	else
		pack_nil(p);
}

void notice_pack(struct pack *p, const struct notice_record *r)
{
	char time[CLOCK_TEXT_SIZE];

	clock_format(r->time, time);
	pack_map(p, NOTICE_FIELDS);
	pack_kv_str(p, "event", notice_event_name(r->event));
	pack_kv_str(p, "id", r->id);
	pack_kv_text(p, "task", r->task);
	pack_kv_text(p, "node", r->node);
	pack_kv_text(p, "version", r->version);
	pack_kv_str(p, "time", time);
	pack_kv_known(p, "token", r->token > 0, r->token);
	pack_kv_text(p, "tick", r->tick);
	pack_kv_known(p, "attempt", r->attempt > 0, r->attempt);
	pack_kv_known(p, "exit_status", r->exit_status >= 0, r->exit_status);
	pack_kv_strn(p, "output", r->output_len > 0 ? r->output : NULL, r->output_len);
	pack_kv_text(p, "text", r->text);
	pack_kv_text(p, "why", r->why);
	pack_kv_text(p, "detail", r->detail);
	pack_final(p, r->event);
	pack_row(p, r);
}
