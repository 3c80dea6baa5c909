#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/recipes/party/gang_parts.h"
#include "node/tree/paths.h"

#define RETRY_MS     100 /* where our registration is being renewed */
#define DISSOLVE_MAX 20	 /* attempts: waiters come, or a node is not ours */

static const struct node_settings *settings_of(const struct gang *g)
{
	return g->all->registry->settings;
}

void gang_path(const struct gang *g, char path[STORE_PATH_MAX])
{
	path_of(settings_of(g), PATH_GANGS, g->name, path);
}

int gang_index_of(const struct gang_record *r, uint64_t id)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->members[i].id == id)
			return (int)i;
	return -1;
}

int gang_index_of_key(const struct gang_record *r, const char *key)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->members[i].key, key) == 0)
			return (int)i;
	return -1;
}

/* --- requests ------------------------------------------------------------- */

void gang_answered(struct gang *g)
{
	struct gangs *all = g->all;

	if (--g->busy > 0)
		return;
	if (g->closed) {
		free(g);
		return;
	}
	gang_go_on(g);
	gangs_schedule(all);
}

bool gang_is_lost(const struct store_reply *reply)
{
	return reply->code == STORE_UNKNOWN || reply->code == STORE_ABANDONED;
}

void gang_on_done(void *arg, const struct store_reply *reply)
{
	struct gang *g = arg;
	struct session *s = g->all->session;

	g->dirty = true;
	g->unsure |= gang_is_lost(reply);
	if (!g->closed && reply->code == STORE_NO_NODE && reply->failed_op == 0) {
		session_confirm(s);
		g->retry_ms = host_now_ms(s->host) + RETRY_MS;
	} else if (store_is_refusal(reply->code)) {
		log_warning("gang refused by the server", LOG_STR("gang", g->name),
			    LOG_STR("why", reply->text));
		g->refused = true;
		g->why = store_refused_why(reply->code);
	}
	gang_answered(g);
}

void gang_send(struct gang *g, const struct store_op *ops, size_t n)
{
	g->busy++;
	store_multi(g->all->session->store, ops, n, gang_on_done, g);
}

/* It may be there although we may not make it: what is asked behind this finds out. */
static void on_folder(void *arg, const struct store_reply *reply)
{
	struct gang *g = arg;

	g->no_folder = store_refusal(reply->code);
	gang_answered(g);
}

static void on_made(void *arg, const struct store_reply *reply)
{
	struct gang *g = arg;

	if (reply->code == STORE_NO_NODE && reply->failed_op == 1 && g->no_folder != STORE_OK) {
		g->refused = true;
		g->why = store_no_folder_why(g->no_folder);
	}
	gang_on_done(g, reply);
}

static void pack(const struct gang_record *r, struct buffer *out)
{
	buffer_init(out, RECORD_GANG_MAX);
	int error = record_pack_gang(out, r);
	assert(error == 0); /* all of it is bounded */
	(void)error;
}

void gang_write(struct gang *g, const struct gang_record *r, const struct gang_ticket *proof)
{
	char path[STORE_PATH_MAX], there[STORE_PATH_MAX];
	struct buffer data;
	size_t n = 2;

	pack(r, &data);
	gang_path(g, path);
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = g->all->session->registration, .version = -1},
		{.type = STORE_OP_SET,
		 .path = path,
		 .data = data.data,
		 .len = data.len,
		 .version = g->version},
		{.type = STORE_OP_CHECK, .path = there, .version = -1},
	};
	if (proof && gang_ticket_path(settings_of(g), g->name, proof, there))
		n = 3;
	gang_send(g, ops, n);
	buffer_done(&data);
}

/* Makes the gang, without members yet, and its parent folder, if there is a waiter here. */
static void make_gang(struct gang *g)
{
	mem_auto struct gang_record *none = mem_calloc(1, sizeof(*none));
	const struct gang_member *waiting = g->members;
	char path[STORE_PATH_MAX], folder[STORE_PATH_MAX];
	struct buffer data;

	while (waiting && waiting->state != GANG_WAITS)
		waiting = waiting->next;
	if (!waiting)
		return;
	path_of(settings_of(g), PATH_GANGS, NULL, folder);
	g->busy++;
	store_create(g->all->session->store, folder, on_folder, g);
	gang_path(g, path);
	none->count = waiting->count;
	pack(none, &data);
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = g->all->session->registration, .version = -1},
		{.type = STORE_OP_CREATE, .path = path, .data = data.data, .len = data.len},
	};
	g->busy++;
	store_multi(g->all->session->store, ops, 2, on_made, g);
	buffer_done(&data);
}

/* --- its end -------------------------------------------------------------- */

static void on_dissolved(void *arg, const struct store_reply *reply)
{
	struct gang *g = arg;
	struct session *s = g->all->session;

	g->dirty = true;
	g->unsure |= gang_is_lost(reply);
	if (reply->code == STORE_OK || (reply->code == STORE_NO_NODE && reply->failed_op > 0))
		g->dissolved = 0;
	else if (!gang_is_lost(reply) && ++g->dissolved == DISSOLVE_MAX)
		log_warning("gang not removed", LOG_STR("gang", g->name),
			    LOG_STR("why", reply->text));
	if (!g->closed && reply->code == STORE_NO_NODE && reply->failed_op == 0) {
		session_confirm(s);
		g->retry_ms = host_now_ms(s->host) + RETRY_MS;
	}
	gang_answered(g);
}

/*
 * Where nothing else is in the folder it goes, and else it becomes a gang of no member: both under
 * the version that we have seen, and where nobody has come meanwhile.
 */
void gang_dissolve(struct gang *g)
{
	struct gang_sight *sight = g->sight;
	bool alone = sight->n_waiting == 0 && sight->n_names == sight->n_marked;
	mem_auto struct gang_record *none = mem_calloc(1, sizeof(*none));
	mem_auto struct store_op *ops = mem_calloc(sight->n_marked + 2, sizeof(*ops));
	mem_auto char *paths = mem_calloc(sight->n_marked + 1, STORE_PATH_MAX);
	struct buffer data;
	size_t n = 1;

	if (g->dissolving || g->dissolved >= DISSOLVE_MAX)
		return;
	g->dissolving = true;
	none->count = g->record->count;
	pack(none, &data);
	ops[0] = (struct store_op){
		.type = STORE_OP_CHECK, .path = g->all->session->registration, .version = -1};
	for (size_t i = 0; i < sight->n && n < STORE_OPS_MAX - 1; i++) {
		char *path = paths + n * STORE_PATH_MAX;
		if (!sight->tickets[i].left ||
		    !gang_ticket_path(settings_of(g), g->name, &sight->tickets[i], path))
			continue;
		ops[n++] = (struct store_op){.type = STORE_OP_DELETE, .path = path, .version = -1};
	}
	gang_path(g, paths);
	ops[n++] = (struct store_op){.type = alone ? STORE_OP_DELETE : STORE_OP_SET,
				     .path = paths,
				     .data = alone ? NULL : data.data,
				     .len = alone ? 0 : data.len,
				     .version = g->version};
	g->busy++;
	store_multi(g->all->session->store, ops, n, on_dissolved, g);
	buffer_done(&data);
}

/* By our own observation, or that of the first in rank, which is in the record. */
bool gang_is_dead(const struct gang *g)
{
	int64_t now = host_now_ms(g->all->session->host);

	if (g->record->n == 0 || g->sight->n_running + g->sight->n_waiting > 0 || g->pzxid == 0)
		return false;
	return g->record->empty == g->pzxid || (g->dead_since > 0 && g->dead_pzxid == g->pzxid &&
						now - g->dead_since >= GANG_DEAD_MS);
}

static void note_dead(struct gang *g)
{
	int64_t now = host_now_ms(g->all->session->host);
	bool empty = g->record->n > 0 && g->sight->n_running + g->sight->n_waiting == 0;

	if (!empty) {
		g->dead_since = 0;
	} else if (g->pzxid != 0 && (g->dead_since == 0 || g->dead_pzxid != g->pzxid)) {
		g->dead_since = now;
		g->dead_pzxid = g->pzxid;
	}
}

/* --- what follows --------------------------------------------------------- */

/* One that runs is not there, and has not left. */
static bool is_one_lost(const struct gang *g)
{
	for (size_t i = 0; i < g->record->n; i++)
		if (!g->sight->by_index[i] && !g->sight->marked[i])
			return true;
	return false;
}

static const struct gang_ticket *one_that_runs(const struct gang *g)
{
	const struct gang_ticket *one = NULL;

	for (size_t i = 0; i < g->record->n && !one; i++)
		one = g->sight->by_index[i];
	return one;
}

static void mark_lost(struct gang *g)
{
	mem_auto struct gang_record *r = mem_alloc(sizeof(*r));

	*r = *g->record;
	r->lost = true;
	gang_write(g, r, one_that_runs(g));
	log_warning("gang stops, as a member was lost", LOG_STR("gang", g->name),
		    LOG_INT("instance", r->instance));
}

static void on_watched(void *arg, const struct store_reply *reply)
{
	struct gang *g = arg;

	/* Otherwise the watch tells. */
	for (struct gang_member *m = g->members; m && reply->code != STORE_OK; m = m->next)
		gang_unwatch(m);
	g->dirty |= reply->code != STORE_OK;
	g->unsure |= gang_is_lost(reply);
	gang_answered(g);
}

/* Each watches the next one that is there, if another sidecar has that. */
static void watch_next(struct gang *g, struct gang_member *m)
{
	const struct gang_sight *sight = g->sight;
	const struct gang_ticket *next = NULL;
	char path[STORE_PATH_MAX];
	size_t n = g->record->n;

	for (size_t i = 1; i < n && !next; i++)
		next = sight->by_index[(m->index + i) % n];
	if (!next || next->session == g->all->session->id ||
	    !gang_ticket_path(settings_of(g), g->name, next, path)) {
		gang_unwatch(m);
		return;
	}
	if (strcmp(path, m->watched) == 0)
		return;
	gang_unwatch(m);
	memcpy(m->watched, path, sizeof(path));
	g->busy++;
	watches_exists(&g->all->session->watches, path, WATCH_RECIPE, m, on_watched, g);
}

/* A node of our session without a member: the previous sidecar's, whose client is gone. */
static void take_orphans(struct gang *g)
{
	for (size_t i = 0; i < g->sight->n; i++) {
		const struct gang_ticket *t = &g->sight->tickets[i];
		const struct gang_member *m = g->members;
		while (m && m->id != t->id)
			m = m->next;
		if (m || t->left || t->session != g->all->session->id)
			continue;
		struct gang_member *orphan = gang_add(g, t->id);
		memcpy(orphan->key, t->key, sizeof(t->key));
		orphan->state = gang_index_of(g->record, t->id) >= 0 ? GANG_LOSES : GANG_ENDS;
	}
	g->orphans = false;
}

/* One request counts as not answered meanwhile, so that nothing is read beside it. */
static void decide(struct gang *g)
{
	struct gang_member *next;

	note_dead(g);
	if (g->orphans)
		take_orphans(g);
	for (struct gang_member *m = g->members; m; m = next) {
		next = m->next;
		gang_check_member(g, m);
	}
	if (!g->there && !g->refused)
		make_gang(g);
	else if (g->sweep && !g->members)
		gang_sweep(g);
	g->sweep = false;
	if (g->busy == 1 && g->record->n > 0 && !g->record->goes_on && !g->record->lost &&
	    g->sight->n_running > 0 && is_one_lost(g))
		mark_lost(g);
	g->refused = false;
	if (g->busy == 1)
		gang_consider(g);
	for (struct gang_member *m = g->members; m && g->record->n > 0 && !g->record->goes_on;
	     m = m->next)
		if (m->state == GANG_RUNS && !m->held.lost)
			watch_next(g, m);
}

/* --- reading -------------------------------------------------------------- */

static void forget_sight(struct gang *g)
{
	if (g->sight)
		free(g->sight->tickets);
	free(g->sight);
	free(g->record);
	g->sight = NULL;
	g->record = NULL;
}

/* Sorts the listed nodes into members and waiters, by the record. */
static void sort_out(struct gang *g)
{
	struct gang_sight *s = g->sight;

	for (size_t i = 0; i < s->n; i++) {
		const struct gang_ticket *t = &s->tickets[i];
		int index = gang_index_of(g->record, t->id);
		if (t->left) {
			s->n_marked++;
			if (index >= 0)
				s->marked[index] = true;
		} else if (index >= 0) {
			s->n_running += s->by_index[index] == NULL;
			s->by_index[index] = t;
		} else {
			s->n_waiting++;
		}
	}
}

/* The record is still what it was before the names: only then do both tell of one moment. */
static void on_same(void *arg, const struct store_reply *reply)
{
	struct gang *g = arg;
	bool there = reply->code == STORE_OK;

	g->lost |= gang_is_lost(reply);
	g->unsure = g->lost;
	if (g->lost || there != g->there ||
	    (there && (reply->stat.version != g->version || reply->stat.czxid != g->czxid))) {
		g->dirty = true;
	} else if (!g->closed && g->sight) {
		if (there && reply->stat.pzxid != g->pzxid)
			g->pzxid = 0; /* a node came or went meanwhile */
		g->dissolving = false;
		sort_out(g);
		decide(g);
	}
	forget_sight(g);
	gang_answered(g);
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct gang *g = arg;
	struct gang_sight *s;

	g->busy--; /* one more is to come */
	g->lost |= gang_is_lost(reply);
	s = g->sight = mem_calloc(1, sizeof(*s));
	if (reply->code != STORE_OK || g->closed)
		return;
	s->n_names = reply->n_names;
	s->tickets = mem_calloc(reply->n_names + 1, sizeof(struct gang_ticket));
	for (size_t i = 0; i < reply->n_names; i++)
		s->n += gang_ticket_parse(reply->names[i], &s->tickets[s->n]);
	qsort(s->tickets, s->n, sizeof(struct gang_ticket), gang_ticket_compare);
}

static void on_record(void *arg, const struct store_reply *reply)
{
	struct gang *g = arg;
	const char *why = reply->text;

	g->busy--; /* two more are to come */
	g->lost = gang_is_lost(reply);
	g->there = reply->code == STORE_OK;
	g->version = g->there ? reply->stat.version : -1;
	g->czxid = g->there ? reply->stat.czxid : 0;
	g->pzxid = g->there ? reply->stat.pzxid : 0;
	if (g->lost || reply->code == STORE_NO_NODE ||
	    (g->there && record_parse_gang(reply->data, reply->len, g->record, &why) == 0))
		return;
	log_warning("gang not understood", LOG_STR("gang", g->name), LOG_STR("why", why));
	memset(g->record, 0, sizeof(*g->record));
	g->refused = true;
	g->why = g->there ? "there is something else in the gang's place"
			  : "refused by the ZooKeeper server";
}

/* What is there: the record, the names, and whether the record has changed meanwhile. */
void gang_read(struct gang *g)
{
	struct session *s = g->all->session;
	char path[STORE_PATH_MAX];

	gang_path(g, path);
	g->dirty = false;
	g->busy += 3;
	g->record = mem_calloc(1, sizeof(*g->record));
	if (g->unsure)
		session_confirm(s);
	if (g->members)
		watches_get(&s->watches, path, WATCH_RECIPE, g, on_record, g);
	else
		store_get(s->store, path, false, on_record, g);
	store_children(s->store, path, false, on_names, g);
	store_exists(s->store, path, false, on_same, g);
}
