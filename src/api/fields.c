#include "api/fields.h"

#include <assert.h>
#include <errno.h>

#include "api/answer.h"
#include "base/text/printable.h"

#define FIELDS_MAX 32 /* one bit for each field that was seen */

int fields_read(struct reader *r, const struct field *fields, size_t n_fields)
{
	unsigned seen = 0;
	size_t n;
	int e = reader_map(r, &n);

	assert(n_fields <= FIELDS_MAX);
	for (; e >= 0 && n > 0; n--) {
		struct reader_text name = {0};
		size_t i = 0;

		/* A key that is not a string is skipped like an unknown one. */
		if (reader_str(r, &name) < 0) {
			e = reader_skip(r);
			if (e == 0)
				e = reader_skip(r);
			continue;
		}
		while (i < n_fields && !reader_text_is(name, fields[i].name))
			i++;
		if (i < n_fields && (seen & 1U << i))
			return -EBADMSG;
		if (i < n_fields)
			seen |= 1U << i;
		e = i < n_fields ? fields[i].read(r, fields[i].to) : reader_skip(r);
	}
	if (e < 0)
		return e;
	for (size_t i = 0; i < n_fields; i++)
		if (!fields[i].optional && !(seen & 1U << i))
			return -EBADMSG;
	return 0;
}

int field_bool(struct reader *r, void *to)
{
	return reader_bool(r, to);
}

int field_text(struct reader *r, void *to)
{
	const struct field_text *text = to;
	struct reader_text value;
	int e = reader_str(r, &value);

	if (e < 0)
		return e;
	printable(text->to, text->size, value.data, value.len);
	return 0;
}

int field_text_or_nil(struct reader *r, void *to)
{
	return reader_nil(r) == 0 ? 0 : field_text(r, to);
}

int field_token(struct reader *r, void *to)
{
	if (reader_nil(r) == 0)
		return 0;
	return reader_uint(r, to);
}

int field_uint(struct reader *r, void *to)
{
	return reader_uint(r, to);
}

int field_int(struct reader *r, void *to)
{
	return reader_int(r, to);
}

int field_lease(struct reader *r, void *to)
{
	uint64_t value;
	int e = reader_uint(r, &value);

	if (e < 0)
		return e;
	/*
	 * No session timeout is that long. A client that believed such a lease would lead for ever.
	 */
	if (value > (uint64_t)ANSWER_LEASE_MAX_MS)
		return -EBADMSG;
	*(int64_t *)to = (int64_t)value;
	return 0;
}

int field_task(struct reader *r, void *to)
{
	const char *const *task = to;
	struct reader_text value;
	int e = reader_str(r, &value);

	if (e < 0)
		return e;
	return reader_text_is(value, *task) ? 0 : -EBADMSG;
}
