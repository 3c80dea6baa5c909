#include "releases.h"

#include <string.h>

#include "base/buffer.h"
#include "wire/pack.h"
#include "wire/reader.h"

#define ROOT "/apps"

/* The keys that came after 0.1.0, by the folder of the record. */
static const struct {
	const char *folder, *keys[9];
} newer[] = {
	{ROOT "/workers/",
	 {"machine", "clock_offset_ms", "clock_tolerance_ms", "partitions", "groups", "queues",
	  "lists", "list"}},
	{ROOT "/runs/", {"node", "by", "output", "why", "detail"}},
	{ROOT "/policy/", {"machine", "rolling", "halted"}},
};

static bool is_newer(const char *path, struct reader_text key)
{
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
		if (strncmp(path, newer[i].folder, strlen(newer[i].folder)) != 0)
			continue;
		for (const char *const *k = newer[i].keys; *k; k++)
			if (reader_text_is(key, *k))
				return true;
	}
	return false;
}

/* Its pairs but those; how many they are. */
static size_t copy_pairs(const char *path, struct reader r, size_t n, struct buffer *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *from = r.p;
		struct reader_text key;
		if (reader_str(&r, &key) != 0 || reader_skip(&r) != 0)
			return 0;
		if (is_newer(path, key))
			continue;
		buffer_append(out, from, (size_t)(r.p - from));
		kept++;
	}
	return kept;
}

struct blob *release_record(const struct machine *m, const char *path, const void *data, size_t len)
{
	struct buffer pairs, record;
	struct blob *b = NULL;
	struct reader r;
	struct pack p;
	size_t n;

	reader_init(&r, data, len);
	if (!m->older || len == 0 || reader_map(&r, &n) != 0)
		return blob_new(data, len);
	buffer_init(&pairs, len);
	buffer_init(&record, len);
	size_t kept = copy_pairs(path, r, n, &pairs);
	pack_init(&p, &record);
	pack_map(&p, kept);
	buffer_append(&record, pairs.data, pairs.len);
	b = kept > 0 ? blob_new(record.data, record.len) : blob_new(data, len);
	buffer_done(&pairs);
	buffer_done(&record);
	return b;
}
