#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/recipes/party/barrier_parts.h"
#include "node/tree/paths.h"

#define RETRY_MS    100 /* where our registration is being renewed */
#define CREATES_MAX 100 /* nodes made at a time */

void barrier_path(const struct barrier *b, const char *name, char path[STORE_PATH_MAX])
{
	path_of(b->all->registry->settings, PATH_BARRIERS, b->name, path);
	size_t used = strlen(path);

	if (name)
		snprintf(path + used, STORE_PATH_MAX - used, "/%.*s", TICKET_NAME_MAX, name);
}

/* --- what the record says ------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

bool barrier_has_counted(const struct barrier *b, uint64_t id)
{
	return bsearch(&id, b->sorted, b->record->n_ids, sizeof(id), compare_ids) != NULL;
}

bool barrier_is_last(const struct barrier *b, uint64_t id)
{
	for (size_t i = 0; b->record->n_rounds > 0 && i < b->record->sizes[0]; i++)
		if (b->record->ids[i] == id)
			return true;
	return false;
}

/* Whether it may have been counted in a round that is not remembered. */
static bool is_forgotten(const struct barrier *b, const struct barrier_member *m)
{
	int64_t first = b->record->round - (int64_t)b->record->n_rounds + 1;

	return m->placed && (!b->there || b->czxid != m->czxid || first > m->round + 1);
}

/* --- requests ------------------------------------------------------------- */

/* What follows once nothing is outstanding. */
static void go_on(struct barrier *b)
{
	if (b->busy > 0)
		return;
	if (b->closed) {
		free(b);
		return;
	}
	barrier_go_on(b);
	barriers_schedule(b->all);
}

static void answered(struct barrier *b)
{
	b->busy--;
	go_on(b);
}

static bool is_lost(const struct store_reply *reply)
{
	return reply->code == STORE_UNKNOWN || reply->code == STORE_ABANDONED;
}

void barrier_on_done(void *arg, const struct store_reply *reply)
{
	struct barrier *b = arg;
	struct session *s = b->all->session;

	b->dirty = true;
	b->unsure |= is_lost(reply);
	if (reply->code == STORE_NO_NODE && reply->failed_op == 0 && !b->closed) {
		session_confirm(s);
		b->retry_ms = host_now_ms(s->host) + RETRY_MS;
		barriers_schedule(b->all);
	} else if (store_is_refusal(reply->code)) {
		log_warning("barrier refused by the server", LOG_STR("barrier", b->name),
			    LOG_STR("why", reply->text));
		b->refused = true;
		b->why = store_refused_why(reply->code);
	}
	answered(b);
}

/* It may be there although we may not make it: what is asked behind this finds out. */
static void on_folder(void *arg, const struct store_reply *reply)
{
	((struct barrier *)arg)->no_folder = store_refusal(reply->code);
	answered(arg);
}

static void on_made(void *arg, const struct store_reply *reply)
{
	struct barrier *b = arg;

	if (reply->code == STORE_NO_NODE && reply->failed_op == 1 && b->no_folder != STORE_OK) {
		b->refused = true;
		b->why = store_no_folder_why(b->no_folder);
	}
	barrier_on_done(b, reply);
}

/* The first operation says that we are registered; what it is about is the last. */
static void send(struct barrier *b, const struct store_op *ops, size_t n)
{
	b->busy++;
	store_multi(b->all->session->store, ops, n, barrier_on_done, b);
}

/* The barrier itself, of no round yet, and the folder that it is in. */
static void make_barrier(struct barrier *b)
{
	const struct barrier_record none = {.round = 0};
	struct session *s = b->all->session;
	char path[STORE_PATH_MAX], folder[STORE_PATH_MAX];
	struct buffer data;

	path_of(b->all->registry->settings, PATH_BARRIERS, NULL, folder);
	b->busy++;
	store_create(s->store, folder, on_folder, b);
	barrier_path(b, NULL, path);
	buffer_init(&data, RECORD_BARRIER_MAX);
	int error = record_pack_barrier(&data, &none);
	assert(error == 0);
	(void)error;
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = s->registration, .version = -1},
		{.type = STORE_OP_CREATE, .path = path, .data = data.data, .len = data.len},
	};
	b->busy++;
	store_multi(s->store, ops, 2, on_made, b);
	buffer_done(&data);
}

/* The record proves that the member is in no round yet. */
static void make_node(struct barrier *b, struct barrier_member *m)
{
	const struct session *s = b->all->session;
	const struct ticket t = {
		.id = m->id, .count = m->count, .command = m->command, .session = s->id};
	char path[STORE_PATH_MAX], node[STORE_PATH_MAX], name[TICKET_NAME_MAX];

	m->placed = true;
	m->round = b->record->round;
	m->czxid = b->czxid;
	ticket_name(&t, name);
	barrier_path(b, NULL, path);
	barrier_path(b, name, node);
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = s->registration, .version = -1},
		{.type = STORE_OP_CHECK, .path = path, .version = b->version},
		{.type = STORE_OP_CREATE_SEQUENTIAL, .path = node},
	};
	send(b, ops, 3);
}

/* unless_counted: under the version of the record that does not have it. */
static void delete_node(struct barrier *b, const char *name, bool unless_counted)
{
	char path[STORE_PATH_MAX], node[STORE_PATH_MAX];

	barrier_path(b, NULL, path);
	barrier_path(b, name, node);
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = b->all->session->registration, .version = -1},
		{.type = STORE_OP_CHECK, .path = path, .version = unless_counted ? b->version : -1},
		{.type = STORE_OP_DELETE, .path = node, .version = -1},
	};
	send(b, ops, 3);
}

/* --- what follows for a member -------------------------------------------- */

/* The member's node in this session; any: else one that it left in an earlier one. */
static const struct ticket *find_node(const struct barrier *b, const struct sight *sight,
				      uint64_t id, bool any)
{
	const struct ticket *found = NULL;

	for (size_t i = 0; i < sight->n; i++) {
		const struct ticket *t = &sight->tickets[i];
		if (t->id != id)
			continue;
		if (t->session == b->all->session->id)
			return t;
		if (any)
			found = t;
	}
	return found;
}

/* It was counted. Without a command that is all; a node that is left, of an attempt more, goes. */
static void be_counted(struct barrier *b, struct barrier_member *m, const struct ticket *own)
{
	const struct barrier_answer answer = {.outcome = BARRIER_OPENED,
					      .round = barrier_is_last(b, m->id) ? b->record->round
										 : 0,
					      .count = m->count};
	barrier_fn fn = m->fn;
	void *arg = m->arg;

	m->fn = NULL;
	m->round = answer.round;
	m->czxid = b->czxid;
	m->state = !m->command ? MEMBER_ENDS : fn ? MEMBER_INSIDE : MEMBER_LEAVES;
	if (own && m->state != MEMBER_INSIDE)
		delete_node(b, own->name, false);
	else if (m->state == MEMBER_ENDS)
		barrier_tell(b, m, &answer);
	if (fn)
		fn(arg, &answer);
}

static void end(struct barrier *b, struct barrier_member *m, const struct ticket *own)
{
	if (own && !b->refused)
		delete_node(b, own->name, true);
	else if (m->fn && is_forgotten(b, m))
		barrier_tell(b, m,
			     &(struct barrier_answer){.outcome = BARRIER_UNKNOWN,
						      .why = "the barrier has forgotten whether it "
							     "opened meanwhile"});
	else
		barrier_tell(b, m, &m->answer);
}

/* The first waiter decides the count. */
static unsigned wanted(const struct barrier *b, const struct sight *sight)
{
	for (size_t i = 0; i < sight->n; i++)
		if (!barrier_has_counted(b, sight->tickets[i].id))
			return sight->tickets[i].count;
	return 0;
}

static void look_waiting(struct barrier *b, struct barrier_member *m, const struct ticket *own,
			 const struct sight *sight)
{
	unsigned count = own ? wanted(b, sight) : m->count;

	if (b->refused)
		m->answer = (struct barrier_answer){.outcome = BARRIER_UNKNOWN, .why = b->why};
	else if (count != m->count)
		m->answer = (struct barrier_answer){.outcome = BARRIER_OTHER_COUNT, .count = count};
	else if (own || !is_forgotten(b, m)) {
		if (!own && b->there && b->busy < CREATES_MAX)
			make_node(b, m);
		return;
	}
	m->state = MEMBER_ENDS;
	end(b, m, own);
}

/* One of the last round that has not left, any of them; NULL. */
static const struct ticket *inside(const struct barrier *b, const struct sight *sight)
{
	const struct ticket *found = NULL;
	uint64_t n = 0, random;

	for (size_t i = 0; i < sight->n; i++) {
		const struct ticket *t = &sight->tickets[i];
		if (!t->command || !barrier_is_last(b, t->id))
			continue;
		host_random(b->all->session->host, &random, sizeof(random));
		if (random % ++n == 0)
			found = t;
	}
	return found;
}

static void look_leaving(struct barrier *b, struct barrier_member *m, const struct ticket *own,
			 const struct sight *sight)
{
	if (m->czxid == 0)
		m->czxid = b->czxid; /* it was made by the previous sidecar */
	if (own && !b->refused) {
		delete_node(b, own->name, false);
		return;
	}
	if (m->fn && b->there && b->czxid == m->czxid && b->record->round == m->round &&
	    inside(b, sight))
		return; /* barrier_consider() watches */
	barrier_tell(b, m, &(struct barrier_answer){.outcome = BARRIER_LEFT});
}

static void look_member(struct barrier *b, struct barrier_member *m, const struct sight *sight)
{
	const struct ticket *own = find_node(b, sight, m->id, m->state != MEMBER_WAITS);

	switch (m->state) {
	case MEMBER_INSIDE: break;
	case MEMBER_LEAVES: look_leaving(b, m, own, sight); break;
	case MEMBER_WAITS:
	case MEMBER_ENDS:
		if (barrier_has_counted(b, m->id))
			be_counted(b, m, own);
		else if (m->state == MEMBER_WAITS)
			look_waiting(b, m, own, sight);
		else
			end(b, m, own);
		break;
	}
}

/* --- reading -------------------------------------------------------------- */

static void on_watched(void *arg, const struct store_reply *reply)
{
	struct barrier *b = arg;

	/* Otherwise the watch tells. */
	b->dirty |= reply->code != STORE_OK;
	b->unsure |= is_lost(reply);
	answered(b);
}

/* Who waits for others to leave watches one of their nodes, which tells of the next read. */
static void watch_inside(struct barrier *b, const struct sight *sight)
{
	const struct ticket *t = b->busy > 0 ? NULL : inside(b, sight);
	char path[STORE_PATH_MAX] = "";
	bool waits = false;

	for (const struct barrier_member *m = b->members; m; m = m->next)
		waits |= m->state == MEMBER_LEAVES || m->state == MEMBER_WAITS;
	if (t && waits)
		barrier_path(b, t->name, path);
	if (strcmp(path, b->watched) != 0)
		barrier_unwatch_inside(b);
	if (!path[0])
		return;
	memcpy(b->watched, path, sizeof(path));
	b->busy++;
	watches_exists(&b->all->session->watches, path, WATCH_RECIPE, b, on_watched, b);
}

/* Not used for long: removed, unless a member has come or it has opened. */
static void remove_idle(struct barrier *b, size_t n_names)
{
	char path[STORE_PATH_MAX];

	barrier_path(b, NULL, path);
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = b->all->session->registration, .version = -1},
		{.type = STORE_OP_DELETE, .path = path, .version = b->version},
	};
	if (b->there && n_names == 0 && !b->refused) {
		b->busy++;
		store_multi(b->all->session->store, ops, 2, on_folder, b);
	}
}

/* A node of our session without a member: the previous sidecar's, whose client is gone. */
static void take_orphans(struct barrier *b, const struct sight *sight)
{
	for (size_t i = 0; i < sight->n; i++) {
		const struct ticket *t = &sight->tickets[i];
		const struct barrier_member *m = b->members;
		while (m && m->id != t->id)
			m = m->next;
		if (m || t->session != b->all->session->id)
			continue;
		struct barrier_member *orphan = barrier_add(b, t->id);
		orphan->command = t->command;
		orphan->state = MEMBER_ENDS;
	}
	b->orphans = false;
}

static void decide(struct barrier *b)
{
	const struct sight *sight = &b->sight;
	struct barrier_member *next;

	if (b->orphans)
		take_orphans(b, sight);
	for (struct barrier_member *m = b->members; m; m = next) {
		next = m->next;
		look_member(b, m, sight);
	}
	if (!b->members && b->removing)
		remove_idle(b, sight->n_names);
	else if (b->members && !b->there && !b->refused)
		make_barrier(b);
	b->refused = false;
	if (b->busy == 0)
		barrier_consider(b, sight);
	watch_inside(b, sight);
}

static void forget_sight(struct barrier *b)
{
	free(b->sight.tickets);
	b->sight = (struct sight){.n = 0};
	free(b->sorted);
	b->sorted = NULL;
	free(b->record);
	b->record = NULL;
}

/* The record is still what it was before the names: only then do both tell of one moment. */
static void on_same(void *arg, const struct store_reply *reply)
{
	struct barrier *b = arg;
	bool there = reply->code == STORE_OK;

	b->busy--;
	b->lost |= is_lost(reply);
	b->unsure = b->lost;
	if (b->lost) {
		b->dirty = true;
	} else if (there != b->there || (there && (reply->stat.version != b->version ||
						   reply->stat.czxid != b->czxid))) {
		b->dirty = true;
	} else if (!b->closed) {
		b->sorted = mem_calloc(b->record->n_ids + 1, sizeof(uint64_t));
		memcpy(b->sorted, b->record->ids, b->record->n_ids * sizeof(uint64_t));
		qsort(b->sorted, b->record->n_ids, sizeof(uint64_t), compare_ids);
		decide(b);
	}
	forget_sight(b);
	go_on(b);
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct barrier *b = arg;
	struct sight *sight = &b->sight;

	b->busy--; /* one more is to come */
	b->lost |= is_lost(reply);
	if (reply->code != STORE_OK || b->closed)
		return;
	sight->n_names = reply->n_names;
	sight->tickets = mem_calloc(reply->n_names + 1, sizeof(struct ticket));
	for (size_t i = 0; i < reply->n_names; i++)
		sight->n += ticket_parse(reply->names[i], &sight->tickets[sight->n]);
	qsort(sight->tickets, sight->n, sizeof(struct ticket), ticket_compare);
}

static void on_record(void *arg, const struct store_reply *reply)
{
	struct barrier *b = arg;
	const char *why = reply->text;
	int32_t version = b->version;

	b->busy--; /* two more are to come */
	b->lost = is_lost(reply);
	b->there = reply->code == STORE_OK;
	b->version = b->there ? reply->stat.version : -1;
	b->czxid = b->there ? reply->stat.czxid : 0;
	if (b->version != version)
		b->try_ms = 0;
	if (b->lost || reply->code == STORE_NO_NODE ||
	    (b->there && record_parse_barrier(reply->data, reply->len, b->record, &why) == 0))
		return;
	log_warning("barrier not understood", LOG_STR("barrier", b->name), LOG_STR("why", why));
	memset(b->record, 0, sizeof(*b->record));
	b->refused = true;
	b->why = b->there ? "there is something else in the barrier's place"
			  : "refused by the ZooKeeper server";
}

/* What is there: the record, the names, and whether the record has changed meanwhile. */
void barrier_read(struct barrier *b)
{
	struct session *s = b->all->session;
	char path[STORE_PATH_MAX];

	barrier_path(b, NULL, path);
	b->dirty = false;
	b->busy += 3;
	b->record = mem_calloc(1, sizeof(*b->record));
	if (b->unsure)
		session_confirm(s);
	if (b->members)
		watches_get(&s->watches, path, WATCH_RECIPE, b, on_record, b);
	else
		store_get(s->store, path, false, on_record, b);
	store_children(s->store, path, false, on_names, b);
	store_exists(s->store, path, false, on_same, b);
}
