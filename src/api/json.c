#include "api/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/printable.h"
#include "base/utf8.h"
#include "wire/reader.h"

#define NUMBER_SIZE 24
#define SMALL_INTS  256		   /* integers from 0 on that are shared: most counts */
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

struct conversion {
	struct reader r;
	size_t values;
};

static int convert(struct conversion *c, unsigned depth, json_t **ret);

/* A copy on the heap, in which bytes that are not valid UTF-8 are replaced. */
static char *valid_copy(struct reader_text text, size_t *ret_len)
{
	const size_t n_replacement = sizeof(REPLACEMENT) - 1;
	char *copy = mem_alloc(text.len * n_replacement + 1);
	size_t n = 0;

	for (size_t i = 0; i < text.len;) {
		uint32_t code;
		size_t len = utf8_decode(text.data + i, text.len - i, &code);

		memcpy(copy + n, len > 0 ? text.data + i : REPLACEMENT,
		       len > 0 ? len : n_replacement);
		n += len > 0 ? len : n_replacement;
		i += len > 0 ? len : 1;
	}
	*ret_len = n;
	return copy;
}

/* The text itself, or a copy of it that is valid UTF-8, for the caller to free. */
static struct reader_text valid_text(struct reader_text text, char **ret_copy)
{
	size_t len;

	if (utf8_is_valid(text.data, text.len))
		return text;
	*ret_copy = valid_copy(text, &len);
	return (struct reader_text){.data = *ret_copy, .len = len};
}

static int convert_text(struct conversion *c, json_t **ret)
{
	struct reader_text text;
	mem_auto char *copy = NULL;

	if (reader_str(&c->r, &text) < 0)
		return -EBADMSG;
	text = valid_text(text, &copy);
	*ret = json_stringn_nocheck(text.data, text.len);
	return 0;
}

/*
 * Nobody changes the values of an answer, so all small integers of the same value share one object.
 * These objects live for ever, so all of them are allocated at once: scattered among the values of
 * a big answer, they would keep its memory from being given back.
 */
static json_t *shared_int(int64_t value)
{
	static json_t *small[SMALL_INTS];

	if (value < 0 || value >= SMALL_INTS)
		return json_integer(value);
	if (!small[0])
		for (int i = 0; i < SMALL_INTS; i++)
			small[i] = json_integer(i);
	return json_incref(small[value]);
}

static int convert_int(struct conversion *c, json_t **ret)
{
	int64_t value;

	if (reader_int(&c->r, &value) < 0)
		return -EBADMSG;
	*ret = shared_int(value);
	return 0;
}

static int convert_uint(struct conversion *c, json_t **ret)
{
	char digits[NUMBER_SIZE];
	uint64_t value;

	if (reader_uint(&c->r, &value) < 0)
		return -EBADMSG;
	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	*ret = json_string_nocheck(digits);
	return 0;
}

static int convert_float(struct conversion *c, json_t **ret)
{
	double value;

	if (reader_float(&c->r, &value) < 0)
		return -EBADMSG;
	*ret = isfinite(value) ? json_real(value) : json_null();
	return 0;
}

static int convert_array(struct conversion *c, unsigned depth, json_t **ret)
{
	json_t *array = json_array();
	size_t n;
	int e = reader_array(&c->r, &n);

	for (; e == 0 && n > 0; n--) {
		json_t *element;

		e = convert(c, depth + 1, &element);
		if (e == 0)
			json_array_append_new(array, element);
	}
	if (e < 0)
		json_decref(array);
	else
		*ret = array;
	return e;
}

/*
 * Takes a key of a map. *ret_key is the text itself, or its valid copy in *ret_copy, or an integer
 * as text in `digits`.
 */
static int take_key(struct reader *r, char digits[NUMBER_SIZE], char **ret_copy,
		    struct reader_text *ret_key)
{
	struct reader_text text;
	int64_t number;

	if (reader_str(r, &text) == 0) {
		*ret_key = valid_text(text, ret_copy);
		return 0;
	}
	if (reader_int(r, &number) < 0)
		return -EBADMSG;
	ret_key->data = digits;
	ret_key->len = (size_t)snprintf(digits, NUMBER_SIZE, "%" PRId64, number);
	return 0;
}

static int convert_map(struct conversion *c, unsigned depth, json_t **ret)
{
	json_t *object = json_object();
	size_t n;
	int e = reader_map(&c->r, &n);

	for (; e == 0 && n > 0; n--) {
		mem_auto char *copy = NULL;
		char digits[NUMBER_SIZE];
		struct reader_text key;
		json_t *value;

		e = take_key(&c->r, digits, &copy, &key);
		if (e == 0)
			e = convert(c, depth + 1, &value);
		if (e == 0)
			json_object_setn_new_nocheck(object, key.data, key.len, value);
	}
	if (e < 0)
		json_decref(object);
	else
		*ret = object;
	return e;
}

static int convert_bool(struct conversion *c, json_t **ret)
{
	bool value;

	if (reader_bool(&c->r, &value) < 0)
		return -EBADMSG;
	*ret = json_boolean(value);
	return 0;
}

static int convert_null(struct conversion *c, json_t **ret)
{
	if (reader_skip(&c->r) < 0)
		return -EBADMSG;
	*ret = json_null();
	return 0;
}

static int convert(struct conversion *c, unsigned depth, json_t **ret)
{
	enum reader_type type;

	if (depth > READER_DEPTH_MAX || reader_peek(&c->r, &type) < 0)
		return -EBADMSG;
	if (++c->values > JSON_VALUES_MAX)
		return -E2BIG;
	switch (type) {
	case READER_BOOL: return convert_bool(c, ret);
	case READER_INT: return convert_int(c, ret);
	case READER_UINT: return convert_uint(c, ret);
	case READER_FLOAT: return convert_float(c, ret);
	case READER_STR: return convert_text(c, ret);
	case READER_ARRAY: return convert_array(c, depth, ret);
	case READER_MAP: return convert_map(c, depth, ret);
	case READER_NIL:
	case READER_BIN: /* the sidecar sends none, and JSON has no type for it */
	case READER_EXT: return convert_null(c, ret);
	}
	return -EBADMSG;
}

int json_from_msgpack(const void *data, size_t len, json_t **ret_json)
{
	struct conversion c = {.values = 0};
	json_t *json;
	int e;

	reader_init(&c.r, data, len);
	e = convert(&c, 0, &json);
	if (e < 0)
		return e;
	if (c.r.p != c.r.end) {
		json_decref(json);
		return -EBADMSG;
	}
	*ret_json = json;
	return 0;
}

const char *json_text(const json_t *object, const char *key, const char *fallback)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : fallback;
}

int64_t json_number(const json_t *object, const char *key, int64_t fallback)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : fallback;
}

const char *json_worker_name(const json_t *worker)
{
	const char *name = json_text(worker, "node", "");

	if (name[0] == '\0')
		name = json_text(worker, "hostname", "");
	return name[0] != '\0' ? name : json_text(worker, "id", "-");
}

bool json_flag(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

char *json_output(const json_t *run)
{
	const json_t *value = json_object_get(run, "output");
	const char *text = json_string_value(value);
	size_t left = json_string_length(value), n = 0;
	char *out = NULL;

	if (left == 0)
		return NULL;
	left -= text[left - 1] == '\n';
	for (bool more = true; more;) {
		const char *end = memchr(text, '\n', left);
		size_t len = end ? (size_t)(end - text) : left;
		mem_auto char *line = printable_dup(text, len);
		size_t shown = strlen(line);

		more = end != NULL;
		out = mem_resize(out, n + shown + 1, 1);
		memcpy(out + n, line, shown);
		n += shown;
		out[n++] = more ? '\n' : '\0';
		text += len + more;
		left -= len + more;
	}
	return out;
}
