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

/* --- as clients are told of it ---------------------------------------------- */

static void pack_clock(struct pack *p, int64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	clock_format(wall_ms, text);
	pack_str(p, text);
}

static void pack_time(struct pack *p, const void *record)
{
	pack_clock(p, ((const struct notice_record *)record)->time);
}

static void pack_since(struct pack *p, const void *record)
{
	pack_clock(p, ((const struct notice_record *)record)->since);
}

static bool has_since(const void *record)
{
	return ((const struct notice_record *)record)->since > 0;
}

static void pack_output(struct pack *p, const void *record)
{
	const struct notice_record *r = record;

	pack_strn(p, r->output, r->output_len);
}

/* Whether the event is about an attempt: then another follows, or none. */
static bool has_final(const void *record)
{
	enum notice_event event = ((const struct notice_record *)record)->event;

	return event == NOTICE_FAILED || event == NOTICE_LOST || event == NOTICE_MISSED ||
	       event == NOTICE_DEAD || event == NOTICE_RETRYING;
}

static void pack_final(struct pack *p, const void *record)
{
	pack_bool(p, ((const struct notice_record *)record)->event != NOTICE_RETRYING);
}

/* Whether it is about a row of failures. */
static bool has_failed(const void *record)
{
	const struct notice_record *r = record;

	return r->event == NOTICE_RECOVERED || r->failed > 0;
}

static bool has_first(const void *record)
{
	const struct notice_record *r = record;

	return r->event != NOTICE_RECOVERED && r->failed > 0;
}

#define TOLD_KEY(member, kind, ...) \
	MESSAGE_KEY(#member, notice_record, member, kind, KEY_ALWAYS, __VA_ARGS__)
static const struct key told_keys[] = {
	TOLD_KEY(event, KEY_CUSTOM, .pack = pack_event),
	TOLD_KEY(id, KEY_TEXT),
	TOLD_KEY(task, KEY_TEXT, .nil = true),
	TOLD_KEY(node, KEY_TEXT, .nil = true),
	TOLD_KEY(version, KEY_TEXT, .nil = true),
	TOLD_KEY(time, KEY_CUSTOM, .pack = pack_time),
	TOLD_KEY(token, KEY_INT, .nil = true),
	TOLD_KEY(tick, KEY_TEXT, .nil = true),
	TOLD_KEY(attempt, KEY_INT, .nil = true),
	TOLD_KEY(exit_status, KEY_INT, .nil = true, .none = -1),
	TOLD_KEY(output, KEY_CUSTOM, .nil = true, .pack = pack_output,
		 .count = offsetof(struct notice_record, output_len)),
	TOLD_KEY(text, KEY_TEXT, .nil = true),
	TOLD_KEY(why, KEY_TEXT, .nil = true),
	TOLD_KEY(detail, KEY_TEXT, .nil = true),
	CUSTOM_KEY("final", KEY_ALWAYS, NULL, pack_final, "", .nil = true, .is_there = has_final),
	TOLD_KEY(failed, KEY_INT, .nil = true, .is_there = has_failed),
	TOLD_KEY(since, KEY_CUSTOM, .nil = true, .pack = pack_since, .is_there = has_since),
	TOLD_KEY(first, KEY_BOOL, .nil = true, .is_there = has_first),
};
static const struct keys told_form = KEYS(told_keys, notice_record, RECORD_NOTICE_MAX);

void notice_pack(struct pack *p, const struct notice_record *r)
{
	keys_pack(p, &told_form, r);
}
