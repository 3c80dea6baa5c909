#include "wire/records/schedule_record.h"

#include "wire/records/fields.h"

static bool is_text(const char *text, size_t len)
{
	return len > 0 && utf8_is_valid(text, len);
}

static const struct key schedule_keys[] = {
	TEXT_KEY(schedule_record, text, KEY_REQUIRED, is_text,
		 "not a string of 1 to 200 bytes of UTF-8"),
	TEXT_KEY(schedule_record, timezone, KEY_REQUIRED, is_text,
		 "not a string of 1 to 100 bytes of UTF-8"),
	TIME_KEY(schedule_record, since, KEY_REQUIRED),
};
static const struct keys schedule = KEYS(schedule_keys, schedule_record, RECORD_SCHEDULE_MAX);

int record_parse_schedule(const void *data, size_t len, struct schedule_record *ret_schedule,
			  const char **ret_why)
{
	return keys_read(data, len, &schedule, ret_schedule, ret_why);
}

int record_pack_schedule(struct buffer *out, const struct schedule_record *r)
{
	return keys_write(out, &schedule, r);
}
