#include "wire/records/roll_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "wire/records/fields.h"

#define SEALED_MAX (ROLL_PLAIN_MAX + 1024) /* bytes that cannot be compressed become more */
#define LEVEL	   1			   /* of zlib: the fastest */

struct sealed {
	int64_t sum;
	int64_t size; /* of what the bytes are once uncompressed */
	const char *bytes;
	size_t bytes_len;
};

static const struct key sealed_keys[] = {
	INT_KEY(sealed, sum, KEY_REQUIRED, 1, INT64_MAX, "not a sum"),
	INT_KEY(sealed, size, KEY_REQUIRED, 0, ROLL_PLAIN_MAX, "not from 0 to 520 KiB"),
	BYTES_KEY(sealed, bytes, KEY_REQUIRED, SEALED_MAX, "not at most 521 KiB"),
};
static const struct keys sealed = KEYS(sealed_keys, sealed, SEALED_MAX + 64);

static int64_t sum_of(const void *bytes, size_t len)
{
	int64_t sum = (int64_t)(hash_bytes(bytes, len, 0) & INT64_MAX);

	return sum > 0 ? sum : 1;
}

int64_t roll_seal(struct buffer *out, const void *bytes, size_t len)
{
	uLongf packed_len = compressBound(len);
	char *packed = mem_alloc(packed_len);
	bool good = len <= ROLL_PLAIN_MAX &&
		    compress2((Bytef *)packed, &packed_len, bytes, len, LEVEL) == Z_OK;
	struct sealed s = {.sum = sum_of(packed, packed_len),
			   .size = (int64_t)len,
			   .bytes = packed,
			   .bytes_len = packed_len};

	good = good && keys_write(out, &sealed, &s) == 0;
	free(packed);
	return good ? s.sum : 0;
}

static int unseal(const void *data, size_t len, struct buffer *plain, int64_t *ret_sum,
		  const char **ret_why)
{
	struct sealed s;
	int e = keys_read(data, len, &sealed, &s, ret_why);

	buffer_clear(plain);
	if (e < 0)
		return e;
	*ret_sum = s.sum;
	*ret_why = "sum: not that of the bytes";
	if (s.sum != sum_of(s.bytes, s.bytes_len))
		return -EBADMSG;
	*ret_why = "bytes: not what size says";
	uLongf size = (uLongf)s.size;
	if (buffer_reserve(plain, size) < size ||
	    uncompress(plain->data, &size, (const Bytef *)s.bytes, s.bytes_len) != Z_OK ||
	    size != (uLongf)s.size)
		return -EBADMSG;
	buffer_added(plain, size);
	return 0;
}

int64_t roll_set(int64_t set, const char *id)
{
	return set ^ sum_of(id, strlen(id));
}

/* --- entries and batches -------------------------------------------------- */

/* [id, session, ctime, record] */
void roll_pack_entry(struct buffer *out, const struct roll_entry *e)
{
	struct pack p;

	pack_init(&p, out);
	pack_array(&p, 4);
	pack_str(&p, e->id);
	pack_int(&p, e->session);
	pack_int(&p, e->ctime);
	pack_bin(&p, e->record, e->record_len);
}

static int parse_id(struct reader *r, char id[NAME_ID_MAX + 1])
{
	return keys_parse_text(r, name_is_id, id, NAME_ID_MAX + 1);
}

static int parse_entry(struct reader *r, struct roll_entry *ret_entry)
{
	struct reader_text record = {.data = NULL};
	size_t n;
	int e = reader_array(r, &n);

	if (e == 0 && n != 4)
		e = -EBADMSG;
	if (e == 0)
		e = parse_id(r, ret_entry->id);
	if (e == 0)
		e = reader_int(r, &ret_entry->session);
	if (e == 0)
		e = keys_parse_int(r, 0, TIME_MAX_MS, &ret_entry->ctime);
	if (e == 0)
		e = reader_bin(r, &record);
	ret_entry->record = record.data;
	ret_entry->record_len = record.len;
	return e == 0 && record.len > ROLL_RECORD_MAX ? -EBADMSG : e;
}

void roll_pack_id(struct buffer *out, const char *id)
{
	struct pack p;

	pack_init(&p, out);
	pack_str(&p, id);
}

/* [zxid, [entry…], [id…]] */
void roll_pack_batch(struct buffer *out, int64_t zxid, const struct buffer *joined, size_t n_joined,
		     const struct buffer *left, size_t n_left)
{
	struct pack p;

	pack_init(&p, out);
	pack_array(&p, 3);
	pack_int(&p, zxid);
	pack_array(&p, n_joined);
	pack_raw(&p, joined->data, joined->len);
	pack_array(&p, n_left);
	pack_raw(&p, left->data, left->len);
}

static int parse_batch(struct reader *r, const struct roll_changes *h, int64_t *ret_zxid)
{
	struct roll_entry entry;
	char id[NAME_ID_MAX + 1];
	bool wanted = false;
	size_t n = 0;
	int e = reader_array(r, &n);

	if (e == 0 && n != 3)
		e = -EBADMSG;
	if (e == 0)
		e = reader_int(r, ret_zxid);
	if (e == 0 && h)
		wanted = !h->batch || h->batch(h->arg, *ret_zxid);
	if (e == 0)
		e = reader_array(r, &n);
	for (size_t i = 0; e == 0 && i < n; i++) {
		e = parse_entry(r, &entry);
		if (e == 0 && wanted)
			h->joined(h->arg, &entry);
	}
	if (e == 0)
		e = reader_array(r, &n);
	for (size_t i = 0; e == 0 && i < n; i++) {
		e = parse_id(r, id);
		if (e == 0 && wanted && h->left)
			h->left(h->arg, id);
	}
	return e;
}

/* Whether the log's batches are good, and in their order up to the head's. */
static bool is_log(const struct roll_head *h)
{
	int64_t zxid = h->base, last;
	struct reader r;

	reader_init(&r, h->log, h->log_len);
	while (r.p < r.end) {
		if (parse_batch(&r, NULL, &last) != 0 || last <= zxid)
			return false;
		zxid = last;
	}
	return zxid == h->zxid;
}

void roll_each_change(const struct roll_head *h, const struct roll_changes *changes)
{
	struct reader r;
	int64_t zxid;

	reader_init(&r, h->log, h->log_len);
	while (r.p < r.end && parse_batch(&r, changes, &zxid) == 0)
		;
}

int64_t roll_log_zxid(const void *log, size_t len)
{
	int64_t zxid = 0;
	struct reader r;

	reader_init(&r, log, len);
	while (r.p < r.end && parse_batch(&r, NULL, &zxid) == 0)
		;
	return zxid;
}

size_t roll_log_newest(const void *log, size_t len, size_t most)
{
	struct reader r;

	reader_init(&r, log, len);
	while ((size_t)(r.end - r.p) > most && reader_skip(&r) == 0)
		;
	return (size_t)(r.end - r.p);
}

/* --- the head ------------------------------------------------------------- */

static int parse_chunks(struct reader *r, void *record)
{
	struct roll_head *h = record;
	size_t n;
	int e = reader_array(r, &n);

	if (e == 0 && n > ROLL_CHUNKS_MAX)
		e = -EBADMSG;
	for (h->n_chunks = 0; e == 0 && h->n_chunks < n; h->n_chunks++)
		e = keys_parse_int(r, 0, INT64_MAX, &h->chunks[h->n_chunks]);
	return e;
}

static void pack_chunks(struct pack *p, const void *record)
{
	const struct roll_head *h = record;

	pack_array(p, h->n_chunks);
	for (size_t i = 0; i < h->n_chunks; i++)
		pack_int(p, h->chunks[i]);
}

#define NOT_ZXID "not the number of a transaction"
static const struct key head_keys[] = {
	INT_KEY(roll_head, base, KEY_REQUIRED, 0, INT64_MAX, NOT_ZXID),
	INT_KEY(roll_head, zxid, KEY_REQUIRED, 1, INT64_MAX, NOT_ZXID),
	INT_KEY(roll_head, set, KEY_REQUIRED, 0, INT64_MAX, "not a sum"),
	INT_KEY(roll_head, workers, KEY_REQUIRED, 0, INT32_MAX, "not a number of workers"),
	TEXT_KEY(roll_head, keeper, KEY_OPTIONAL, name_is_id, NOT_ID),
	CUSTOM_KEY("chunks", KEY_REQUIRED, parse_chunks, pack_chunks,
		   "not an array of at most 128 sums"),
	BYTES_KEY(roll_head, log, KEY_ALWAYS, ROLL_LOG_MAX, "not at most 512 KiB"),
};

static const char *misfit(const void *record)
{
	return is_log(record) ? NULL : "log: no batches from base to zxid";
}

static const struct keys head = KEYS(head_keys, roll_head, ROLL_PLAIN_MAX, .misfit = misfit);

int64_t roll_pack_head(struct buffer *out, const struct roll_head *h)
{
	struct buffer bytes;
	int64_t sum = 0;

	buffer_init(&bytes, ROLL_PLAIN_MAX);
	if (keys_write(&bytes, &head, h) == 0)
		sum = roll_seal(out, bytes.data, bytes.len);
	buffer_done(&bytes);
	return sum;
}

int roll_parse_head(const void *data, size_t len, struct buffer *ret_plain,
		    struct roll_head *ret_head, int64_t *ret_sum, const char **ret_why)
{
	int e = unseal(data, len, ret_plain, ret_sum, ret_why);

	return e < 0 ? e : keys_read(ret_plain->data, ret_plain->len, &head, ret_head, ret_why);
}

/* --- chunks --------------------------------------------------------------- */

static int each_entry(const struct buffer *plain, const struct roll_changes *h)
{
	struct roll_entry entry;
	struct reader r;
	int e = 0;

	reader_init(&r, plain->data, plain->len);
	while (e == 0 && r.p < r.end) {
		e = parse_entry(&r, &entry);
		if (e == 0 && h)
			h->joined(h->arg, &entry);
	}
	return e;
}

int roll_parse_chunk(const void *data, size_t len, int64_t sum, const struct roll_changes *changes)
{
	struct buffer plain;
	const char *why;
	int64_t sealed_sum;

	buffer_init(&plain, ROLL_PLAIN_MAX);
	int e = unseal(data, len, &plain, &sealed_sum, &why);
	if (e == 0 && sealed_sum != sum)
		e = -EBADMSG;
	if (e == 0)
		e = each_entry(&plain, NULL);
	if (e == 0)
		e = each_entry(&plain, changes);
	buffer_done(&plain);
	return e;
}
