/*
 * Decides which records of one folder are deleted. A job that waits is known by its pointer, so its
 * record is not read. For the others the time of the last write tells whether they may go. That
 * time says nothing about a record that was never written to again, as in data copied from another
 * ensemble. A record that may go is read, and deleted together with its pointer and its key;
 * several share a transaction.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/queue/lead/queue_prune.h"
#include "node/tree/paths.h"

static bool item_id(const struct prune_item *item, struct job_id *ret_id)
{
	const struct prune *p = item->prune;
	char name[JOB_MINUTE_SIZE + sizeof(item->uuid)];

	job_minute_format(p->minutes[p->at].minute, name);
	size_t used = strlen(name);
	snprintf(name + used, sizeof(name) - used, ".%s", item->uuid);
	snprintf(ret_id->queue, sizeof(ret_id->queue), "%s", lead_name(p->lead));
	return job_name_parse(name, strlen(name), ret_id);
}

/* The record stays until then, and until early_ms if there are too many. */
static void keep(struct prune *p, int64_t again_ms, int64_t early_ms)
{
	p->kept++;
	if (again_ms < p->again_ms)
		p->again_ms = again_ms;
	if (early_ms < p->early_ms)
		p->early_ms = early_ms;
}

/* The job has not ended: its record stays at least as long as if it ended now. */
static void keep_waiting(struct prune *p)
{
	int64_t now = prune_server_ms(p);
	int64_t keep_ms = prune_kept_ms(p, false), dead_ms = prune_kept_ms(p, true);

	keep(p, now + (keep_ms < dead_ms ? keep_ms : dead_ms), now + prune_least_ms());
}

/* Whether what ended then may go; else it is kept. */
static bool may_go(struct prune *p, int64_t ended_ms, bool letter)
{
	int64_t now = prune_server_ms(p), at_ms = ended_ms + prune_kept_ms(p, letter),
		early_ms = ended_ms + prune_least_ms();

	if (at_ms <= now || (p->surplus > 0 && early_ms <= now))
		return true;
	keep(p, at_ms, early_ms);
	return false;
}

/* --- together --------------------------------------------------------------- */

/* After a failure the other records of the batch are retried in a new one. */
static void on_deleted(void *arg, const struct store_reply *reply)
{
	struct prune_batch *b = arg;
	struct prune *p = b->prune;
	int op = reply->failed_op - LEAD_CHECKS;
	const struct prune_item *guilty = NULL;

	if (lead_took(p->lead, reply))
		return; /* lead_took() has freed it */
	LIST_REMOVE(b, link);
	p->n_batches--;
	if (reply->code != STORE_OK && op >= 0 && (size_t)op < sizeof(b->of_op) / sizeof(*b->of_op))
		guilty = b->of_op[op];
	for (size_t i = 0; i < b->n && reply->code != STORE_OK; i++) {
		if (guilty && b->items[i] != guilty)
			p->ready[p->n_ready++] = b->items[i];
		else /* the record has changed: the next look tells */
			keep(p, prune_server_ms(p), prune_server_ms(p));
	}
	free(b);
}

static void delete_batch(struct prune *p)
{
	struct prune_batch *b = mem_calloc(1, sizeof(*b));
	char paths[LEAD_BATCH][2][STORE_PATH_MAX], queue[STORE_PATH_MAX], name[JOB_NAME_MAX + 1];
	struct store_op ops[LEAD_CHECKS + 3 * LEAD_BATCH];
	size_t n = LEAD_CHECKS;
	struct job_id id;

	b->prune = p;
	lead_checks(p->lead, queue, ops);
	while (b->n < LEAD_BATCH && p->n_ready > 0) {
		struct prune_item *item = b->items[b->n] = p->ready[--p->n_ready];
		(void)item_id(item, &id);
		job_name_format(&id, name);
		path_of_job(lead_paths(p->lead), &id, paths[b->n][0]);
		path_of_queue(lead_paths(p->lead), id.queue, "dead", name, paths[b->n][1]);
		const struct store_op of_item[] = {
			{.type = STORE_OP_DELETE, .path = paths[b->n][0], .version = item->version},
			{.type = STORE_OP_DELETE, .path = paths[b->n][1], .version = -1},
			{.type = STORE_OP_DELETE, .path = item->key, .version = item->key_version},
		};
		const bool has[] = {true, item->pointer, item->key != NULL};
		for (size_t k = 0; k < 3; k++) {
			if (!has[k])
				continue;
			b->of_op[n - LEAD_CHECKS] = item;
			ops[n++] = of_item[k];
		}
		b->n++;
	}
	LIST_INSERT_HEAD(&p->batches, b, link);
	p->n_batches++;
	queue_multi(lead_calls(p->lead), ops, n, on_deleted, b);
}

static void is_ready(struct prune_item *item)
{
	struct prune *p = item->prune;

	p->ready[p->n_ready++] = item;
}

/* --- a record --------------------------------------------------------------- */

/* Whether the read failed: then it is handled. */
static bool read_failed(struct prune_item *item, const struct store_reply *reply)
{
	struct prune *p = item->prune;

	item->flying--;
	p->flying--;
	if (reply->code == STORE_OK || reply->code == STORE_NO_NODE)
		return false;
	if (lead_took(p->lead, reply))
		return true; /* lead_took() has freed it */
	p->refused = true;
	return true;
}

static void sent(struct prune_item *item)
{
	item->flying++;
	item->prune->flying++;
}

/* Another job may have the key by now. */
static void on_key(void *arg, const struct store_reply *reply)
{
	struct prune_item *item = arg;
	struct job_id id;

	if (read_failed(item, reply))
		return;
	item->key_version = reply->stat.version;
	(void)item_id(item, &id);
	if (reply->code != STORE_OK || !queue_key_is_of(reply, &id)) {
		free(item->key);
		item->key = NULL;
	}
	is_ready(item);
}

static void on_record(void *arg, const struct store_reply *reply)
{
	struct prune_item *item = arg;
	struct prune *p = item->prune;
	char path[STORE_PATH_MAX];
	struct job_record j;
	const char *why;

	if (read_failed(item, reply))
		return;
	if (reply->code == STORE_NO_NODE)
		return;
	if (record_parse_job(reply->data, reply->len, &j, &why) != 0) {
		keep(p, INT64_MAX, INT64_MAX); /* written by hand */
		return;
	}
	item->version = reply->stat.version;
	if (j.ended == 0) {
		keep_waiting(p);
	} else if (may_go(p, j.ended, item->pointer)) {
		p->surplus -= p->surplus > 0;
		if (!j.key[0]) {
			is_ready(item);
			return;
		}
		queue_path_of_key(lead_queues(p->lead), lead_name(p->lead), j.key, path);
		item->key = mem_strdup(path);
		sent(item);
		queue_get(lead_calls(p->lead), path, on_key, item);
	}
}

/* Continues once both Stats have been answered. */
static void on_stats(struct prune_item *item)
{
	struct prune *p = item->prune;
	char path[STORE_PATH_MAX];
	struct job_id id;

	if (item->flying > 0 || item->gone || p->refused)
		return;
	(void)item_id(item, &id);
	/* A time in the future says nothing. */
	if (item->version > 0 && item->mtime <= prune_server_ms(p) &&
	    !may_go(p, item->mtime, item->pointer))
		return;
	path_of_job(lead_paths(p->lead), &id, path);
	sent(item);
	queue_get(lead_calls(p->lead), path, on_record, item);
}

static void on_stat(void *arg, const struct store_reply *reply)
{
	struct prune_item *item = arg;

	if (read_failed(item, reply))
		return;
	item->gone = reply->code == STORE_NO_NODE;
	item->version = reply->stat.version;
	item->mtime = reply->stat.mtime;
	on_stats(item);
}

static void on_pointer(void *arg, const struct store_reply *reply)
{
	struct prune_item *item = arg;

	if (read_failed(item, reply))
		return;
	item->pointer = reply->code == STORE_OK;
	on_stats(item);
}

static void look_at(struct prune_item *item)
{
	struct prune *p = item->prune;
	char path[STORE_PATH_MAX], name[JOB_NAME_MAX + 1];
	struct job_id id;

	if (!item_id(item, &id)) {
		keep(p, INT64_MAX, INT64_MAX); /* made by hand */
		return;
	}
	if (item->waits) {
		keep_waiting(p);
		return;
	}
	path_of_job(lead_paths(p->lead), &id, path);
	sent(item);
	sent(item);
	queue_exists(lead_calls(p->lead), path, on_stat, item);
	job_name_format(&id, name);
	path_of_queue(lead_paths(p->lead), id.queue, "dead", name, path);
	queue_exists(lead_calls(p->lead), path, on_pointer, item);
}

/* --- a folder --------------------------------------------------------------- */

static int by_uuid(const void *a, const void *b)
{
	return strcmp(((const struct prune_item *)a)->uuid, ((const struct prune_item *)b)->uuid);
}

static void note_waiting(void *arg, const char *uuid)
{
	const struct prune *p = arg;
	struct prune_item wanted;

	snprintf(wanted.uuid, sizeof(wanted.uuid), "%s", uuid);
	struct prune_item *item = bsearch(&wanted, p->items, p->n_items, sizeof(wanted), by_uuid);
	if (item)
		item->waits = true;
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct prune *p = arg;

	p->flying--;
	p->listing = false;
	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		if (!lead_took(p->lead, reply))
			p->refused = true;
		return;
	}
	p->n_items = reply->code == STORE_OK ? reply->n_names : 0;
	p->items = mem_calloc(p->n_items + 1, sizeof(*p->items));
	p->ready = mem_calloc(p->n_items + 1, sizeof(struct prune_item *));
	for (size_t i = 0; i < p->n_items; i++) {
		p->items[i].prune = p;
		snprintf(p->items[i].uuid, sizeof(p->items[i].uuid), "%.*s",
			 (int)sizeof(p->items[i].uuid) - 1, reply->names[i]);
	}
	p->listed = true;
	if (p->n_items == 0)
		return;
	qsort(p->items, p->n_items, sizeof(*p->items), by_uuid);
	due_each(p->lead, p->minutes[p->at].minute, note_waiting, p);
}

static void list(struct prune *p)
{
	char path[STORE_PATH_MAX];

	path_of_job_folder(lead_paths(p->lead), lead_name(p->lead), p->minutes[p->at].minute,
			   prune_digits[p->x], path);
	p->listing = true;
	p->flying++;
	queue_children(lead_calls(p->lead), path, on_names, p);
}

static void forget_folder(struct prune *p)
{
	for (size_t i = 0; i < p->n_items; i++) {
		if (p->items[i].flying > 0)
			queue_calls_forget(lead_calls(p->lead), &p->items[i]);
		free(p->items[i].key);
	}
	free(p->items);
	free(p->ready);
	p->items = NULL;
	p->ready = NULL;
	p->n_items = p->next = p->n_ready = 0;
	p->listed = p->listing = false;
}

bool prune_look(struct prune *p)
{
	if (!p->listed && !p->listing && !p->refused)
		list(p);
	while (p->listed && p->next < p->n_items && !p->refused && prune_may_read(p))
		look_at(&p->items[p->next++]);
	/* A batch that is not full waits until no more records can join it. */
	while (!p->refused && p->n_batches < LEAD_BATCHES_MAX &&
	       (p->n_ready >= LEAD_BATCH ||
		(p->n_ready > 0 && p->next == p->n_items && p->flying == 0)))
		delete_batch(p);
	if (p->flying > 0 || p->n_batches > 0)
		return true;
	if (p->refused || (p->next == p->n_items && p->n_ready == 0)) {
		forget_folder(p);
		return false;
	}
	return true;
}

void prune_look_done(struct prune *p)
{
	struct prune_batch *b;

	while ((b = LIST_FIRST(&p->batches))) {
		LIST_REMOVE(b, link);
		queue_calls_forget(lead_calls(p->lead), b);
		free(b);
	}
	forget_folder(p);
}
