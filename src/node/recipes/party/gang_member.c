/* The next step of one member, by the state that was read. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

static const char in_use[] = "a gang of that name runs";
static const char key_in_use[] = "a member with that key is there";
static const char rejoining[] = "members of an earlier run wait for the others to come back";
static const char other_loss[] = "the others have another --on-loss";
static const char was_lost[] = "the session with ZooKeeper ended as the gang began";

/* --- requests ------------------------------------------------------------- */

static void pack_own(const struct party *p, struct buffer *out)
{
	const struct registry *r = p->all->registry;
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

/* A member with the key of a lost one takes its place, while another member is there. */
static void come_back(struct party *p, const struct party_member *m, int index,
		      const struct buffer *own)
{
	mem_auto struct gang_record *record = mem_alloc(sizeof(*record));
	struct gang_place *place = &record->members[index];
	const struct registry *r = p->all->registry;
	const struct party_ticket t = party_ticket_of(m);
	struct party_ops o;

	*record = *p->gang;
	place->id = m->id;
	memcpy(place->ip, r->ip, sizeof(place->ip));
	memcpy(place->hostname, r->hostname, sizeof(place->hostname));
	party_ops_init(&o, p, 4, true);
	party_ops_node(&o, STORE_OP_CHECK, gang_runner(p), NULL);
	party_ops_record(&o, STORE_OP_SET, p->version, record);
	party_ops_node(&o, STORE_OP_CREATE_SEQUENTIAL, &t, own);
	party_ops_send(&o, party_on_done);
}

/* index: the place that the member takes again; -1: it waits. */
static void make_node(struct party *p, const struct party_member *m, int index)
{
	struct buffer own;

	pack_own(p, &own);
	if (index >= 0)
		come_back(p, m, index, &own);
	else
		party_make_node(p, m, &own);
	buffer_done(&own);
}

/* --- rivals with the same key --------------------------------------------- */

struct rival_look {
	struct party *party;
	uint64_t id; /* id of the member that asks */
	uint64_t rival;
};

static void on_rival(void *arg, const struct store_reply *reply)
{
	struct rival_look *look = arg;
	struct party *p = look->party;
	const struct registry *r = p->all->registry;
	struct gang_member_record record;
	const char *why;

	p->dirty = true;
	p->unsure |= party_is_lost(reply);
	for (struct party_member *m = p->closed ? NULL : p->members; m; m = m->next) {
		if (m->id != look->id || reply->code != STORE_OK)
			continue;
		m->rival = look->rival;
		m->rival_goes =
			record_parse_gang_member(reply->data, reply->len, &record, &why) == 0 &&
			strcmp(record.node, r->node) == 0 &&
			strcmp(record.machine, r->machine) == 0;
	}
	free(look);
	party_answered(p);
}

/* The read of a rival's node also watches it, so that its end is noticed. */
static void ask_rival(struct party *p, struct party_member *m, const struct party_ticket *t)
{
	struct rival_look *look = mem_alloc(sizeof(*look));

	*look = (struct rival_look){p, m->id, t->id};
	party_watch(m, t);
	p->busy++;
	watches_get(&p->all->session->watches, m->watched, WATCH_RECIPE, m, on_rival, look);
}

/* Whether a client still asks for the member. Otherwise it will go soon. */
static bool is_asked_for(const struct party *p, uint64_t id)
{
	const struct party_member *m = party_find(p, id);

	return m && m->held.owner && m->state != PARTY_ENDS;
}

static const struct party_ticket *find_rival(const struct party *p, const struct party_member *m,
					     const struct party_ticket *own)
{
	for (size_t i = 0; i < p->sight->n; i++) {
		const struct party_ticket *t = &p->sight->tickets[i];
		if (!t->left && t->id != m->id && strcmp(t->key, m->key) == 0 &&
		    (!own || t->number < own->number))
			return t;
	}
	return NULL;
}

/* --- next steps ----------------------------------------------------------- */

static void end(struct party *p, struct party_member *m, const struct party_ticket *own)
{
	if (party_end(p, m, own))
		return;
	if (p->there && p->gang->n == 0 && !p->refused && p->sight->n_names == 0 &&
	    p->dissolved == 0)
		gang_dissolve(p); /* the gang stays if another member has come */
	party_tell(m, &m->answer);
}

static void give_up(struct party *p, struct party_member *m, const struct party_ticket *own,
		    struct party_answer answer)
{
	m->answer = answer;
	end(p, m, own);
}

static void refuse(struct party *p, struct party_member *m, const struct party_ticket *own,
		   enum party_outcome outcome, const char *why)
{
	give_up(p, m, own, (struct party_answer){.outcome = outcome, .why = why});
}

/* Whether another member with our key is present; if so, handles that. */
static bool has_rival(struct party *p, struct party_member *m, const struct party_ticket *own)
{
	const struct party_ticket *t = find_rival(p, m, own);

	if (!t)
		return false;
	if (t->session == p->all->session->id) {
		/*
		 * A node without a member here is the previous sidecar's: its client returns soon,
		 * or it goes.
		 */
		if (is_asked_for(p, t->id))
			refuse(p, m, own, PARTY_IN_USE, key_in_use);
		else
			p->wake_ms = party_now(p) + SESSION_PATIENCE_MS;
	} else if (m->rival != t->id) {
		ask_rival(p, m, t);
	} else if (!m->rival_goes) {
		refuse(p, m, own, PARTY_IN_USE, key_in_use);
	}
	return true;
}

static bool fits(const struct party_member *m, unsigned count, bool goes_on)
{
	return m->count == count && (m->kind == 'c') == goes_on;
}

static void refuse_misfit(struct party *p, struct party_member *m, const struct party_ticket *own,
			  unsigned count)
{
	if (m->count == count)
		refuse(p, m, own, PARTY_IN_USE, other_loss);
	else
		give_up(p, m, own,
			(struct party_answer){.outcome = PARTY_OTHER_COUNT, .count = count});
}

static void place(struct party *p, struct party_member *m, const struct party_ticket *own)
{
	if (!has_rival(p, m, own) && !own)
		make_node(p, m, -1);
}

/* No gang has begun: the first waiter decides the count. */
static void look_forming(struct party *p, struct party_member *m, const struct party_ticket *own)
{
	for (size_t i = 0; i < p->sight->n; i++) {
		const struct party_ticket *t = &p->sight->tickets[i];
		if (t->left)
			continue;
		if (!fits(m, t->count, t->kind == 'c')) {
			refuse_misfit(p, m, own, t->count);
			return;
		}
		break;
	}
	place(p, m, own);
}

/* A gang is running. */
static void look_live(struct party *p, struct party_member *m, const struct party_ticket *own)
{
	const struct gang_record *r = p->gang;
	int index = gang_index_of_key(r, m->key);

	if (index < 0 || p->sight->marked[index])
		refuse(p, m, own, PARTY_IN_USE, in_use);
	else if (!fits(m, (unsigned)r->count, r->goes_on))
		refuse_misfit(p, m, own, (unsigned)r->count);
	else if (!r->goes_on)
		place(p, m, own); /* the gang stops, as we were lost: waits for the next one */
	else if (own)
		party_delete_node(p, own, PARTY_UNLESS_COUNTED);
	else if (!has_rival(p, m, own))
		make_node(p, m, index);
}

/* A gang has run, and none of its members is there. */
static void look_dead(struct party *p, struct party_member *m, const struct party_ticket *own)
{
	const struct gang_record *r = p->gang;
	int index = gang_index_of_key(r, m->key);

	if (gang_is_over(p) || (index < 0 && gang_is_dead(p)))
		gang_dissolve(p);
	else if (index >= 0 && fits(m, (unsigned)r->count, r->goes_on))
		place(p, m, own);
	else if (index >= 0)
		refuse_misfit(p, m, own, (unsigned)r->count);
	else if (own)
		party_delete_node(p, own, PARTY_UNLESS_COUNTED);
	else if (p->sight->n_waiting > 0)
		refuse(p, m, own, PARTY_IN_USE, rejoining);
	else
		p->wake_ms = party_now(p) + 1000;
}

/* Tells the client, if the lease is long enough. */
static void tell_started(struct party *p, struct party_member *m)
{
	bool goes_on = m->held.told || m->held.attaching;

	if (!m->fn || !holder_tells(&p->all->holders, &m->held))
		return;
	if (goes_on)
		log_info("gang goes on", LOG_STR("gang", p->name),
			 LOG_INT("index", (int64_t)m->index));
	party_tell_early(m, &(struct party_answer){.outcome = PARTY_OPENED,
						   .number = m->held.number,
						   .index = m->index,
						   .record = p->gang});
}

static void run(struct party_member *m, int index)
{
	party_move(m, PARTY_RUNS);
	m->index = (size_t)index;
	m->deadline_ms = INT64_MAX;
	if (!m->held.owner || !m->fn)
		party_move(m, PARTY_LOSES);
}

static void look_waiting(struct party *p, struct party_member *m, const struct party_ticket *own)
{
	if (p->refused)
		refuse(p, m, own, PARTY_FAILED, p->why);
	else if (!p->there)
		return; /* the node is being made */
	else if (p->gang->n == 0)
		look_forming(p, m, own);
	else if (p->sight->n_running > 0)
		look_live(p, m, own);
	else
		look_dead(p, m, own);
}

static void look_running(struct party *p, struct party_member *m, const struct party_ticket *own,
			 int index)
{
	if (!own || index < 0) {
		holder_lose(&m->held);
		if (!m->held.told)
			party_tell(m, &(struct party_answer){.outcome = m->held.attaching
										? PARTY_NOT_THERE
										: PARTY_FAILED,
							     .why = was_lost});
		return;
	}
	m->index = (size_t)index;
	if (m->key[0] == '\0')
		memcpy(m->key, own->key, sizeof(own->key));
	if (p->gang->lost && !p->gang->goes_on)
		holder_lose(&m->held);
	if (m->held.lost && m->held.attaching) {
		party_tell_early(m, &(struct party_answer){.outcome = PARTY_NOT_THERE});
		party_move(m, PARTY_LOSES);
		p->dirty = true;
		return;
	}
	tell_started(p, m);
}

/* A member leaves in order; the last one to leave deletes the gang. */
static void look_leaving(struct party *p, struct party_member *m, const struct party_ticket *own,
			 int index)
{
	m->left |= index >= 0 && p->sight->marked[index];
	if (own && !p->refused) {
		party_delete_node(p, own, index >= 0 ? PARTY_WITH_A_MARK : PARTY_IN_ANY_CASE);
		return;
	}
	if (m->left && p->there && index >= 0 && p->sight->n_running == 0 && !p->refused) {
		gang_dissolve(p);
		if (p->busy > 1)
			return;
	}
	party_tell(m, &m->answer);
}

void gang_check(struct party *p, struct party_member *m)
{
	const struct party_ticket *own = party_node(p, m->id, true);
	int index = p->all->kind->index(p, m->id);

	if (m->state == PARTY_WAITS || m->state == PARTY_ENDS) {
		const struct party_ticket *stale = party_node(p, m->id, false);
		if (index >= 0 && own)
			run(m, index);
		else if (index < 0 && stale && !p->refused) {
			party_delete_node(p, stale, PARTY_UNLESS_COUNTED);
			return;
		}
	}
	switch (m->state) {
	case PARTY_WAITS:
		if (index >= 0)
			refuse(p, m, own, PARTY_FAILED, was_lost);
		else
			look_waiting(p, m, own);
		break;
	case PARTY_ENDS:
		if (index >= 0)
			m->answer = (struct party_answer){.outcome = PARTY_FAILED, .why = was_lost};
		end(p, m, own);
		break;
	case PARTY_RUNS: look_running(p, m, own, index); break;
	case PARTY_LEAVES: look_leaving(p, m, own, index); break;
	case PARTY_LOSES:
		if (own && !p->refused)
			party_delete_node(p, own, PARTY_IN_ANY_CASE);
		else
			party_tell(m, &m->answer);
		break;
	}
}
