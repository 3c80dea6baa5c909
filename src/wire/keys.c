#include "wire/keys.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/printable.h"

int keys_parse_text(struct reader *r, bool (*is_good)(const char *, size_t), char *text,
		    size_t size)
{
	struct reader_text t;
	int e = reader_str(r, &t);

	if (e < 0)
		return e;
	return is_good(t.data, t.len) ? reader_text_copy(t, text, size) : -EBADMSG;
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

static int parse_bytes(struct reader *r, const struct key *key, void *record)
{
	struct reader_text bytes;
	int e = reader_bin(r, &bytes);

	if (e < 0)
		return e;
	if (bytes.len > key->size)
		return -EBADMSG;
	*(const char **)((char *)record + key->offset) = bytes.data;
	*(size_t *)((char *)record + key->count) = bytes.len;
	return 0;
}

static int parse_word(struct reader *r, const struct key *key, char *text)
{
	const char *const *word = key->words;
	struct reader_text t;
	int e = reader_str(r, &t);

	if (e < 0)
		return e;
	while (*word && !reader_text_is(t, *word))
		word++;
	return *word ? reader_text_copy(t, text, key->size) : -EBADMSG;
}

static int parse_shown(struct reader *r, const struct key *key, char *text)
{
	struct reader_text t;
	int e = reader_str(r, &t);

	if (e == 0)
		printable(text, key->size, t.data, t.len);
	return e;
}

static int parse_value(struct reader *r, const struct key *key, void *record)
{
	void *field = (char *)record + key->offset;

	if (key->nil && reader_nil(r) == 0)
		return 0;
	switch (key->kind) {
	case KEY_TEXT:
		return key->words ? parse_word(r, key, field)
				  : keys_parse_text(r, key->is_good, field, key->size);
	case KEY_SHOWN: return parse_shown(r, key, field);
	case KEY_BORROWED: return reader_str(r, field);
	case KEY_INT: return keys_parse_int(r, key->min, key->max, field);
	case KEY_UINT: return reader_uint(r, field);
	case KEY_BOOL: return reader_bool(r, field);
	case KEY_BYTES: return parse_bytes(r, key, record);
	case KEY_CUSTOM: return key->parse(r, field);
	case KEY_STRING: break;
	}
	return -EBADMSG;
}

/* Parses the next key into its index; keys->n: the key is not known. */
static int parse_key(struct reader *r, const struct keys *keys, size_t *ret_index)
{
	struct reader_text name;
	size_t i = 0;

	if (reader_str(r, &name) < 0) {
		*ret_index = keys->n;
		return reader_skip(r);
	}
	while (i < keys->n && !reader_text_is(name, keys->keys[i].name))
		i++;
	*ret_index = i;
	return 0;
}

/* Opens data that are one map: gives a reader at its first key, and the number of pairs. */
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
	 * The data are whole from here on: a later failure means a wrong type, not missing bytes.
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

/*
 * Parses the pairs of a map, each key at most once; *ret_seen has one bit for each that is there.
 */
static int parse_pairs(struct reader *r, size_t n, const struct keys *keys, void *record,
		       uint32_t *ret_seen, const char **ret_why)
{
	uint32_t seen = 0;

	for (; n > 0; n--) {
		size_t i;

		if (parse_key(r, keys, &i) < 0 || (i == keys->n && reader_skip(r) < 0)) {
			*ret_why = "the record is not MessagePack";
			return -EBADMSG;
		}
		if (i == keys->n)
			continue;
		if (seen & UINT32_C(1) << i) {
			*ret_why = keys->keys[i].repeated;
			return -EBADMSG;
		}
		seen |= UINT32_C(1) << i;
		if (parse_value(r, &keys->keys[i], record) < 0) {
			*ret_why = keys->keys[i].wrong;
			return -EBADMSG;
		}
	}
	*ret_seen = seen;
	return 0;
}

/* Sets the values that stand for missing keys, where these are not 0. */
static void set_none(const struct keys *keys, void *record)
{
	for (size_t i = 0; i < keys->n; i++)
		if (keys->keys[i].none != 0)
			*(int64_t *)((char *)record + keys->keys[i].offset) = keys->keys[i].none;
}

int keys_parse(const void *data, size_t len, const struct keys *keys, void *record,
	       const char **ret_why)
{
	const char *why;
	uint32_t seen;
	struct reader r;
	size_t n;
	int e = open_map(data, len, keys->max, &r, &n, ret_why);

	assert(keys->n <= KEYS_MAX);
	set_none(keys, record);
	if (e == 0)
		e = parse_pairs(&r, n, keys, record, &seen, ret_why);
	if (e < 0)
		return e;
	for (size_t i = 0; i < keys->n; i++) {
		if (keys->keys[i].need == KEY_REQUIRED && !(seen & UINT32_C(1) << i)) {
			*ret_why = keys->keys[i].missing;
			return -EBADMSG;
		}
	}
	why = keys->misfit ? keys->misfit(record) : NULL;
	if (!why)
		return 0;
	*ret_why = why;
	return -EBADMSG;
}

int keys_take(struct reader *r, const struct keys *keys, void *record)
{
	const uint8_t *map = r->p;
	const char *why;
	int e = reader_skip(r);

	return e < 0 ? e : keys_parse(map, (size_t)(r->p - map), keys, record, &why);
}

int keys_read(const void *data, size_t len, const struct keys *keys, void *ret_record,
	      const char **ret_why)
{
	mem_auto char *record = mem_calloc(1, keys->size);
	int e = keys_parse(data, len, keys, record, ret_why);

	if (e == 0)
		memcpy(ret_record, record, keys->size);
	return e;
}

/* --- writing -------------------------------------------------------------- */

static bool is_there(const struct key *key, const void *record)
{
	const char *field = (const char *)record + key->offset;

	if (key->is_there)
		return key->is_there(record);
	switch (key->kind) {
	case KEY_TEXT:
	case KEY_SHOWN: return field[0] != '\0';
	case KEY_BORROWED: return ((const struct reader_text *)field)->len > 0;
	case KEY_STRING: return *(const char *const *)field != NULL;
	case KEY_INT: return *(const int64_t *)field > key->none;
	case KEY_UINT: return *(const uint64_t *)field > 0;
	case KEY_BOOL: return *(const bool *)field;
	case KEY_BYTES:
	case KEY_CUSTOM: return *(const size_t *)((const char *)record + key->count) > 0;
	}
	return false;
}

static bool is_written(const struct key *key, const void *record)
{
	return key->need != KEY_OPTIONAL || is_there(key, record);
}

static void pack_value(struct pack *p, const struct key *key, const void *record)
{
	const char *field = (const char *)record + key->offset;
	const struct reader_text *text;

	if (key->nil && !is_there(key, record)) {
		pack_nil(p);
		return;
	}
	switch (key->kind) {
	case KEY_TEXT:
	case KEY_SHOWN: pack_str(p, field); break;
	case KEY_STRING: pack_str(p, *(const char *const *)field); break;
	case KEY_BORROWED:
		text = (const void *)field;
		pack_strn(p, text->data, text->len);
		break;
	case KEY_INT: pack_int(p, *(const int64_t *)field); break;
	case KEY_UINT: pack_uint(p, *(const uint64_t *)field); break;
	case KEY_BOOL: pack_bool(p, *(const bool *)field); break;
	case KEY_BYTES:
		pack_bin(p, *(const char *const *)field,
			 *(const size_t *)((const char *)record + key->count));
		break;
	case KEY_CUSTOM: key->pack(p, record); break;
	}
}

void keys_pack(struct pack *p, const struct keys *keys, const void *record)
{
	size_t n = 0;

	for (size_t i = 0; i < keys->n; i++)
		n += is_written(&keys->keys[i], record);
	pack_map(p, n);
	for (size_t i = 0; i < keys->n; i++) {
		if (!is_written(&keys->keys[i], record))
			continue;
		pack_str(p, keys->keys[i].name);
		pack_value(p, &keys->keys[i], record);
	}
}

int keys_write(struct buffer *out, const struct keys *keys, const void *record)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	keys_pack(&p, keys, record);
	if (p.failed == 0 && out->len - before <= keys->max)
		return 0;
	buffer_truncate(out, before);
	return -ENOBUFS;
}
