#include "wire/records/seen_record.h"

#include "wire/records/fields.h"

static const struct key seen_keys[] = {
	TIME_KEY(seen_record, since, KEY_REQUIRED),
	BOOL_KEY(seen_record, ok, KEY_REQUIRED),
	BOOL_KEY(seen_record, told, KEY_OPTIONAL),
};
static const struct keys seen = KEYS(seen_keys, seen_record, RECORD_SEEN_MAX);

int record_parse_seen(const void *data, size_t len, struct seen_record *ret_seen,
		      const char **ret_why)
{
	return keys_read(data, len, &seen, ret_seen, ret_why);
}

int record_pack_seen(struct buffer *out, const struct seen_record *s)
{
	return keys_write(out, &seen, s);
}

static const struct key trouble_keys[] = {
	TIME_KEY(trouble_record, since, KEY_REQUIRED),
	INT_KEY(trouble_record, failed, KEY_REQUIRED, 0, INT32_MAX, NOT_NUMBER),
};
static const struct keys trouble = KEYS(trouble_keys, trouble_record, RECORD_SEEN_MAX);

int record_parse_trouble(const void *data, size_t len, struct trouble_record *ret_trouble,
			 const char **ret_why)
{
	return keys_read(data, len, &trouble, ret_trouble, ret_why);
}

int record_pack_trouble(struct buffer *out, const struct trouble_record *t)
{
	return keys_write(out, &trouble, t);
}
