#include "wire/records/seen_record.h"

#include "wire/records/fields.h"

static const struct key seen_keys[] = {
	TIME_KEY(seen_record, since, KEY_REQUIRED),
	BOOL_KEY(seen_record, ok, KEY_REQUIRED),
	BOOL_KEY(seen_record, told, KEY_OPTIONAL),
};
RECORD_DEFINE(seen, seen_record, seen_keys, RECORD_SEEN_MAX)

static const struct key trouble_keys[] = {
	TIME_KEY(trouble_record, since, KEY_REQUIRED),
	INT_KEY(trouble_record, failed, KEY_REQUIRED, 0, INT32_MAX, NOT_NUMBER),
};
RECORD_DEFINE(trouble, trouble_record, trouble_keys, RECORD_SEEN_MAX)
