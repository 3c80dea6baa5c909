#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

#define RETRY_MS    100 /* while the registration is being renewed */
#define CREATES_MAX 100 /* nodes made at a time */

/* --- requests ------------------------------------------------------------- */

void party_answered(struct party *p)
{
	struct parties *all = p->all;

	if (--p->busy > 0)
		return;
	if (p->closed) {
		free(p);
		return;
	}
	party_go_on(p);
	parties_schedule(all);
}

bool party_is_lost(const struct store_reply *reply)
{
	return reply->code == STORE_UNKNOWN || reply->code == STORE_ABANDONED;
}

void party_changes(struct party *p, const struct store_reply *reply)
{
	p->dirty = true;
	p->unsure |= party_is_lost(reply);
	if (!p->closed && reply->code == STORE_NO_NODE && reply->failed_op == 0) {
		session_confirm(p->all->session);
		p->retry_ms = party_now(p) + RETRY_MS;
	}
}

void party_on_done(void *arg, const struct store_reply *reply)
{
	struct party *p = arg;
	const struct party_kind *kind = p->all->kind;

	party_changes(p, reply);
	if (store_is_refusal(reply->code)) {
		log_warning(kind->refused, LOG_STR(kind->word, p->name),
			    LOG_STR("why", reply->text));
		p->refused = true;
		p->why = store_refused_why(reply->code);
	}
	party_answered(p);
}

static void on_watched(void *arg, const struct store_reply *reply)
{
	struct party *p = arg;

	/* The watch tells otherwise. */
	for (struct party_member *m = STAILQ_FIRST(&p->members); m && reply->code != STORE_OK;
	     m = STAILQ_NEXT(m, link))
		party_watch(m, NULL);
	p->dirty |= reply->code != STORE_OK;
	p->unsure |= party_is_lost(reply);
	party_answered(p);
}

void party_watch_end(struct party_member *m, const struct party_ticket *t)
{
	struct party *p = m->party;

	if (!party_watch(m, t))
		return;
	p->busy++;
	watches_exists(&p->all->session->watches, m->watched, WATCH_RECIPE, m, on_watched, p);
}

/* A folder may exist although this node may not create it: the next request tells. */
static void on_folder(void *arg, const struct store_reply *reply)
{
	struct party *p = arg;

	p->no_folder = store_refusal(reply->code);
	party_answered(p);
}

static void on_made(void *arg, const struct store_reply *reply)
{
	struct party *p = arg;

	if (reply->code == STORE_NO_NODE && reply->failed_op == 1 && p->no_folder != STORE_OK) {
		p->refused = true;
		p->why = store_no_folder_why(p->no_folder);
	}
	party_on_done(p, reply);
}

/* Makes the party, without members yet, and its parent folder. */
static void make(struct party *p, unsigned count)
{
	char folder[STORE_PATH_MAX];
	struct party_ops o;

	path_of(p->all->registry->settings, p->all->kind->folder, NULL, folder);
	p->busy++;
	store_create(p->all->session->store, folder, on_folder, p);
	if (p->all->kind->leased)
		p->gang->count = count;
	party_ops_init(&o, p, 2, true);
	party_ops_record(&o, STORE_OP_CREATE, 0, p->record);
	party_ops_send(&o, on_made);
}

/* --- next steps ----------------------------------------------------------- */

/* A node of our session without a member is the previous sidecar's, whose client is gone. */
static void take_orphans(struct party *p)
{
	for (size_t i = 0; i < p->sight->n; i++) {
		const struct party_ticket *t = &p->sight->tickets[i];
		if (t->left || t->session != p->all->session->id || party_find(p, t->id))
			continue;
		struct party_member *orphan = party_add(p, t->id);
		orphan->place.as = *t;
		orphan->place.as.name = NULL;
		party_happens(orphan, PARTY_GIVEN_UP);
	}
	p->orphans = false;
}

/* A waiter's key may have a place in the record. */
static int seat_of(const struct party *p, const char *key)
{
	return p->all->kind->seat ? p->all->kind->seat(p, key) : -1;
}

static void look(struct party_member *m)
{
	struct party *p = m->party;
	const struct party_ticket *as = &m->place.as;
	bool waits = m->place.state == PARTY_WAITS;

	p->sight->sent = p->busy > 1;
	p->sight->full = p->busy > CREATES_MAX;
	party_give(m, (struct party_event){.type = PARTY_LOOK,
					   .sight = p->sight,
					   .index = p->all->kind->index(p, as->id),
					   .seat = waits ? seat_of(p, as->key) : -1});
}

/* Carries out what is to be done about the party itself. */
static void carry_out(struct party *p, enum party_act act, const struct party_chosen *c)
{
	if (act == PARTY_MAKE)
		make(p, p->sight->makes);
	else if (act == PARTY_REMOVE)
		p->all->kind->remove(p);
	else if (act == PARTY_NOTE_EMPTY || act == PARTY_NOTE_LOSS)
		gang_note(p, act == PARTY_NOTE_LOSS);
	else if (act == PARTY_OPEN)
		p->all->kind->open(p, c);
	for (struct party_member *m = STAILQ_FIRST(&p->members); m && act == PARTY_REST;
	     m = STAILQ_NEXT(m, link))
		party_happens(m, PARTY_LOOKED);
}

/* Takes the steps. `busy` still counts one request, so that no read begins meanwhile. */
static void decide(struct party *p)
{
	struct party_member *next;
	struct party_chosen chosen;

	if (p->orphans)
		take_orphans(p);
	for (struct party_member *m = STAILQ_FIRST(&p->members); m; m = next) {
		next = STAILQ_NEXT(m, link);
		look(m);
	}
	for (const struct party_member *m = STAILQ_FIRST(&p->members); m && p->sight->makes == 0;
	     m = STAILQ_NEXT(m, link))
		p->sight->makes = m->place.state == PARTY_WAITS ? m->place.as.count : 0;
	p->sight->sweeps = p->sweep && STAILQ_EMPTY(&p->members);
	p->sight->sent = p->busy > 1;
	p->sweep = p->refused = false;
	carry_out(p, party_decide(p->sight, &p->try_ms, &chosen), &chosen);
	p->all->kind->watch(p);
}

/* --- reading -------------------------------------------------------------- */

static void forget_sight(struct party *p)
{
	if (p->sight)
		free(p->sight->tickets);
	free(p->sight);
	free(p->text);
	free(p->record);
	p->sight = NULL;
	p->record = p->text = NULL;
}

/* Adds what else there is to know to the nodes that were listed. */
static void complete(struct party *p)
{
	struct party_sight *s = p->sight;

	for (size_t i = 0; i < s->n; i++) {
		struct party_ticket *ticket = &s->tickets[i];
		ticket->index = p->all->kind->index(p, ticket->id);
		ticket->seat = ticket->index < 0 ? seat_of(p, ticket->key) : -1;
	}
	party_sort(s);
	s->gang = p->all->kind->leased;
	s->there = p->there;
	s->refused = p->refused ? p->why : NULL;
	s->session = p->all->session->id;
	s->now_ms = party_now(p);
	s->czxid = p->czxid;
	s->removes = true;
	p->all->kind->fill(p, s);
}

/*
 * Compares the record with the first read: if it is unchanged, record and names are of one moment.
 */
static void on_same(void *arg, const struct store_reply *reply)
{
	struct party *p = arg;
	bool there = reply->code == STORE_OK;

	p->lost |= party_is_lost(reply);
	p->unsure = p->lost;
	if (p->lost || there != p->there ||
	    (there && (reply->stat.version != p->version || reply->stat.czxid != p->czxid))) {
		p->dirty = true;
	} else if (!p->closed && p->sight) {
		if (there && reply->stat.pzxid != p->pzxid)
			p->pzxid = 0; /* a node came or went meanwhile */
		complete(p);
		decide(p);
	}
	forget_sight(p);
	party_answered(p);
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct party *p = arg;
	struct party_sight *s;
	size_t len = 0, at = 0;

	p->busy--; /* the last answer follows */
	p->lost |= party_is_lost(reply);
	s = p->sight = mem_calloc(1, sizeof(*s));
	if (reply->code != STORE_OK || p->closed)
		return;
	for (size_t i = 0; i < reply->n_names; i++)
		len += strlen(reply->names[i]) + 1;
	s->n_names = reply->n_names;
	p->text = mem_alloc(len + 1);
	s->tickets = mem_calloc(reply->n_names + 1, sizeof(*s->tickets));
	for (size_t i = 0; i < reply->n_names; i++) {
		len = strlen(reply->names[i]) + 1;
		memcpy(p->text + at, reply->names[i], len);
		s->n += party_ticket_parse(p->all->kind->folder, p->text + at, &s->tickets[s->n]);
		at += len;
	}
	qsort(s->tickets, s->n, sizeof(*s->tickets), party_ticket_compare);
}

static void on_record(void *arg, const struct store_reply *reply)
{
	struct party *p = arg;
	const struct party_kind *kind = p->all->kind;
	const char *why = reply->text;
	int32_t version = p->version;
	char path[STORE_PATH_MAX];

	p->busy--; /* two more answers follow */
	p->lost = party_is_lost(reply);
	p->there = reply->code == STORE_OK;
	p->version = p->there ? reply->stat.version : -1;
	p->czxid = p->there ? reply->stat.czxid : 0;
	p->pzxid = p->there ? reply->stat.pzxid : 0;
	if (p->version != version)
		p->try_ms = 0;
	if (p->lost || reply->code == STORE_NO_NODE ||
	    (p->there && kind->parse(reply->data, reply->len, p->record, &why) == 0))
		return;
	path_of(p->all->registry->settings, kind->folder, p->name, path);
	log_warning(kind->strange, LOG_STR("znode", path), LOG_STR("why", why));
	memset(p->record, 0, kind->record_size);
	p->refused = true;
	p->why = p->there ? kind->foreign : "refused by the ZooKeeper server";
}

/* Reads the record and the names, and whether the record has changed meanwhile. */
void party_read(struct party *p)
{
	struct session *s = p->all->session;
	char path[STORE_PATH_MAX];

	party_path(p, path);
	p->dirty = false;
	p->busy += 3;
	p->record = mem_calloc(1, p->all->kind->record_size);
	if (p->unsure)
		session_confirm(s);
	if (!STAILQ_EMPTY(&p->members))
		watches_get(&s->watches, path, WATCH_RECIPE, p, on_record, p);
	else
		store_get(s->store, path, false, on_record, p);
	store_children(s->store, path, false, on_names, p);
	store_exists(s->store, path, false, on_same, p);
}
