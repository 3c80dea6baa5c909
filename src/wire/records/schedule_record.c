#include "wire/records/schedule_record.h"

#include <errno.h>
#include <string.h>

#include "base/text/utf8.h"
#include "wire/keys.h"
#include "wire/pack.h"

#define TIME_MAX_MS  INT64_C(253402300799999)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_text(const char *text, size_t len)
{
	return len > 0 && utf8_is_valid(text, len) && !memchr(text, '\0', len);
}

static const struct key schedule_keys[] = {
	{.name = "text",
	 .kind = KEY_TEXT,
	 .offset = offsetof(struct schedule_record, text),
	 .size = sizeof(((struct schedule_record *)NULL)->text),
	 .is_good = is_text,
	 KEY_WHY("text", "not a string of 1 to 200 bytes of UTF-8")},
	{.name = "timezone",
	 .kind = KEY_TEXT,
	 .offset = offsetof(struct schedule_record, timezone),
	 .size = sizeof(((struct schedule_record *)NULL)->timezone),
	 .is_good = is_text,
	 KEY_WHY("timezone", "not a string of 1 to 100 bytes of UTF-8")},
	{.name = "since",
	 .kind = KEY_INT,
	 .offset = offsetof(struct schedule_record, since),
	 .min = 0,
	 .max = TIME_MAX_MS,
	 KEY_WHY("since", "not milliseconds since the epoch, before the year 10000")},
};

int record_parse_schedule(const void *data, size_t len, struct schedule_record *ret_schedule,
			  const char **ret_why)
{
	struct schedule_record r = {.since = 0};
	int e = keys_parse(data, len, RECORD_SCHEDULE_MAX, schedule_keys, COUNT(schedule_keys), &r,
			   ret_why);

	if (e < 0)
		return e;
	*ret_schedule = r;
	return 0;
}

int record_pack_schedule(struct buffer *out, const struct schedule_record *r)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 3);
	pack_kv_str(&p, "text", r->text);
	pack_kv_str(&p, "timezone", r->timezone);
	pack_kv_int(&p, "since", r->since);
	if (!p.failed && out->len - before <= RECORD_SCHEDULE_MAX)
		return 0;
	buffer_truncate(out, before);
	return -ENOBUFS;
}
