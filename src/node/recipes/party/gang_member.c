/* The next step of one member, by the state that was read. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/recipes/party/gang_parts.h"
#include "node/tree/paths.h"

#define CREATES_MAX 100 /* nodes made at a time */

static const char in_use[] = "a gang of that name runs";
static const char key_in_use[] = "a member with that key is there";
static const char rejoining[] = "members of an earlier run wait for the others to come back";
static const char other_loss[] = "the others have another --on-loss";
static const char was_lost[] = "the session with ZooKeeper ended as the gang began";

static const struct node_settings *settings_of(const struct gang *g)
{
	return g->all->registry->settings;
}

/* --- requests ------------------------------------------------------------- */

static void pack_own(const struct gang *g, struct buffer *out)
{
	const struct registry *r = g->all->registry;
	struct gang_member_record record = {.node = ""};

	memcpy(record.node, r->node, sizeof(r->node));
	memcpy(record.machine, r->machine, sizeof(r->machine));
	memcpy(record.ip, r->ip, sizeof(r->ip));
	memcpy(record.hostname, r->hostname, sizeof(r->hostname));
	buffer_init(out, RECORD_GANG_MEMBER_MAX);
	int error = record_pack_gang_member(out, &record);
	assert(error == 0);
	(void)error;
}

static struct gang_ticket own_ticket(const struct gang *g, const struct gang_member *m)
{
	struct gang_ticket t = {.id = m->id,
				.count = m->count,
				.goes_on = m->goes_on,
				.session = g->all->session->id};

	memcpy(t.key, m->key, sizeof(m->key));
	return t;
}

/* The record proves that the member is not in it yet. */
static void make_node(struct gang *g, const struct gang_member *m)
{
	const struct gang_ticket t = own_ticket(g, m);
	char path[STORE_PATH_MAX], node[STORE_PATH_MAX];
	struct buffer data;

	if (g->busy >= CREATES_MAX || !gang_ticket_path(settings_of(g), g->name, &t, node))
		return;
	gang_path(g, path);
	pack_own(g, &data);
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = g->all->session->registration, .version = -1},
		{.type = STORE_OP_CHECK, .path = path, .version = g->version},
		{.type = STORE_OP_CREATE_SEQUENTIAL,
		 .path = node,
		 .data = data.data,
		 .len = data.len},
	};
	gang_send(g, ops, 3);
	buffer_done(&data);
}

/* Under its key, in the place of one that was lost, while another of the gang is there. */
static void come_back(struct gang *g, const struct gang_member *m, int index)
{
	mem_auto struct gang_record *record = mem_alloc(sizeof(*record));
	struct gang_place *place = &record->members[index];
	const struct registry *r = g->all->registry;
	const struct gang_ticket t = own_ticket(g, m), *other = NULL;
	char path[STORE_PATH_MAX], node[STORE_PATH_MAX], running[STORE_PATH_MAX];
	struct buffer data, own;

	for (size_t i = 0; i < g->record->n && !other; i++)
		other = g->sight->by_index[i];
	assert(other);
	*record = *g->record;
	place->id = m->id;
	memcpy(place->ip, r->ip, sizeof(place->ip));
	memcpy(place->hostname, r->hostname, sizeof(place->hostname));
	buffer_init(&data, RECORD_GANG_MAX);
	int error = record_pack_gang(&data, record);
	assert(error == 0);
	(void)error;
	pack_own(g, &own);
	gang_path(g, path);
	gang_ticket_path(settings_of(g), g->name, &t, node);
	gang_ticket_path(settings_of(g), g->name, other, running);
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = g->all->session->registration, .version = -1},
		{.type = STORE_OP_CHECK, .path = running, .version = -1},
		{.type = STORE_OP_SET,
		 .path = path,
		 .data = data.data,
		 .len = data.len,
		 .version = g->version},
		{.type = STORE_OP_CREATE_SEQUENTIAL,
		 .path = node,
		 .data = own.data,
		 .len = own.len},
	};
	gang_send(g, ops, 4);
	buffer_done(&data);
	buffer_done(&own);
}

enum how { UNLESS_BEGUN, LEFT, LOST };

static void delete_node(struct gang *g, const struct gang_ticket *own, enum how how)
{
	const struct gang_ticket mark = {.id = own->id, .left = true};
	char path[STORE_PATH_MAX], node[STORE_PATH_MAX], mark_path[STORE_PATH_MAX];

	gang_path(g, path);
	gang_ticket_path(settings_of(g), g->name, own, node);
	gang_ticket_path(settings_of(g), g->name, &mark, mark_path);
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = g->all->session->registration, .version = -1},
		{.type = STORE_OP_CHECK,
		 .path = path,
		 .version = how == UNLESS_BEGUN ? g->version : -1},
		{.type = STORE_OP_DELETE, .path = node, .version = -1},
		{.type = STORE_OP_CREATE, .path = mark_path},
	};
	gang_send(g, ops, how == LEFT ? 4 : 3);
}

/* --- one with our key ----------------------------------------------------- */

struct rival_look {
	struct gang *gang;
	uint64_t id; /* of the member that asks */
	uint64_t rival;
};

static void on_rival(void *arg, const struct store_reply *reply)
{
	struct rival_look *look = arg;
	struct gang *g = look->gang;
	const struct registry *r = g->all->registry;
	struct gang_member_record record;
	const char *why;

	g->dirty = true;
	g->unsure |= gang_is_lost(reply);
	for (struct gang_member *m = g->closed ? NULL : g->members; m; m = m->next) {
		if (m->id != look->id || reply->code != STORE_OK)
			continue;
		m->rival = look->rival;
		m->rival_goes =
			record_parse_gang_member(reply->data, reply->len, &record, &why) == 0 &&
			strcmp(record.node, r->node) == 0 &&
			strcmp(record.machine, r->machine) == 0;
	}
	free(look);
	gang_answered(g);
}

/* The read that tells its session also watches it, so we hear of its end. */
static void ask_rival(struct gang *g, struct gang_member *m, const struct gang_ticket *t)
{
	struct rival_look *look = mem_alloc(sizeof(*look));
	char path[STORE_PATH_MAX];

	*look = (struct rival_look){g, m->id, t->id};
	gang_ticket_path(settings_of(g), g->name, t, path);
	if (strcmp(path, m->watched) != 0)
		gang_unwatch(m);
	memcpy(m->watched, path, sizeof(path));
	g->busy++;
	watches_get(&g->all->session->watches, path, WATCH_RECIPE, m, on_rival, look);
}

/* One that nobody asks for any more goes soon. */
static bool is_asked_for(const struct gang *g, uint64_t id)
{
	for (const struct gang_member *m = g->members; m; m = m->next)
		if (m->id == id)
			return m->held.owner && m->state != GANG_ENDS;
	return false;
}

static const struct gang_ticket *find_rival(const struct gang *g, const struct gang_member *m,
					    const struct gang_ticket *own)
{
	for (size_t i = 0; i < g->sight->n; i++) {
		const struct gang_ticket *t = &g->sight->tickets[i];
		if (!t->left && t->id != m->id && strcmp(t->key, m->key) == 0 &&
		    (!own || t->number < own->number))
			return t;
	}
	return NULL;
}

/* --- what follows --------------------------------------------------------- */

/* Its node, of our session or of another. */
static const struct gang_ticket *find_node(const struct gang *g, const struct gang_member *m,
					   bool ours)
{
	for (size_t i = 0; i < g->sight->n; i++) {
		const struct gang_ticket *t = &g->sight->tickets[i];
		if (!t->left && t->id == m->id && (t->session == g->all->session->id) == ours)
			return t;
	}
	return NULL;
}

/*
 * Its node of an earlier session, made by the previous sidecar for the same client. While it exists
 * others may begin with it, even after we answered no.
 */
static const struct gang_ticket *find_stale(const struct gang *g, const struct gang_member *m)
{
	return find_node(g, m, false);
}

static void end(struct gang *g, struct gang_member *m, const struct gang_ticket *own)
{
	if (own && !g->refused) {
		delete_node(g, own, UNLESS_BEGUN);
		return;
	}
	if (g->there && g->record->n == 0 && !g->refused && g->sight->n_names == 0 &&
	    g->dissolved == 0)
		gang_dissolve(g); /* perhaps another one comes: then it stays */
	gang_tell(g, m, &m->answer);
}

static void give_up(struct gang *g, struct gang_member *m, const struct gang_ticket *own,
		    struct gang_answer answer)
{
	m->state = GANG_ENDS;
	m->answer = answer;
	end(g, m, own);
}

static void refuse(struct gang *g, struct gang_member *m, const struct gang_ticket *own,
		   enum gang_outcome outcome, const char *why)
{
	give_up(g, m, own, (struct gang_answer){.outcome = outcome, .why = why});
}

/* True: one with our key is there, and what follows from that was done. */
static bool has_rival(struct gang *g, struct gang_member *m, const struct gang_ticket *own)
{
	const struct gang_ticket *t = find_rival(g, m, own);

	if (!t)
		return false;
	if (t->session == g->all->session->id) {
		/* One that is not here was the sidecar's before us: it comes back soon, or goes. */
		if (is_asked_for(g, t->id))
			refuse(g, m, own, GANG_IN_USE, key_in_use);
		else
			g->wake_ms = host_now_ms(g->all->session->host) + SESSION_PATIENCE_MS;
	} else if (m->rival != t->id) {
		ask_rival(g, m, t);
	} else if (!m->rival_goes) {
		refuse(g, m, own, GANG_IN_USE, key_in_use);
	}
	return true;
}

static bool fits(const struct gang_member *m, unsigned count, bool goes_on)
{
	return m->count == count && m->goes_on == goes_on;
}

static void refuse_misfit(struct gang *g, struct gang_member *m, const struct gang_ticket *own,
			  unsigned count)
{
	if (m->count == count)
		refuse(g, m, own, GANG_IN_USE, other_loss);
	else
		give_up(g, m, own,
			(struct gang_answer){.outcome = GANG_OTHER_COUNT, .count = count});
}

static void place(struct gang *g, struct gang_member *m, const struct gang_ticket *own)
{
	if (!has_rival(g, m, own) && !own)
		make_node(g, m);
}

/* Nothing has begun: the first waiter decides the count. */
static void look_forming(struct gang *g, struct gang_member *m, const struct gang_ticket *own)
{
	for (size_t i = 0; i < g->sight->n; i++) {
		const struct gang_ticket *t = &g->sight->tickets[i];
		if (t->left)
			continue;
		if (!fits(m, t->count, t->goes_on)) {
			refuse_misfit(g, m, own, t->count);
			return;
		}
		break;
	}
	place(g, m, own);
}

/* A gang runs. */
static void look_live(struct gang *g, struct gang_member *m, const struct gang_ticket *own)
{
	const struct gang_record *r = g->record;
	int index = gang_index_of_key(r, m->key);

	if (index < 0 || g->sight->marked[index])
		refuse(g, m, own, GANG_IN_USE, in_use);
	else if (!fits(m, (unsigned)r->count, r->goes_on))
		refuse_misfit(g, m, own, (unsigned)r->count);
	else if (!r->goes_on)
		place(g, m, own); /* it stops, as we were lost: another begins then */
	else if (own)
		delete_node(g, own, UNLESS_BEGUN);
	else if (!has_rival(g, m, own))
		come_back(g, m, index);
}

/* One has run, and nobody of it is there. */
static void look_dead(struct gang *g, struct gang_member *m, const struct gang_ticket *own)
{
	const struct gang_record *r = g->record;
	int index = gang_index_of_key(r, m->key);
	bool over = true;

	for (size_t i = 0; i < r->n; i++)
		over &= g->sight->marked[i];
	if (over || (index < 0 && gang_is_dead(g)))
		gang_dissolve(g);
	else if (index >= 0 && fits(m, (unsigned)r->count, r->goes_on))
		place(g, m, own);
	else if (index >= 0)
		refuse_misfit(g, m, own, (unsigned)r->count);
	else if (own)
		delete_node(g, own, UNLESS_BEGUN);
	else if (g->sight->n_waiting > 0)
		refuse(g, m, own, GANG_IN_USE, rejoining);
	else
		g->wake_ms = host_now_ms(g->all->session->host) + 1000;
}

static void run(struct gang_member *m, int index)
{
	m->state = GANG_RUNS;
	m->index = (size_t)index;
	m->deadline_ms = INT64_MAX;
	if (!m->held.owner || !m->fn)
		m->state = GANG_LOSES;
}

static void look_waiting(struct gang *g, struct gang_member *m, const struct gang_ticket *own)
{
	if (g->refused)
		refuse(g, m, own, GANG_REFUSED, g->why);
	else if (!g->there)
		return; /* it is made */
	else if (g->record->n == 0)
		look_forming(g, m, own);
	else if (g->sight->n_running > 0)
		look_live(g, m, own);
	else
		look_dead(g, m, own);
}

static void look_running(struct gang *g, struct gang_member *m, const struct gang_ticket *own,
			 int index)
{
	if (!own || index < 0) {
		holder_lose(&m->held);
		if (!m->held.told)
			gang_tell(g, m,
				  &(struct gang_answer){.outcome = m->held.attaching
									   ? GANG_NOT_THERE
									   : GANG_REFUSED,
							.why = was_lost});
		return;
	}
	m->index = (size_t)index;
	if (m->key[0] == '\0')
		memcpy(m->key, own->key, sizeof(own->key));
	if (g->record->lost && !g->record->goes_on)
		holder_lose(&m->held);
	if (m->held.lost && m->held.attaching) {
		gang_tell_early(m, &(struct gang_answer){.outcome = GANG_NOT_THERE});
		m->state = GANG_LOSES;
		g->dirty = true;
		return;
	}
	gang_tell_started(m);
}

/* In order: the last one out takes it all away. */
static void look_leaving(struct gang *g, struct gang_member *m, const struct gang_ticket *own,
			 int index)
{
	m->left |= index >= 0 && g->sight->marked[index];
	if (own && !g->refused) {
		delete_node(g, own, index >= 0 ? LEFT : LOST);
		return;
	}
	if (m->left && g->there && index >= 0 && g->sight->n_running == 0 && !g->refused) {
		gang_dissolve(g);
		if (g->busy > 1)
			return;
	}
	gang_tell(g, m, &m->answer);
}

void gang_check_member(struct gang *g, struct gang_member *m)
{
	const struct gang_ticket *own = find_node(g, m, true);
	int index = gang_index_of(g->record, m->id);

	if (m->state == GANG_WAITS || m->state == GANG_ENDS) {
		const struct gang_ticket *stale = find_stale(g, m);
		if (index >= 0 && own)
			run(m, index);
		else if (index < 0 && stale && !g->refused) {
			delete_node(g, stale, UNLESS_BEGUN);
			return;
		}
	}
	switch (m->state) {
	case GANG_WAITS:
		if (index >= 0)
			refuse(g, m, own, GANG_REFUSED, was_lost);
		else
			look_waiting(g, m, own);
		break;
	case GANG_ENDS:
		if (index >= 0)
			m->answer = (struct gang_answer){.outcome = GANG_REFUSED, .why = was_lost};
		end(g, m, own);
		break;
	case GANG_RUNS: look_running(g, m, own, index); break;
	case GANG_LEAVES: look_leaving(g, m, own, index); break;
	case GANG_LOSES:
		if (own && !g->refused)
			delete_node(g, own, LOST);
		else
			gang_tell(g, m, &m->answer);
		break;
	}
}
