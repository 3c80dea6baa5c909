#include "wire/records/barrier_record.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "wire/records/fields.h"

/* The keys of the map. They are checked against each other once all of them are read. */
struct map {
	int64_t round, count;
	struct barrier_record *last, *before; /* written, one record is both */
};

/* Parses [id, ...], the members of one more round. */
static int parse_round(struct reader *r, struct barrier_record *b)
{
	size_t n;
	int e = reader_array(r, &n);

	if (e == 0 && (n == 0 || n > BARRIER_COUNT_MAX || n > BARRIER_IDS_MAX - b->n_ids ||
		       b->n_rounds == BARRIER_ROUNDS_MAX))
		e = -EBADMSG;
	if (e == 0)
		b->sizes[b->n_rounds++] = n;
	for (size_t i = 0; e == 0 && i < n; i++)
		e = reader_uint(r, &b->ids[b->n_ids++]);
	return e;
}

static int parse_members(struct reader *r, void *record)
{
	struct map *m = record;
	struct reader empty = *r;
	size_t n;

	if (reader_array(&empty, &n) == 0 && n == 0) {
		*r = empty;
		return 0;
	}
	return parse_round(r, m->last);
}

static int parse_before(struct reader *r, void *record)
{
	struct map *m = record;
	size_t n;
	int e = reader_array(r, &n);

	for (; e == 0 && n > 0; n--)
		e = parse_round(r, m->before);
	return e;
}

static void pack_round(struct pack *p, const uint64_t *ids, size_t n)
{
	pack_array(p, n);
	for (size_t i = 0; i < n; i++)
		pack_uint(p, ids[i]);
}

static void pack_members(struct pack *p, const void *record)
{
	const struct map *m = record;

	pack_round(p, m->last->ids, (size_t)m->count);
}

static void pack_before(struct pack *p, const void *record)
{
	const struct map *m = record;
	size_t at = (size_t)m->count;

	pack_array(p, m->before->n_rounds > 0 ? m->before->n_rounds - 1 : 0);
	for (size_t i = 1; i < m->before->n_rounds; i++) {
		pack_round(p, m->before->ids + at, m->before->sizes[i]);
		at += m->before->sizes[i];
	}
}

static const struct key map_keys[] = {
	INT_KEY(map, round, KEY_REQUIRED, 0, INT64_MAX - 1, "not a number from 0 on"),
	INT_KEY(map, count, KEY_REQUIRED, 0, BARRIER_COUNT_MAX, "not a number from 0 to 1000"),
	CUSTOM_KEY("members", KEY_REQUIRED, parse_members, pack_members,
		   "not an array of at most 1000 numbers"),
	CUSTOM_KEY("before", KEY_ALWAYS, parse_before, pack_before,
		   "not an array of arrays of numbers"),
};

static const char *misfit(const void *record)
{
	const struct map *m = record;
	size_t rounds = m->last->n_rounds + m->before->n_rounds;

	if ((size_t)m->count != m->last->n_ids)
		return "count: not that of the members";
	if ((m->round == 0) != (rounds == 0) || (m->last->n_rounds == 0 && rounds > 0))
		return "round: does not go with the members";
	if (m->round < (int64_t)rounds || rounds > BARRIER_ROUNDS_MAX ||
	    m->last->n_ids + m->before->n_ids > BARRIER_IDS_MAX)
		return "before: too many";
	return NULL;
}

static const struct keys map = KEYS(map_keys, map, RECORD_BARRIER_MAX, .misfit = misfit);

static void append(struct barrier_record *b, const struct barrier_record *more)
{
	memcpy(b->sizes + b->n_rounds, more->sizes, more->n_rounds * sizeof(b->sizes[0]));
	memcpy(b->ids + b->n_ids, more->ids, more->n_ids * sizeof(b->ids[0]));
	b->n_rounds += more->n_rounds;
	b->n_ids += more->n_ids;
}

int record_parse_barrier(const void *data, size_t len, struct barrier_record *ret_barrier,
			 const char **ret_why)
{
	struct barrier_record last = {.round = 0}, before = {.round = 0};
	struct map m = {.last = &last, .before = &before};
	int e = keys_parse(data, len, &map, &m, ret_why);

	if (e < 0)
		return e;
	memset(ret_barrier, 0, sizeof(*ret_barrier));
	ret_barrier->round = m.round;
	append(ret_barrier, &last);
	append(ret_barrier, &before);
	return 0;
}

int record_pack_barrier(struct buffer *out, const struct barrier_record *b)
{
	struct barrier_record *whole = (struct barrier_record *)(uintptr_t)b;
	struct map m = {.round = b->round,
			.count = b->n_rounds > 0 ? (int64_t)b->sizes[0] : 0,
			.last = whole,
			.before = whole};

	return keys_write(out, &map, &m);
}

void barrier_record_open(struct barrier_record *b, const uint64_t *ids, size_t n)
{
	assert(n > 0 && n <= BARRIER_COUNT_MAX);
	while (b->n_rounds > 0 &&
	       (b->n_rounds == BARRIER_ROUNDS_MAX || b->n_ids + n > BARRIER_IDS_MAX))
		b->n_ids -= b->sizes[--b->n_rounds];
	memmove(b->sizes + 1, b->sizes, b->n_rounds * sizeof(b->sizes[0]));
	memmove(b->ids + n, b->ids, b->n_ids * sizeof(b->ids[0]));
	memcpy(b->ids, ids, n * sizeof(b->ids[0]));
	b->sizes[0] = n;
	b->n_rounds++;
	b->n_ids += n;
	b->round++;
}
