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
RECORD_DEFINE(schedule, schedule_record, schedule_keys, RECORD_SCHEDULE_MAX)
