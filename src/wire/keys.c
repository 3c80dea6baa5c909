#include "wire/keys.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static int parse_text(struct reader *r, const struct key *key, char *text)
{
	struct reader_text t;
	int e = reader_str(r, &t);

	if (e < 0)
		return e;
	if (!key->is_good(t.data, t.len))
		return -EBADMSG;
	return reader_text_copy(t, text, key->size);
}

int keys_parse_int(struct reader *r, int64_t min, int64_t max, int64_t *ret_value)
{
	int64_t value;
	int e = reader_int(r, &value);

	if (e < 0)
		return e;
	if (value < min || value > max)
		return -EBADMSG;
	*ret_value = value;
	return 0;
}

static int parse_value(struct reader *r, const struct key *key, void *record)
{
	void *field = (char *)record + key->offset;

	switch (key->kind) {
	case KEY_TEXT: return parse_text(r, key, field);
	case KEY_INT: return keys_parse_int(r, key->min, key->max, field);
	case KEY_BOOL: return reader_bool(r, field);
	case KEY_CUSTOM: return key->parse(r, record);
	}
	return -EBADMSG;
}

/* The index of the next key, n_keys for one that is not known. */
static int parse_key(struct reader *r, const struct key *keys, size_t n_keys, size_t *ret_index)
{
	struct reader_text name;
	size_t i = 0;

	if (reader_str(r, &name) < 0) {
		*ret_index = n_keys;
		return reader_skip(r);
	}
	while (i < n_keys && !reader_text_is(name, keys[i].name))
		i++;
	*ret_index = i;
	return 0;
}

/* The whole data is one map: its reader at the first key, and the number of pairs. */
static int open_map(const void *data, size_t len, size_t max, struct reader *r, size_t *ret_n,
		    const char **ret_why)
{
	const char *why = NULL;
	size_t size = 0;
	int e;

	if (len == 0)
		why = "the record is empty";
	else if (len > max)
		why = "the record is too long";
	if (why) {
		*ret_why = why;
		return -EBADMSG;
	}
	reader_init(r, data, len);
	/*
	 * Known to be whole from here on, so what fails later is of the wrong kind and not cut off.
	 */
	e = reader_measure(data, len, SIZE_MAX, &size);
	if (e == 0)
		why = "the record ends too early";
	else if (e == -EMSGSIZE)
		why = "the record is nested too deeply";
	else if (e < 0)
		why = "the record is not MessagePack";
	else if (size != len)
		why = "bytes follow the record";
	else if (reader_map(r, ret_n) < 0)
		why = "the record is not a map";
	if (!why)
		return 0;
	*ret_why = why;
	return -EBADMSG;
}

int keys_parse(const void *data, size_t len, size_t max, const struct key *keys, size_t n_keys,
	       void *record, const char **ret_why)
{
	uint32_t seen = 0;
	struct reader r;
	size_t n;
	int e = open_map(data, len, max, &r, &n, ret_why);

	assert(n_keys <= KEYS_MAX);
	if (e < 0)
		return e;
	for (; n > 0; n--) {
		size_t i;

		if (parse_key(&r, keys, n_keys, &i) < 0 || (i == n_keys && reader_skip(&r) < 0)) {
			*ret_why = "the record is not MessagePack";
			return -EBADMSG;
		}
		if (i == n_keys)
			continue;
		if (seen & UINT32_C(1) << i) {
			*ret_why = keys[i].repeated;
			return -EBADMSG;
		}
		seen |= UINT32_C(1) << i;
		if (parse_value(&r, &keys[i], record) < 0) {
			*ret_why = keys[i].wrong;
			return -EBADMSG;
		}
	}
	for (size_t i = 0; i < n_keys; i++) {
		if (!keys[i].optional && !(seen & UINT32_C(1) << i)) {
			*ret_why = keys[i].missing;
			return -EBADMSG;
		}
	}
	return 0;
}
