#include "node/recipes/roster/roster_write.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/sort.h"
#include "node/tree/paths.h"

static int by_node(const void *node, const void *entry)
{
	return strcmp(node, ((const struct roster_entry *)entry)->node);
}

static size_t place_of(const struct roster *r, const char *node)
{
	return sort_place(node, r->entries, r->n, sizeof(*r->entries), by_node);
}

struct roster_entry *roster_find(const struct roster *r, const char *node)
{
	size_t at = place_of(r, node);

	return at < r->n && strcmp(r->entries[at].node, node) == 0 ? &r->entries[at] : NULL;
}

static void put_entry(struct roster *r, const char *node, const struct roster_record *record)
{
	size_t at = place_of(r, node);

	if (at == r->n || strcmp(r->entries[at].node, node) != 0) {
		if (r->n == r->capacity) {
			r->capacity = r->capacity ? 2 * r->capacity : 64;
			r->entries = mem_resize(r->entries, r->capacity, sizeof(*r->entries));
		}
		memmove(r->entries + at + 1, r->entries + at, (r->n - at) * sizeof(*r->entries));
		r->n++;
		memset(&r->entries[at], 0, sizeof(r->entries[at]));
		memcpy(r->entries[at].node, node, strlen(node));
	}
	r->entries[at].record = *record;
	r->entries[at].unread = false;
}

static void remove_entry(struct roster *r, const char *node)
{
	size_t at = place_of(r, node);

	if (at == r->n || strcmp(r->entries[at].node, node) != 0)
		return;
	r->n--;
	memmove(r->entries + at, r->entries + at + 1, (r->n - at) * sizeof(*r->entries));
}

static int64_t behind_known(const struct roster *r)
{
	int64_t next = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->entries[i].record.index >= next)
			next = r->entries[i].record.index + 1;
	return next;
}

/* The version of ROOT/roster bounds the numbers given out, if its data does not tell. */
int64_t roster_untouched(const struct roster *r)
{
	int64_t next = behind_known(r), all = r->given;

	for (size_t i = 0; i < r->n; i++) {
		if (r->entries[i].record.index >= 0)
			continue;
		if (all < 0)
			all = (int64_t)r->version * ROSTER_CHANGES_MAX;
		return next > all ? next : all;
	}
	return -1;
}

/* The bound that ROOT/roster is to have after the change. With all numbers known it is minimal. */
static int64_t next_of(const struct roster_change *c)
{
	int64_t next = roster_untouched(c->roster);

	if (next < 0)
		next = behind_known(c->roster);
	for (size_t i = 0; i < c->n; i++)
		if (c->list[i].record.index >= next)
			next = c->list[i].record.index + 1;
	return next <= ROSTER_INDEX_MAX ? next : ROSTER_INDEX_MAX + 1;
}

static void say(const struct roster_change *c, size_t i)
{
	static const char *const whats[] = {
		[ROSTER_NUMBER] = "numbered", [ROSTER_FORGET] = "forgotten"};
	const struct roster_record *record = &c->list[i].record;
	const char *what = whats[c->list[i].what];

	if (c->list[i].what == ROSTER_NOTE)
		what = record->departed ? "departed" : "returned";
	log_info("roster", LOG_STR("what", what), LOG_STR("node", c->list[i].node),
		 LOG_INT("index", record->index));
}

/* Applies our own change, which has used up the watch: that is set again. */
static void apply_change(struct roster_change *c)
{
	struct roster *r = c->roster;

	for (size_t i = 0; i < c->n; i++) {
		say(c, i);
		if (c->list[i].what == ROSTER_FORGET)
			remove_entry(r, c->list[i].node);
		else
			put_entry(r, c->list[i].node, &c->list[i].record);
	}
	r->version++;
	r->given = c->next;
	r->refusals = 0;
}

static void on_watched(void *arg, const struct store_reply *reply)
{
	struct roster *r = arg;

	if (reply->code == STORE_OK && reply->stat.version == r->version)
		return;
	r->ready = false;
	r->changed = true;
	roster_go_on(r);
}

static void on_written(void *arg, const struct store_reply *reply)
{
	struct roster_change *c = arg;
	struct roster *r = c->roster;
	bool lost = store_is_lost(reply->code);
	char path[STORE_PATH_MAX];

	r->writing = false;
	if (reply->code == STORE_OK) {
		apply_change(c);
		path_of(r->registry->settings, PATH_ROSTER, NULL, path);
		watches_get(&r->session->watches, path, WATCH_RECIPE, r, on_watched, r);
	} else {
		r->ready = false;
		if (store_is_refusal(reply->code))
			log_warning("roster refused by the server", LOG_STR("why", reply->text));
		if (reply->code == STORE_NO_NODE && reply->failed_op == 0)
			session_confirm(r->session);
	}
	roster_written(r, c->ask, reply->code);
	free(c);
	if (reply->code == STORE_OK)
		roster_go_on(r);
	else if (!lost)
		roster_retry(r, true);
}

struct roster_change *roster_change_new(struct roster *r, struct roster_ask *ask)
{
	struct roster_change *c = mem_calloc(1, sizeof(*c));

	c->roster = r;
	c->ask = ask;
	return c;
}

void roster_change_write(struct roster_change *c)
{
	static const enum store_op_type types[] = {[ROSTER_NUMBER] = STORE_OP_CREATE,
						   [ROSTER_NOTE] = STORE_OP_SET,
						   [ROSTER_FORGET] = STORE_OP_DELETE};
	char(*paths)[STORE_PATH_MAX] = mem_calloc(c->n + 1, sizeof(*paths));
	struct buffer *data = mem_calloc(c->n + 1, sizeof(*data));
	struct store_op ops[ROSTER_CHANGES_MAX + 2];
	struct roster *r = c->roster;
	struct buffer *head = &data[c->n];

	c->next = next_of(c);
	buffer_init(head, RECORD_ROSTER_MAX);
	int failed = record_pack_roster_head(head, &(struct roster_head){.next = c->next});
	assert(failed == 0); /* a number */
	(void)failed;
	path_of(r->registry->settings, PATH_ROSTER, NULL, paths[c->n]);
	ops[0] = (struct store_op){
		.type = STORE_OP_CHECK, .path = r->session->registration, .version = -1};
	ops[1] = (struct store_op){.type = STORE_OP_SET,
				   .path = paths[c->n],
				   .version = r->version,
				   .data = head->data,
				   .len = head->len};
	for (size_t i = 0; i < c->n; i++) {
		bool good = path_of_node(r->registry->settings, c->list[i].node, paths[i]);
		assert(good); /* parsed before without an error */
		buffer_init(&data[i], RECORD_ROSTER_MAX);
		int error = record_pack_roster(&data[i], &c->list[i].record);
		assert(error == 0); /* its texts are bounded */
		(void)error, (void)good;
		ops[i + 2] = (struct store_op){.type = types[c->list[i].what],
					       .path = paths[i],
					       .data = data[i].data,
					       .len = data[i].len,
					       .version = -1};
	}
	r->writing = true;
	store_multi(r->session->store, ops, c->n + 2, on_written, c);
	for (size_t i = 0; i <= c->n; i++)
		buffer_done(&data[i]);
	free(data);
	free(paths);
}
