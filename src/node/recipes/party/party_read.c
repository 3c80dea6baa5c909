#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

#define RETRY_MS 100 /* while the registration is being renewed */

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

void party_on_done(void *arg, const struct store_reply *reply)
{
	struct party *p = arg;
	struct session *s = p->all->session;
	const struct party_kind *kind = p->all->kind;

	p->dirty = true;
	p->unsure |= party_is_lost(reply);
	if (!p->closed && reply->code == STORE_NO_NODE && reply->failed_op == 0) {
		session_confirm(s);
		p->retry_ms = host_now_ms(s->host) + RETRY_MS;
	} else if (store_is_refusal(reply->code)) {
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
	for (struct party_member *m = p->members; m && reply->code != STORE_OK; m = m->next)
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

/* Makes the party, without members yet, and its parent folder, if there is a waiter here. */
static void make(struct party *p)
{
	const struct party_member *waiting = p->members;
	char folder[STORE_PATH_MAX];
	struct party_ops o;

	while (waiting && waiting->state != PARTY_WAITS)
		waiting = waiting->next;
	if (!waiting)
		return;
	path_of(p->all->registry->settings, p->all->kind->folder, NULL, folder);
	p->busy++;
	store_create(p->all->session->store, folder, on_folder, p);
	if (p->all->kind->leased)
		p->gang->count = waiting->count;
	party_ops_init(&o, p, 2, true);
	party_ops_record(&o, STORE_OP_CREATE, 0, p->record);
	party_ops_send(&o, on_made);
}

/* --- next steps ----------------------------------------------------------- */

bool party_end(struct party *p, struct party_member *m, const struct party_ticket *own)
{
	party_move(m, PARTY_ENDS);
	if (own && !p->refused) {
		party_delete_node(p, own, PARTY_UNLESS_COUNTED);
		return true;
	}
	return false;
}

/* A node of our session without a member is the previous sidecar's, whose client is gone. */
static void take_orphans(struct party *p)
{
	for (size_t i = 0; i < p->sight->n; i++) {
		const struct party_ticket *t = &p->sight->tickets[i];
		if (t->left || t->session != p->all->session->id || party_find(p, t->id))
			continue;
		struct party_member *orphan = party_add(p, t->id);
		memcpy(orphan->key, t->key, sizeof(t->key));
		orphan->kind = t->kind;
		party_move(orphan, PARTY_ENDS);
	}
	p->orphans = false;
}

/* Takes the steps. `busy` still counts one request, so that no read begins meanwhile. */
static void decide(struct party *p)
{
	struct party_member *next;

	if (p->all->kind->look)
		p->all->kind->look(p);
	if (p->orphans)
		take_orphans(p);
	for (struct party_member *m = p->members; m; m = next) {
		next = m->next;
		p->all->kind->check(p, m);
	}
	if (!p->there && !p->refused)
		make(p);
	else if (p->sweep && !p->members)
		p->all->kind->sweep(p);
	p->sweep = p->refused = false;
	p->all->kind->decided(p);
}

/* --- reading -------------------------------------------------------------- */

static void forget_sight(struct party *p)
{
	if (p->sight) {
		free(p->sight->tickets);
		free(p->sight->text);
	}
	free(p->sight);
	free(p->record);
	p->sight = NULL;
	p->record = NULL;
}

/* Sorts the listed nodes into members and waiters, by the record. */
static void sort_out(struct party *p)
{
	struct party_sight *s = p->sight;

	for (size_t i = 0; i < s->n; i++) {
		struct party_ticket *ticket = &s->tickets[i];
		ticket->index = p->all->kind->index(p, ticket->id);
		if (ticket->left) {
			s->n_marked++;
			if (ticket->index >= 0)
				s->marked[ticket->index] = true;
		} else if (ticket->index >= 0) {
			s->n_running += s->by_index[ticket->index] == NULL;
			s->by_index[ticket->index] = ticket;
		} else {
			s->n_waiting++;
		}
	}
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
		sort_out(p);
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
	s->text = mem_alloc(len + 1);
	s->tickets = mem_calloc(reply->n_names + 1, sizeof(*s->tickets));
	for (size_t i = 0; i < reply->n_names; i++) {
		len = strlen(reply->names[i]) + 1;
		memcpy(s->text + at, reply->names[i], len);
		s->n += party_ticket_parse(p->all->kind->folder, s->text + at, &s->tickets[s->n]);
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
	if (p->members)
		watches_get(&s->watches, path, WATCH_RECIPE, p, on_record, p);
	else
		store_get(s->store, path, false, on_record, p);
	store_children(s->store, path, false, on_names, p);
	store_exists(s->store, path, false, on_same, p);
}
