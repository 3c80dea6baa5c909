/* Reading the roll: its head, and the records of new workers from its log and its chunks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/fleet/roll/roll_parts.h"

/* Takes what was read; what is bad is as if it were not there. */
static void take_head(struct roll *r, const struct store_reply *reply)
{
	const char *why = NULL;

	r->head.zxid = 0;
	r->sum = 0;
	r->version = reply->stat.version;
	r->blank = reply->code == STORE_NO_NODE || (reply->code == STORE_OK && reply->len == 0);
	if (reply->code != STORE_OK || reply->len == 0 ||
	    roll_parse_head(reply->data, reply->len, &r->bytes, &r->head, &r->sum, &why) == 0)
		return;
	r->head.zxid = 0;
	log_warning("roll refused", LOG_STR("why", why));
}

/* --- new nodes from chunks ------------------------------------------------ */

struct chunk_read {
	struct roll *roll;
	size_t number;
	int64_t sum;
};

static void on_entry(void *arg, const struct roll_entry *e)
{
	struct store_reply reply = roll_reply_of(e);

	if (e->record_len > 0)
		folder_supply(((struct roll *)arg)->folder, e->id, &reply);
}

static size_t unread(const struct roll *r)
{
	size_t n = 0;

	for (size_t k = 0; k < r->head.n_chunks; k++)
		n += !r->has_read[k];
	return n;
}

/* A record that is read alone is four times as big as in a chunk. */
static bool is_worth_chunks(const struct roll *r)
{
	return 4 * r->folder->n_wanted * r->head.n_chunks >= folder_names(r->folder) * unread(r);
}

/* Chunks that are missing, or newer than the head, come with the next one. */
static bool has_chunks(const struct roll *r)
{
	return unread(r) == 0 || !is_worth_chunks(r) ||
	       r->folder->n_wanted <= FOLDER_READS_MAX; /* which take as long as the next head */
}

/* The rest may be in the log of the next head, if this one is behind our list. */
static void supplied(struct roll *r)
{
	bool late = r->head.zxid < r->folder->zxid || !has_chunks(r);

	if (r->folder->held && roll_are_many(r) && roll_has_gap(r)) {
		roll_consider(r);
	} else if (r->folder->held && roll_are_many(r) && late && !r->waited) {
		roll_be_patient(r);
	} else {
		folder_release(r->folder);
		roll_consider(r);
	}
}

static void read_chunks(struct roll *r);

/* The head may have been written anew meanwhile: chunks that it replaced were not read. */
static void on_chunk(void *arg, const struct store_reply *reply)
{
	struct chunk_read *c = arg;
	struct roll *r = c->roll;
	const struct roll_changes changes = {.joined = on_entry, .arg = r};

	if (reply->code == STORE_OK &&
	    roll_parse_chunk(reply->data, reply->len, c->sum, &changes) == 0)
		r->has_read[c->number] = true;
	free(c);
	if (reply->code == STORE_ABANDONED || --r->chunk_reads > 0)
		return;
	if (r->chunks_of != r->sum && r->head.zxid > 0)
		read_chunks(r);
	if (r->chunk_reads == 0)
		supplied(r);
}

/* Each is read once for a list, and only where the head goes on from that and has most names. */
static void read_chunks(struct roll *r)
{
	size_t n = folder_names(r->folder);
	char name[16], path[STORE_PATH_MAX];

	r->chunks_of = r->sum;
	if (!is_worth_chunks(r) || 4 * (size_t)r->head.workers < 3 * n || roll_has_gap(r))
		return;
	for (size_t i = 0; i < r->head.n_chunks; i++) {
		if (r->head.chunks[i] == 0 || r->has_read[i])
			continue;
		struct chunk_read *c = mem_calloc(1, sizeof(*c));
		*c = (struct chunk_read){r, i, r->head.chunks[i]};
		snprintf(name, sizeof(name), "%u", (unsigned)i);
		roll_path(r, name, path);
		r->chunk_reads++;
		store_get(r->session->store, path, false, on_chunk, c);
	}
}

static void supply(struct roll *r)
{
	const struct roll_changes changes = {.joined = on_entry, .arg = r};

	if (r->head.zxid > 0)
		roll_each_change(&r->head, &changes);
	if (r->chunk_reads == 0 && r->head.zxid > 0)
		read_chunks(r);
	if (r->chunk_reads == 0)
		supplied(r);
}

static void on_awaited(void *arg, const struct store_reply *reply)
{
	if (reply->code == STORE_OK)
		roll_ask(arg);
}

static void await_head(struct roll *r)
{
	char path[STORE_PATH_MAX];

	roll_path(r, NULL, path);
	watches_exists(&r->session->watches, path, WATCH_FOLDER, r, on_awaited, r);
}

static void on_head(void *arg, const struct store_reply *reply)
{
	struct roll *r = arg;

	if (reply->code == STORE_ABANDONED)
		return;
	r->asked = false;
	if (reply->code == STORE_UNKNOWN)
		return; /* the next connection begins anew */
	r->there = reply->code == STORE_OK;
	take_head(r, reply);
	if (!r->there)
		await_head(r);
	if (r->again) {
		r->again = false;
		roll_ask(r);
	}
	if (r->folder->held || roll_are_many(r))
		supply(r);
	else
		roll_consider(r);
}

void roll_ask(struct roll *r)
{
	char path[STORE_PATH_MAX];

	if (!session_is_up(r->session))
		return;
	if (r->asked) {
		r->again = true;
		return;
	}
	r->asked = true;
	roll_path(r, NULL, path);
	watches_get(&r->session->watches, path, WATCH_FOLDER, r, on_head, r);
}
