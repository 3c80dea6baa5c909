/* Reads the roster as it is under one version of ROOT/roster. */
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "node/recipes/roster/roster.h"
#include "node/tree/paths.h"

#define READS_MAX 100 /* outstanding at a time */

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct roster_entry *)a)->node,
		      ((const struct roster_entry *)b)->node);
}

/* Keeps the times since which nodes are gone, as no record has them. */
static void keep_absences(struct roster *r)
{
	for (size_t i = 0; i < r->n_found; i++) {
		const struct roster_entry *known =
			r->n == 0 ? NULL
				  : bsearch(&r->found[i], r->entries, r->n, sizeof(*r->entries),
					    compare_entries);
		r->found[i].absent_ms = known ? known->absent_ms : 0;
	}
}

void roster_read_done(struct roster *r)
{
	names_free(r->names, r->n_names);
	free(r->found);
	r->names = NULL;
	r->found = NULL;
	r->n_names = r->n_found = 0;
}

/* broken: the connection was lost, or the roster has changed meanwhile. */
static void end_reading(struct roster *r, int32_t version)
{
	r->reading = false;
	if (!r->broken) {
		if (r->n_found > 0)
			qsort(r->found, r->n_found, sizeof(*r->found), compare_entries);
		keep_absences(r);
		free(r->entries);
		r->entries = r->found;
		r->n = r->n_found;
		r->capacity = r->n_names;
		r->found = NULL;
		r->version = version;
		r->given = r->begun_given;
		r->ready = !r->changed;
	}
	roster_read_done(r);
	if (r->broken)
		roster_retry(r, r->refused);
	else
		roster_go_on(r);
}

/* Counts an answer. False: it is to be ignored. */
static bool take(struct roster *r, const struct store_reply *reply)
{
	r->pending--;
	r->broken |= reply->code != STORE_OK && reply->code != STORE_NO_NODE;
	r->refused |= store_is_refusal(reply->code);
	return !r->broken;
}

static void on_last(void *arg, const struct store_reply *reply)
{
	struct roster *r = arg;

	if (take(r, reply) && (reply->code != STORE_OK || reply->stat.version != r->begun)) {
		r->broken = true;
		r->changed = true;
	}
	end_reading(r, r->begun);
}

struct asked {
	struct roster *roster;
	char node[WORKER_NODE_MAX + 1];
};

static void read_more(struct roster *r);

/* Adds an entry even if its record cannot be read: the node has a number all the same. */
static void add_found(struct roster *r, const char *node, const struct store_reply *reply)
{
	struct roster_entry *e = &r->found[r->n_found++];
	const char *why = reply->text;
	char path[STORE_PATH_MAX];

	*e = (struct roster_entry){.unread = false};
	memcpy(e->node, node, strlen(node));
	e->unread = reply->code != STORE_OK ||
		    record_parse_roster(reply->data, reply->len, &e->record, &why) != 0;
	if (!e->unread)
		return;
	e->record = (struct roster_record){.index = -1};
	(void)path_of_node(r->registry->settings, node, path);
	log_warning("roster entry not understood", LOG_STR("znode", path), LOG_STR("why", why));
}

static void on_entry(void *arg, const struct store_reply *reply)
{
	struct asked *asked = arg;
	struct roster *r = asked->roster;
	bool refused = store_is_refusal(reply->code);

	if (refused)
		r->pending--;
	if (refused || (take(r, reply) && reply->code == STORE_OK))
		add_found(r, asked->node, reply);
	free(asked);
	read_more(r);
}

/* Reads more entries. Behind the last one it checks whether the roster has changed. */
static void read_more(struct roster *r)
{
	char node[WORKER_NODE_MAX + 1], path[STORE_PATH_MAX];

	for (; !r->broken && r->next < r->n_names && r->pending < READS_MAX; r->next++) {
		if (!path_is_node(r->names[r->next], node) ||
		    !path_of_node(r->registry->settings, node, path))
			continue;
		struct asked *asked = mem_calloc(1, sizeof(*asked));
		asked->roster = r;
		memcpy(asked->node, node, sizeof(asked->node));
		r->pending++;
		store_get(r->session->store, path, false, on_entry, asked);
	}
	if (r->pending > 0)
		return;
	if (r->broken) {
		end_reading(r, -1);
		return;
	}
	r->pending++;
	path_of(r->registry->settings, PATH_ROSTER, NULL, path);
	store_get(r->session->store, path, false, on_last, r);
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct roster *r = arg;

	if (!take(r, reply) || reply->code == STORE_NO_NODE) {
		end_reading(r, -1);
		return;
	}
	size_t n = reply->n_names < ROSTER_MAX ? reply->n_names : ROSTER_MAX;
	r->names = mem_calloc(n + 1, sizeof(*r->names));
	r->found = mem_calloc(n + 1, sizeof(*r->found));
	for (r->n_names = 0; r->n_names < n; r->n_names++)
		r->names[r->n_names] = mem_strdup(reply->names[r->n_names]);
	r->next = 0;
	read_more(r);
}

static void on_first(void *arg, const struct store_reply *reply)
{
	struct roster *r = arg;
	struct roster_head head = {.next = -1};
	const char *why;

	take(r, reply);
	r->begun = reply->code == STORE_OK ? reply->stat.version : -1;
	if (reply->code == STORE_OK)
		(void)record_parse_roster_head(reply->data, reply->len, &head, &why);
	r->begun_given = head.next;
}

/*
 * Reads the roster as it is now: a write precedes the reads. A missing folder is handled by the
 * second read.
 */
void roster_read(struct roster *r)
{
	char path[STORE_PATH_MAX];

	r->reading = true;
	r->ready = r->broken = r->changed = r->refused = false;
	r->round++;
	r->lists = registry_relist(r->registry);
	path_of(r->registry->settings, PATH_ROSTER, NULL, path);
	session_confirm(r->session);
	r->pending = 2;
	watches_get(&r->session->watches, path, WATCH_RECIPE, r, on_first, r);
	store_children(r->session->store, path, false, on_names, r);
}
