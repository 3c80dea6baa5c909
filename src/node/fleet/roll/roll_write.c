/* Writing the roll: one batch of changes after the other, and the chunks behind them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "node/fleet/roll/roll_parts.h"
#include "node/tree/paths.h"

#define REST_MS 2000 /* until chunks are written that no change has carried along */

static void log_of(const struct roll *r, struct roll_head *head, struct buffer *log)
{
	const struct roll_head *old = &r->head;

	head->zxid = r->zxid;
	snprintf(head->keeper, sizeof(head->keeper), "%s", r->self);
	head->set = roll_set_of(r);
	head->workers = (int64_t)folder_names(r->folder);
	if (r->collected == 0 || r->collected != old->zxid) {
		head->base = head->zxid;
		return;
	}
	size_t most = r->zxid == old->zxid && !r->all_chunks ? old->log_len : ROLL_LOG_KEEP;
	size_t keep = roll_log_newest(old->log, old->log_len, most), gone = old->log_len - keep;
	int64_t before = roll_log_zxid(old->log, gone);

	head->base = before > 0 ? before : old->base;
	buffer_append(log, old->log + gone, keep);
	if (r->zxid > old->zxid)
		roll_pack_batch(log, r->zxid, &r->pending.joined, r->pending.n_joined,
				&r->pending.left, r->pending.n_left);
	if (log->len > ROLL_LOG_MAX || roll_log_zxid(log->data, log->len) != r->zxid) {
		if (log->len > 0) { /* too much at once */
			buffer_clear(log);
			head->base = head->zxid;
		}
	}
	head->log = (const char *)log->data;
	head->log_len = log->len;
}

void keep_dirty(struct roll *r, size_t chunk)
{
	if (r->dirty[chunk] < UINT16_MAX)
		r->dirty[chunk]++;
}

/* The number of chunks; it is a power of two, and never becomes smaller. */
static size_t chunks_for(const struct roll *r)
{
	size_t n = r->head.zxid > 0 && r->head.n_chunks > 0 ? r->head.n_chunks : 1;

	while (n < ROLL_CHUNKS_MAX && r->fleet->n_members > n * ROLL_CHUNK_NODES)
		n *= 2;
	return n;
}

static void fill_chunk(const struct roll *r, size_t k, size_t n_chunks, struct buffer *out)
{
	struct buffer record;

	buffer_init(&record, ROLL_RECORD_MAX);
	for (size_t i = 0; i < r->fleet->n_members; i++) {
		const struct member *m = r->fleet->by_id[i];
		const char *id = m->worker->id;
		struct roll_entry e = {.session = m->session, .ctime = m->registered_at};

		if (hash_bytes(id, strlen(id), 0) % n_chunks != k)
			continue;
		buffer_clear(&record);
		if (!r->handlers.record(r->handlers.arg, m, &record) ||
		    out->len + record.len + NAME_ID_MAX + 64 > ROLL_BYTES_MAX)
			continue;
		memcpy(e.id, id, sizeof(e.id));
		e.record = (const char *)record.data;
		e.record_len = record.len;
		roll_pack_entry(out, &e);
	}
	buffer_done(&record);
}

/* Chunks that are missing are written as far as they fit; of the others one, or all. */
struct chunk_writes {
	struct store_op ops[ROLL_CHUNKS_MAX + 1];
	char paths[ROLL_CHUNKS_MAX][STORE_PATH_MAX];
	struct buffer bytes[ROLL_CHUNKS_MAX];
	size_t n, len;
};

static void write_chunk(struct roll *r, struct chunk_writes *w, struct roll_head *head, size_t k)
{
	struct buffer entries, *out = &w->bytes[w->n];
	char name[16];

	buffer_init(&entries, ROLL_BYTES_MAX);
	buffer_init(out, 2 * ROLL_BYTES_MAX);
	fill_chunk(r, k, head->n_chunks, &entries);
	head->chunks[k] = roll_seal(out, entries.data, entries.len);
	buffer_done(&entries);
	snprintf(name, sizeof(name), "%u", (unsigned)k);
	roll_path(r, name, w->paths[w->n]);
	w->ops[w->n] = (struct store_op){.type = k < r->n_made ? STORE_OP_SET : STORE_OP_CREATE,
					 .path = w->paths[w->n],
					 .data = out->data,
					 .len = out->len,
					 .version = -1};
	w->n++;
	w->len += out->len;
	r->sent.chunks[k] = true;
	r->dirty[k] = 0;
}

static void write_chunks(struct roll *r, struct chunk_writes *w, struct roll_head *head)
{
	bool again = false;

	head->n_chunks = chunks_for(r);
	memset(r->sent.chunks, 0, sizeof(r->sent.chunks));
	for (size_t k = 0; head->n_chunks == r->head.n_chunks && k < head->n_chunks; k++)
		head->chunks[k] = r->head.chunks[k];
	for (size_t k = 0; k < head->n_chunks && w->len < ROLL_AT_ONCE; k++)
		if (head->chunks[k] == 0 || r->dirty[k] > (r->all_chunks ? 0 : ROLL_CHUNK_LACKS))
			write_chunk(r, w, head, k);
	for (size_t i = 0; w->n == 0 && i < head->n_chunks && !again; i++) {
		size_t k = (r->next_chunk + i) % head->n_chunks;
		again = r->dirty[k] > 0;
		if (again) {
			write_chunk(r, w, head, k);
			r->next_chunk = k + 1;
		}
	}
}

static void on_published(void *arg, const struct store_reply *reply);

static void send(struct roll *r, struct chunk_writes *w, const struct roll_head *head)
{
	char path[STORE_PATH_MAX];

	buffer_clear(&r->sent.bytes);
	r->sent.sum = roll_pack_head(&r->sent.bytes, head);
	r->sent.version = r->version;
	r->sent.joined = r->pending.joined.len;
	r->sent.left = r->pending.left.len;
	r->sent.n_joined = r->pending.n_joined;
	r->sent.n_left = r->pending.n_left;
	r->busy = true;
	r->sent_ms = host_now_ms(r->session->host);
	r->all_chunks = false;
	roll_path(r, NULL, path);
	w->ops[w->n] = (struct store_op){.type = STORE_OP_SET,
					 .path = path,
					 .data = r->sent.bytes.data,
					 .len = r->sent.bytes.len,
					 .version = r->version};
	store_multi(r->session->store, w->ops, w->n + 1, on_published, r);
}

/* The fleet is small again: the roll says nothing any more, and all list the folder. */
static void retire(struct roll *r)
{
	char path[STORE_PATH_MAX], keeper[STORE_PATH_MAX];
	struct store_op ops[2] = {{.type = STORE_OP_SET, .path = path, .version = -1},
				  {.type = STORE_OP_DELETE, .path = keeper, .version = -1}};

	log_info("the roll is not kept any more", LOG_INT("workers", (int64_t)r->folder->n));
	roll_path(r, NULL, path);
	roll_path(r, ROLL_KEEPER, keeper);
	r->busy = true;
	r->sent.sum = 0;
	store_multi(r->session->store, ops, 2, on_published, r);
}

void keep_publish(struct roll *r)
{
	struct roll_head head = {.base = 0};
	struct buffer log;

	if (r->state != ROLL_KEEPING || r->busy || r->asked || !r->chunks_known ||
	    !folder_settled(r->folder) || r->zxid == 0 || r->own)
		return; /* it will be called again */
	if (r->folder->n < r->from - r->from / 4) {
		retire(r);
		return;
	}
	/* All read what is written: where many come at once, they read it seldom. */
	int64_t rest = r->sent_ms + ROLL_BATCH_MS - host_now_ms(r->session->host);
	if (rest > 0) {
		r->resting = true;
		keep_turn(r, rest);
		return;
	}
	struct chunk_writes *w = mem_calloc(1, sizeof(*w));
	buffer_init(&log, 4 * ROLL_LOG_MAX);
	log_of(r, &head, &log);
	bool changed = r->head.zxid == 0 || head.zxid != r->head.zxid || head.base != r->head.base;
	if (changed || r->all_chunks || roll_lacks_chunks(r))
		write_chunks(r, w, &head);
	if (changed || w->n > 0)
		send(r, w, &head);
	for (size_t i = 0; i < w->n; i++)
		buffer_done(&w->bytes[i]);
	buffer_done(&log);
	free(w);
}

/* The head is now as it was sent. */
static void landed(struct roll *r)
{
	const char *why;

	if (roll_parse_head(r->sent.bytes.data, r->sent.bytes.len, &r->bytes, &r->head, &r->sum,
			    &why) != 0)
		r->head.zxid = 0;
	r->version = r->sent.version + 1;
	r->written = r->sent.sum;
	r->sent.sum = 0;
	r->collected = r->head.zxid;
	buffer_consume(&r->pending.joined, r->sent.joined);
	buffer_consume(&r->pending.left, r->sent.left);
	r->pending.n_joined -= r->sent.n_joined;
	r->pending.n_left -= r->sent.n_left;
	bool more = false;
	for (size_t k = 0; k < r->head.n_chunks; k++) {
		if (r->sent.chunks[k] && k == r->n_made)
			r->n_made++;
		more |= r->dirty[k] > 0;
	}
	if (more || roll_lacks_chunks(r))
		keep_turn(r, roll_lacks_chunks(r) ? 0 : REST_MS);
}

/* Nothing of what was sent was written. */
static void refused(struct roll *r)
{
	r->sent.sum = 0;
	for (size_t k = 0; k < ROLL_CHUNKS_MAX; k++)
		if (r->sent.chunks[k])
			keep_dirty(r, k);
}

static void on_published(void *arg, const struct store_reply *reply)
{
	struct roll *r = arg;

	if (store_is_lost(reply->code))
		return;
	r->busy = false;
	if (r->state != ROLL_KEEPING)
		return;
	if (reply->code == STORE_OK && r->sent.sum != 0) {
		landed(r);
		keep_publish(r);
	} else if (reply->code == STORE_OK) {
		r->state = ROLL_OFF;
		keep_forget(r);
		(void)folder_refresh(r->folder); /* it may have grown meanwhile */
	} else {
		refused(r);
		r->chunks_known = false; /* somebody has changed or deleted something */
		r->watched = false;
		keep_watch(r);
		keep_turn(r, ROLL_AGAIN_MS);
	}
}

void keep_heard(struct roll *r)
{
	if (r->sent.sum != 0 && !r->busy) { /* the outcome was unknown */
		if (r->sum == r->sent.sum)
			landed(r);
		else
			refused(r);
	}
	if (r->state != ROLL_KEEPING || r->busy)
		return;
	if (r->written != 0 && r->sum != r->written)
		r->collected = 0; /* somebody else has written it */
	keep_publish(r);
}
