/*
 * The head and the chunks of the roll. The first byte says what the others are: bytes that are sealed already, or that
 * are sealed here, as no input would hit a sum.
 */
#include "fuzz.h"

#include <errno.h>

#include "wire/records/roll_record.h"

#define TIME_MAX_MS INT64_C(253402300799999)

enum form {
	FORM_RAW,   /* sealed already */
	FORM_HEAD,  /* a head's map */
	FORM_LOG,   /* batches, the last of which gives the head's zxid */
	FORM_CHUNK, /* entries */
	FORMS
};

struct tally {
	size_t batches, joined, left;
	int64_t zxid;
	struct buffer entries;
};

static bool on_batch(void *arg, int64_t zxid)
{
	struct tally *t = arg;

	FUZZ_CHECK(zxid > t->zxid);
	t->zxid = zxid;
	t->batches++;
	return zxid % 2 == 0;
}

static void check_id(const char *id)
{
	size_t len = strnlen(id, NAME_ID_MAX + 1);

	FUZZ_CHECK(len <= NAME_ID_MAX && name_is_id(id, len));
}

static void on_joined(void *arg, const struct roll_entry *e)
{
	struct tally *t = arg;

	check_id(e->id);
	FUZZ_CHECK(e->ctime >= 0 && e->ctime <= TIME_MAX_MS);
	FUZZ_CHECK(e->record_len <= ROLL_RECORD_MAX);
	FUZZ_CHECK(t->batches == 0 || t->zxid % 2 == 0);
	roll_pack_entry(&t->entries, e);
	t->joined++;
}

static void on_left(void *arg, const char *id)
{
	struct tally *t = arg;

	check_id(id);
	FUZZ_CHECK(t->zxid % 2 == 0);
	t->left++;
}

static void tally_init(struct tally *t)
{
	*t = (struct tally){.zxid = -1};
	buffer_init(&t->entries, 4 * ROLL_BYTES_MAX);
}

/* Cut at any length, a log's rest is whole batches. */
static void check_log(const struct roll_head *h, struct feed *f)
{
	size_t most = feed_below(f, h->log_len + 2);
	size_t kept = roll_log_newest(h->log, h->log_len, most), gone = h->log_len - kept;
	int64_t before = roll_log_zxid(h->log, gone);
	struct roll_head rest = *h, again;
	struct buffer out, plain;
	const char *why;
	int64_t sum;

	FUZZ_CHECK(kept <= most && roll_log_zxid(h->log, h->log_len) == (h->log_len ? h->zxid : 0));
	rest.base = before > 0 ? before : h->base;
	rest.log = kept ? h->log + gone : NULL;
	rest.log_len = kept;
	if (kept == 0 && h->log_len > 0)
		FUZZ_CHECK(before == h->zxid);
	buffer_init(&out, 2 * ROLL_LOG_MAX);
	buffer_init(&plain, ROLL_PLAIN_MAX);
	FUZZ_CHECK(roll_pack_head(&out, &rest) > 0);
	FUZZ_CHECK(roll_parse_head(out.data, out.len, &plain, &again, &sum, &why) == 0);
	FUZZ_CHECK(again.zxid == h->zxid && again.log_len == kept);
	buffer_done(&out);
	buffer_done(&plain);
}

static void check_head(const struct roll_head *h, int64_t sum, struct feed *f)
{
	const struct roll_changes changes = {on_batch, on_joined, on_left, NULL};
	struct roll_changes with = changes;
	struct roll_head again;
	struct buffer out, plain;
	struct tally t;
	const char *why;
	int64_t same;

	FUZZ_CHECK(h->base >= 0 && h->zxid >= 1 && h->base <= h->zxid && sum > 0);
	FUZZ_CHECK(h->n_chunks <= ROLL_CHUNKS_MAX && h->log_len <= ROLL_LOG_MAX);
	for (size_t i = 0; i < h->n_chunks; i++)
		FUZZ_CHECK(h->chunks[i] >= 0);
	tally_init(&t);
	t.zxid = h->base;
	with.arg = &t;
	roll_each_change(h, &with);
	FUZZ_CHECK(t.zxid == h->zxid);
	buffer_done(&t.entries);
	buffer_init(&out, 2 * ROLL_LOG_MAX);
	buffer_init(&plain, ROLL_PLAIN_MAX);
	FUZZ_CHECK(roll_pack_head(&out, h) > 0);
	FUZZ_CHECK(roll_parse_head(out.data, out.len, &plain, &again, &same, &why) == 0);
	FUZZ_CHECK(again.base == h->base && again.zxid == h->zxid &&
		   again.n_chunks == h->n_chunks && again.log_len == h->log_len);
	/* Another byte, or one less, and it is none. */
	size_t at = feed_below(f, out.len);
	out.data[at] ^= (uint8_t)(1U << feed_below(f, 8));
	FUZZ_CHECK(roll_parse_head(out.data, out.len, &plain, &again, &same, &why) == -EBADMSG);
	FUZZ_CHECK(roll_parse_head(out.data, out.len - 1, &plain, &again, &same, &why) == -EBADMSG);
	buffer_done(&out);
	buffer_done(&plain);
	check_log(h, f);
}

static void try_head(const uint8_t *data, size_t size, struct feed *f)
{
	struct buffer plain;
	struct roll_head h;
	const char *why = NULL;
	int64_t sum = -1;
	int e;

	memset(&h, 0xa5, sizeof(h));
	buffer_init(&plain, ROLL_PLAIN_MAX);
	e = roll_parse_head(data, size, &plain, &h, &sum, &why);
	if (e == 0)
		check_head(&h, sum, f);
	buffer_done(&plain);
	if (e == 0)
		return;
	FUZZ_CHECK(e == -EBADMSG && why && why[0] != '\0' && fuzz_is_line(why, strlen(why)));
	FUZZ_CHECK((uint8_t) * (const char *)&h.n_chunks == 0xa5); /* untouched */
}

/* Entries that are good are those that were packed; of a chunk that is bad nothing is said. */
static void try_chunk(const uint8_t *data, size_t size, int64_t sum)
{
	struct tally t, again;
	struct roll_changes changes = {on_batch, on_joined, on_left, &t};
	struct buffer out;

	tally_init(&t);
	tally_init(&again);
	buffer_init(&out, 4 * ROLL_BYTES_MAX);
	if (roll_parse_chunk(data, size, sum, &changes) == 0) {
		int64_t sealed = roll_seal(&out, t.entries.data, t.entries.len);
		FUZZ_CHECK(sealed > 0 && t.batches == 0 && t.left == 0);
		changes.arg = &again;
		FUZZ_CHECK(roll_parse_chunk(out.data, out.len, sealed, &changes) == 0);
		FUZZ_CHECK(again.joined == t.joined && again.entries.len == t.entries.len);
		FUZZ_CHECK(roll_parse_chunk(out.data, out.len, sealed ^ 1, &changes) == -EBADMSG);
	} else {
		FUZZ_CHECK(t.joined == 0);
	}
	buffer_done(&out);
	buffer_done(&t.entries);
	buffer_done(&again.entries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = {data, size};
	enum form form = (enum form)feed_below(&f, FORMS);
	struct feed choices = f; /* of what is damaged: the first bytes say it as well */
	struct roll_head head = {.base = 0};
	struct buffer sealed;
	int64_t sum = 1;

	if (form == FORM_RAW) {
		try_head(f.p, f.left, &choices);
		try_chunk(f.p, f.left, feed_byte(&choices));
		return 0;
	}
	buffer_init(&sealed, 4 * ROLL_BYTES_MAX);
	head.log = (const char *)f.p;
	head.log_len = f.left;
	head.zxid = roll_log_zxid(head.log, head.log_len);
	sum = form == FORM_LOG ? roll_pack_head(&sealed, &head) : roll_seal(&sealed, f.p, f.left);
	if (sum > 0 && form == FORM_CHUNK)
		try_chunk(sealed.data, sealed.len, sum);
	else if (sum > 0)
		try_head(sealed.data, sealed.len, &choices);
	buffer_done(&sealed);
	return 0;
}
