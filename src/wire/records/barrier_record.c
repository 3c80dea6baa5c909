#include "wire/records/barrier_record.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "wire/keys.h"
#include "wire/pack.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- parsing -------------------------------------------------------------- */

/* What the map says, before its parts are held against each other. */
struct parsed {
	int64_t round, count;
	struct barrier_record last, before; /* n_ids and what goes with them */
};

/* [id, ...] of one more round. */
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
	struct parsed *p = record;
	struct reader empty = *r;
	size_t n;

	if (reader_array(&empty, &n) == 0 && n == 0) {
		*r = empty;
		return 0;
	}
	return parse_round(r, &p->last);
}

static int parse_before(struct reader *r, void *record)
{
	struct parsed *p = record;
	size_t n;
	int e = reader_array(r, &n);

	for (; e == 0 && n > 0; n--)
		e = parse_round(r, &p->before);
	return e;
}

static const struct key keys[] = {
	{.name = "round",
	 .kind = KEY_INT,
	 .offset = offsetof(struct parsed, round),
	 .min = 0,
	 .max = INT64_MAX - 1,
	 KEY_WHY("round", "not a number from 0 on")},
	{.name = "count",
	 .kind = KEY_INT,
	 .offset = offsetof(struct parsed, count),
	 .min = 0,
	 .max = BARRIER_COUNT_MAX,
	 KEY_WHY("count", "not a number from 0 to 1000")},
	{.name = "members",
	 .kind = KEY_CUSTOM,
	 .parse = parse_members,
	 KEY_WHY("members", "not an array of at most 1000 numbers")},
	{.name = "before",
	 .kind = KEY_CUSTOM,
	 .optional = true,
	 .parse = parse_before,
	 KEY_WHY("before", "not an array of arrays of numbers")},
};

/* Whether the parts of it fit each other. */
static const char *misfit(const struct parsed *p)
{
	size_t rounds = p->last.n_rounds + p->before.n_rounds;

	if ((size_t)p->count != p->last.n_ids)
		return "count: not that of the members";
	if ((p->round == 0) != (rounds == 0) || (p->last.n_rounds == 0 && rounds > 0))
		return "round: does not go with the members";
	if (p->round < (int64_t)rounds || rounds > BARRIER_ROUNDS_MAX ||
	    p->last.n_ids + p->before.n_ids > BARRIER_IDS_MAX)
		return "before: too many";
	return NULL;
}

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
	struct parsed p = {.round = 0};
	int e = keys_parse(data, len, RECORD_BARRIER_MAX, keys, COUNT(keys), &p, ret_why);

	if (e < 0)
		return e;
	*ret_why = misfit(&p);
	if (*ret_why)
		return -EBADMSG;
	memset(ret_barrier, 0, sizeof(*ret_barrier));
	ret_barrier->round = p.round;
	append(ret_barrier, &p.last);
	append(ret_barrier, &p.before);
	return 0;
}

/* --- packing -------------------------------------------------------------- */

static void pack_round(struct pack *p, const uint64_t *ids, size_t n)
{
	pack_array(p, n);
	for (size_t i = 0; i < n; i++)
		pack_uint(p, ids[i]);
}

int record_pack_barrier(struct buffer *out, const struct barrier_record *b)
{
	size_t before = out->len, last = b->n_rounds > 0 ? b->sizes[0] : 0, at = last;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 4);
	pack_kv_int(&p, "round", b->round);
	pack_kv_uint(&p, "count", last);
	pack_str(&p, "members");
	pack_round(&p, b->ids, last);
	pack_str(&p, "before");
	pack_array(&p, b->n_rounds > 0 ? b->n_rounds - 1 : 0);
	for (size_t i = 1; i < b->n_rounds; i++) {
		pack_round(&p, b->ids + at, b->sizes[i]);
		at += b->sizes[i];
	}
	if (!p.failed && out->len - before <= RECORD_BARRIER_MAX)
		return 0;
	buffer_truncate(out, before);
	return -ENOBUFS;
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
