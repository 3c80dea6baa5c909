#include "wire/records/notice_record.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text/utf8.h"
#include "wire/keys.h"

#define TIME_MAX_MS  INT64_C(253402300799999) /* the end of 9999 */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_text(const char *text, size_t len)
{
	return utf8_is_valid(text, len) && !memchr(text, '\0', len);
}

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

static int parse_output(struct reader *r, void *record)
{
	struct notice_record *n = record;
	struct reader_text text;

	if (reader_bin(r, &text) != 0 || text.len > RECORD_OUTPUT_MAX)
		return -EBADMSG;
	n->output = text.data;
	n->output_len = text.len;
	return 0;
}

#define PLACE(key) .name = #key, .offset = offsetof(struct notice_record, key)
#define TEXT(key, is_optional, check, text)                                      \
	{                                                                        \
		PLACE(key), .kind = KEY_TEXT, .optional = (is_optional),         \
			    .size = sizeof(((struct notice_record *)NULL)->key), \
			    .is_good = (check), KEY_WHY(#key, text)              \
	}
#define INT(key, is_optional, least, most, text)                                        \
	{                                                                               \
		PLACE(key), .kind = KEY_INT, .optional = (is_optional), .min = (least), \
			    .max = (most), KEY_WHY(#key, text)                          \
	}

static const struct key notice_keys[] = {
	{.name = "event", .kind = KEY_CUSTOM, .parse = parse_event, KEY_WHY("event", "not known")},
	TEXT(id, false, name_is_id, "not a string of 1 to 64 letters, digits and hyphens"),
	TEXT(task, true, is_task, "not the name of a task"),
	TEXT(node, true, is_text, "not a string of up to 400 bytes of UTF-8"),
	TEXT(version, true, is_host, "not a string of printable ASCII characters"),
	INT(time, false, 0, TIME_MAX_MS, "not milliseconds since the epoch"),
	INT(token, true, 0, INT64_MAX, "not a number from 0 on"),
	{PLACE(led), .kind = KEY_BOOL, .optional = true, KEY_WHY("led", "not a bool")},
	TEXT(tick, true, is_host, "not a short string of printable ASCII characters"),
	INT(attempt, true, 0, INT64_MAX, "not a number from 0 on"),
	INT(exit_status, true, -1, 255, "not a status"),
	TEXT(text, true, is_text, "not a string of up to 400 bytes of UTF-8"),
	TEXT(why, true, is_host, "not a string of at most 15 printable ASCII characters"),
	TEXT(detail, true, is_text, "not a string of at most 200 bytes of UTF-8"),
	{.name = "output",
	 .kind = KEY_CUSTOM,
	 .optional = true,
	 .parse = parse_output,
	 KEY_WHY("output", "not a bin of at most 2048 bytes")},
};

int record_parse_notice(const void *data, size_t len, struct notice_record *ret_notice,
			const char **ret_why)
{
	struct notice_record r = {.exit_status = -1};
	int e = keys_parse(data, len, RECORD_NOTICE_MAX, notice_keys, COUNT(notice_keys), &r,
			   ret_why);

	if (e < 0)
		return e;
	*ret_notice = r;
	return 0;
}

int record_pack_notice(struct buffer *out, const struct notice_record *r)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, COUNT(notice_keys));
	pack_kv_str(&p, "event", notice_event_name(r->event));
	pack_kv_str(&p, "id", r->id);
	pack_kv_str(&p, "task", r->task);
	pack_kv_str(&p, "node", r->node);
	pack_kv_str(&p, "version", r->version);
	pack_kv_int(&p, "time", r->time);
	pack_kv_int(&p, "token", r->token);
	pack_kv_bool(&p, "led", r->led);
	pack_kv_str(&p, "tick", r->tick);
	pack_kv_int(&p, "attempt", r->attempt);
	pack_kv_int(&p, "exit_status", r->exit_status);
	pack_kv_str(&p, "text", r->text);
	pack_kv_str(&p, "why", r->why);
	pack_kv_str(&p, "detail", r->detail);
	pack_kv_bin(&p, "output", r->output, r->output_len);
	if (!p.failed && out->len - before <= RECORD_NOTICE_MAX)
		return 0;
	buffer_truncate(out, before);
	return -ENOBUFS;
}

static void pack_text(struct pack *p, const char *key, const char *text)
{
	pack_kv_str(p, key, text[0] ? text : NULL);
}

static void pack_number(struct pack *p, const char *key, bool there, int64_t number)
{
	if (there)
		pack_kv_int(p, key, number);
	else
		pack_kv_nil(p, key);
}

void notice_pack(struct pack *p, const struct notice_record *r)
{
	char time[CLOCK_TEXT_SIZE];

	clock_format(r->time, time);
	pack_map(p, NOTICE_FIELDS);
	pack_kv_str(p, "event", notice_event_name(r->event));
	pack_kv_str(p, "id", r->id);
	pack_text(p, "task", r->task);
	pack_text(p, "node", r->node);
	pack_text(p, "version", r->version);
	pack_kv_str(p, "time", time);
	pack_number(p, "token", r->token > 0, r->token);
	pack_text(p, "tick", r->tick);
	pack_number(p, "attempt", r->attempt > 0, r->attempt);
	pack_number(p, "exit_status", r->exit_status >= 0, r->exit_status);
	pack_str(p, "output");
	if (r->output_len > 0)
		pack_strn(p, r->output, r->output_len);
	else
		pack_nil(p);
	pack_text(p, "text", r->text);
	pack_text(p, "why", r->why);
	pack_text(p, "detail", r->detail);
}
