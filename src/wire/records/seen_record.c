#include "wire/records/seen_record.h"

#include <errno.h>

#include "wire/keys.h"
#include "wire/pack.h"

#define TIME_MAX_MS INT64_C(253402300799999) /* the end of 9999 */

static const struct key seen_keys[] = {
	{.name = "since",
	 .kind = KEY_INT,
	 .offset = offsetof(struct seen_record, since),
	 .min = 0,
	 .max = TIME_MAX_MS,
	 KEY_WHY("since", "not milliseconds since the epoch, before the year 10000")},
	{.name = "ok",
	 .kind = KEY_BOOL,
	 .offset = offsetof(struct seen_record, ok),
	 KEY_WHY("ok", "not a bool")},
	{.name = "told",
	 .kind = KEY_BOOL,
	 .optional = true,
	 .offset = offsetof(struct seen_record, told),
	 KEY_WHY("told", "not a bool")},
};

int record_parse_seen(const void *data, size_t len, struct seen_record *ret_seen,
		      const char **ret_why)
{
	struct seen_record s = {.since = 0};
	int e = keys_parse(data, len, RECORD_SEEN_MAX, seen_keys,
			   sizeof(seen_keys) / sizeof(seen_keys[0]), &s, ret_why);

	if (e < 0)
		return e;
	*ret_seen = s;
	return 0;
}

int record_pack_seen(struct buffer *out, const struct seen_record *s)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, s->told ? 3 : 2);
	pack_kv_int(&p, "since", s->since);
	pack_kv_bool(&p, "ok", s->ok);
	if (s->told)
		pack_kv_bool(&p, "told", true);
	if (!p.failed && out->len - before <= RECORD_SEEN_MAX)
		return 0;
	buffer_truncate(out, before);
	return -ENOBUFS;
}
