#include "client/answer.h"

#include <errno.h>
#include <string.h>

#include "client/printable.h"

#define N_KEYS(keys) (sizeof(keys) / sizeof((keys)[0]))

/* One key of a map: how its value is read into `to`. */
struct key {
	const char *name;
	int (*read)(struct reader *r, void *to);
	void *to;
	bool optional;
};

struct text {
	char *to;
	size_t size;
};

/* The index of the key that comes next, or n_keys for one that is not known. */
static int take_key(struct reader *r, const struct key *keys, size_t n_keys, size_t *ret_index)
{
	struct reader_text name = {0};
	size_t i = 0;

	if (reader_str(r, &name) < 0) {
		*ret_index = n_keys; /* no string: one more that is not known */
		return reader_skip(r);
	}
	while (i < n_keys && !reader_text_is(name, keys[i].name))
		i++;
	*ret_index = i;
	return 0;
}

/* The maps have few keys, so one bit each says which came. */
static int read_map(struct reader *r, const struct key *keys, size_t n_keys)
{
	unsigned seen = 0;
	size_t n, i;
	int e = reader_map(r, &n);

	for (; e >= 0 && n > 0; n--) {
		e = take_key(r, keys, n_keys, &i);
		if (e < 0)
			return e;
		if (i < n_keys && (seen & 1U << i))
			return -EBADMSG;
		if (i < n_keys)
			seen |= 1U << i;
		e = i < n_keys ? keys[i].read(r, keys[i].to) : reader_skip(r);
	}
	if (e < 0)
		return e;
	for (i = 0; i < n_keys; i++)
		if (!keys[i].optional && !(seen & 1U << i))
			return -EBADMSG;
	return 0;
}

static int read_bool(struct reader *r, void *to)
{
	return reader_bool(r, to);
}

static int read_text(struct reader *r, void *to)
{
	const struct text *text = to;
	struct reader_text value;
	int e = reader_str(r, &value);

	if (e < 0)
		return e;
	printable(text->to, text->size, value.data, value.len);
	return 0;
}

static int read_token(struct reader *r, void *to)
{
	if (reader_nil(r) == 0)
		return 0;
	return reader_uint(r, to);
}

static int read_lease(struct reader *r, void *to)
{
	uint64_t value;
	int e = reader_uint(r, &value);

	if (e < 0)
		return e;
	/* No session lasts as long; believing it would be leading for ever. */
	if (value > (uint64_t)ANSWER_LEASE_MAX_MS)
		return -EBADMSG;
	*(int64_t *)to = (int64_t)value;
	return 0;
}

static int read_task(struct reader *r, void *to)
{
	const char *const *task = to;
	struct reader_text value;
	int e = reader_str(r, &value);

	if (e < 0)
		return e;
	return reader_text_is(value, *task) ? 0 : -EBADMSG;
}

static int read_led_by(struct reader *r, void *to)
{
	struct zkleader_answer *a = to;
	struct text id = {a->led_by_id, sizeof(a->led_by_id)};
	struct text ip = {a->led_by_ip, sizeof(a->led_by_ip)};
	struct text hostname = {a->led_by_hostname, sizeof(a->led_by_hostname)};
	struct text version = {a->led_by_version, sizeof(a->led_by_version)};
	const struct key keys[] = {
		{"id", read_text, &id, false},
		{"ip", read_text, &ip, false},
		{"hostname", read_text, &hostname, false},
		{"version", read_text, &version, false},
	};

	if (reader_nil(r) == 0)
		return 0;
	a->led = true;
	return read_map(r, keys, N_KEYS(keys));
}

int answer_parse(struct reader result, const char *task, int64_t sent_ms,
		 struct zkleader_answer *ret_answer)
{
	struct zkleader_answer a = {.leader = false};
	struct text state = {a.state, sizeof(a.state)}, why = {a.why, sizeof(a.why)};
	const struct key keys[] = {
		{"leader", read_bool, &a.leader, false},
		{"state", read_text, &state, false},
		{"lease_ms", read_lease, &a.lease_ms, false},
		{"token", read_token, &a.token, false},
		{"task", read_task, &task, true},
		{"led_by", read_led_by, &a, true},
		{"why", read_text, &why, true},
	};
	int e = read_map(&result, keys, N_KEYS(keys));

	if (e < 0)
		return e;
	if (result.p != result.end || (a.leader && a.token == 0))
		return -EBADMSG;
	a.valid_until = sent_ms + a.lease_ms;
	*ret_answer = a;
	return 0;
}
