#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "core/time/tick.h"
#include "node/election/leaders.h"
#include "node/ledger/ledger.h"
#include "node/tree/paths.h"
#include "node/tree/tick_folder.h"

struct history {
	struct leaders *leaders;
	char task[NAME_ELECTION_MAX + 1];
	struct ledger_range range;
	ledger_history_fn fn;
	void *arg;
	size_t pending;
	bool failed, cut;
	struct ledger_entry *entries;
	size_t n;
};

struct history_read {
	struct history *history;
	char tick[TICK_NAME_SIZE];
};

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct ledger_entry *)a)->tick,
		      ((const struct ledger_entry *)b)->tick);
}

static void history_answered(struct history *h)
{
	if (--h->pending > 0)
		return;
	if (h->n > 0)
		qsort(h->entries, h->n, sizeof(*h->entries), compare_entries);
	if (h->n > 0)
		h->entries[0].cut = h->cut;
	h->fn(h->arg, !h->failed, h->entries, h->failed ? 0 : h->n);
	for (size_t i = 0; i < h->n; i++)
		free(h->entries[i].output);
	free(h->entries);
	free(h);
}

/* Copies the output: the bytes that were read are valid only during this turn. */
static void keep_output(struct ledger_entry *e)
{
	struct run_record *r = &e->record;

	if (r->output_len > 0) {
		e->output = mem_alloc(r->output_len);
		memcpy(e->output, r->output, r->output_len);
	}
	r->output = e->output;
}

static void on_history_record(void *arg, const struct store_reply *reply)
{
	struct history_read *read = arg;
	struct history *h = read->history;
	char path[STORE_PATH_MAX];
	const char *why;

	if (reply->code == STORE_OK) {
		struct ledger_entry *e = &h->entries[h->n];
		if (record_parse_run(reply->data, reply->len, &e->record, &why) == 0) {
			memcpy(e->tick, read->tick, sizeof(e->tick));
			keep_output(e);
			h->n++;
		} else {
			path_of_tick(h->leaders->session->settings, h->task, read->tick, path);
			log_warning("run record refused", LOG_STR("znode", path),
				    LOG_STR("why", why));
		}
	} else if (reply->code != STORE_NO_NODE) {
		h->failed = true;
	}
	free(read);
	history_answered(h);
}

/* Pruning writes the oldest tick that it has left. */
static void on_history_floor(void *arg, const struct store_reply *reply)
{
	struct history *h = arg;
	char floor[TICK_NAME_SIZE] = "";

	if (reply->code == STORE_OK)
		tick_folder_floor(reply, floor);
	h->cut = floor[0] != '\0';
	h->failed |= reply->code != STORE_OK && reply->code != STORE_NO_NODE;
	history_answered(h);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void read_record(struct history *h, const char *tick)
{
	struct history_read *read = mem_calloc(1, sizeof(*read));
	char path[STORE_PATH_MAX];

	read->history = h;
	memcpy(read->tick, tick, sizeof(read->tick));
	path_of_tick(h->leaders->session->settings, h->task, tick, path);
	h->pending++;
	store_get(h->leaders->session->store, path, false, on_history_record, read);
}

static void on_history_names(void *arg, const struct store_reply *reply)
{
	struct history *h = arg;
	mem_auto const char **ticks = mem_calloc(reply->n_names + 1, sizeof(*ticks));
	char path[STORE_PATH_MAX];
	size_t n = 0, listed = 0, first, most = (size_t)h->range.most;

	h->failed = reply->code != STORE_OK && reply->code != STORE_NO_NODE;
	for (size_t i = 0; i < reply->n_names; i++) {
		listed += tick_is_name(reply->names[i]);
		if (tick_is_name(reply->names[i]) && strcmp(reply->names[i], h->range.since) >= 0)
			ticks[n++] = reply->names[i];
	}
	qsort(ticks, n, sizeof(*ticks), compare_names);
	first = most > 0 && n > most ? n - most : 0;
	h->entries = mem_calloc(n - first + 1, sizeof(*h->entries));
	/* The oldest that is told is the oldest that is kept. */
	if (n > 0 && listed == n - first) {
		h->pending++;
		path_of_tick(h->leaders->session->settings, h->task, NULL, path);
		store_get(h->leaders->session->store, path, false, on_history_floor, h);
	}
	for (size_t i = first; i < n; i++)
		read_record(h, ticks[i]);
	history_answered(h);
}

void ledger_history(struct leaders *l, const char *task, const struct ledger_range *range,
		    ledger_history_fn fn, void *arg)
{
	struct history *h = mem_calloc(1, sizeof(*h));
	char path[STORE_PATH_MAX];

	h->leaders = l;
	if (range)
		h->range = *range;
	h->fn = fn;
	h->arg = arg;
	h->pending = 1;
	snprintf(h->task, sizeof(h->task), "%s", task);
	path_of_tick(l->session->settings, task, NULL, path);
	store_children(l->session->store, path, false, on_history_names, h);
}

const char *ledger_state(const struct registry *r, const char *state, int64_t session)
{
	bool lost = strcmp(state, "running") == 0 && registry_settled(r) &&
		    !fleet_find_session(&r->fleet, session);

	return lost ? "lost" : state;
}
