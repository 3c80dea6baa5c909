#include "scene.h"

#include <string.h>

uint64_t model_party_moves[PARTY_STATES][PARTY_STATES];

/* --- who is who --------------------------------------------------------------------------------------- */

unsigned scene_client_of(uint8_t id)
{
	return (unsigned)((id & ID) - 1) % CLIENTS;
}

uint8_t scene_id_of(const struct scene *w, unsigned c)
{
	return (uint8_t)(1 + c + CLIENTS * w->clients[c].entry);
}

unsigned scene_sidecar_of(unsigned c)
{
	return c == 0 ? 0 : 1;
}

/* The third usually has the key of one at its own sidecar, or at the other. */
static const char *key_of(const struct scene *w, uint8_t id)
{
	unsigned c = scene_client_of(id);

	if (w->kind == BARRIER)
		return "";
	if (w->ways[id & ID] == OTHER_KEY)
		return "c";
	return c == 1 || (c == 2 && w->kind == GANG_STOPS) ? "b" : "a";
}

bool scene_same_key(const struct scene *w, uint8_t a, uint8_t b)
{
	return w->kind != BARRIER && strcmp(key_of(w, a), key_of(w, b)) == 0;
}

unsigned scene_count_of(const struct scene *w, uint8_t id)
{
	return NEED + (w->ways[id & ID] == OTHER_COUNT);
}

char scene_kind_of(const struct scene *w, unsigned c)
{
	if (w->kind == BARRIER)
		return c == 2 ? 'w' : 'c';
	return w->kind == GANG_GOES_ON ? 'c' : 's';
}

int scene_index_of(const struct scene *w, uint8_t id)
{
	for (int i = 0; i < w->size; i++)
		if (w->ids[i] == id)
			return w->kind == BARRIER ? 0 : i;
	return w->kind == BARRIER && w->earlier[id] ? 1 : -1;
}

int scene_seat_of(const struct scene *w, uint8_t id)
{
	for (int i = 0; i < w->size; i++)
		if (scene_same_key(w, w->ids[i], id))
			return i;
	return -1;
}

/* --- the tree ----------------------------------------------------------------------------------------- */

int scene_find(const struct scene *w, uint8_t node)
{
	for (int i = 0; i < w->n; i++)
		if (w->nodes[i] == node)
			return i;
	return -1;
}

bool scene_anybody_inside(const struct scene *w, uint8_t but, bool commands)
{
	for (int i = 0; i < w->n; i++) {
		uint8_t id = w->nodes[i] & ID;
		if (!(w->nodes[i] & MARK) && id != but && scene_index_of(w, id) >= 0 &&
		    (!commands || scene_kind_of(w, scene_client_of(id)) == 'c'))
			return true;
	}
	return false;
}

bool scene_with_others(const struct scene *w, uint8_t id)
{
	for (int i = 0; i < w->n && w->kind == BARRIER; i++) {
		uint8_t other = w->nodes[i] & ID;
		if (other != id && scene_kind_of(w, scene_client_of(other)) == 'c' &&
		    w->counted_in[other] == w->counted_in[id])
			return true;
	}
	return false;
}

bool scene_is_deserted(const struct scene *w)
{
	int i = 0;

	while (i < w->n && (w->nodes[i] & MARK))
		i++;
	return i == w->n;
}

bool scene_has_members(const struct scene *w, unsigned s)
{
	for (unsigned c = 0; c < CLIENTS; c++)
		if (scene_sidecar_of(c) == s && w->clients[c].here)
			return true;
	return false;
}

void scene_changed(struct scene *w)
{
	for (unsigned s = 0; s < SIDECARS; s++) {
		w->sidecars[s].fresh = false;
		w->sidecars[s].dirty |= scene_has_members(w, s);
	}
}

bool scene_drop(struct scene *w, uint8_t node)
{
	int at = scene_find(w, node);

	if (at < 0)
		return false;
	memmove(w->nodes + at, w->nodes + at + 1, (size_t)(w->n - at - 1));
	w->n--;
	w->noted = w->minute = false;
	for (unsigned c = 0; c < CLIENTS; c++) {
		if (w->clients[c].watch != node)
			continue;
		w->clients[c].watch = 0;
		w->sidecars[scene_sidecar_of(c)].dirty = true;
	}
	return true;
}

static void add(struct scene *w, uint8_t node)
{
	if (w->n == NODES_MAX)
		w->fault = "more nodes than the model has room for";
	else
		w->nodes[w->n++] = node;
	w->noted = w->minute = false;
}

static void drop_marks(struct scene *w)
{
	for (int i = w->n - 1; i >= 0; i--)
		if (w->nodes[i] & MARK)
			scene_drop(w, w->nodes[i]);
}

/* --- what a sidecar sees ------------------------------------------------------------------------------ */

static struct party_sight *see(const struct scene *w, unsigned s)
{
	static struct party_ticket tickets[NODES_MAX];
	static struct party_sight sight;
	const struct sidecar *at = &w->sidecars[s];

	memset(tickets, 0, sizeof(tickets));
	sight = (struct party_sight){.gang = w->kind != BARRIER,
				     .there = w->there,
				     .refused = at->refused ? "no" : NULL,
				     .session = (int64_t)s,
				     .now_ms = at->turn ? 90000 : 1000,
				     .tickets = tickets,
				     .n = w->n,
				     .n_names = w->n,
				     .czxid = w->czxid,
				     .round = w->round,
				     .first = 1,
				     .size = w->kind == BARRIER ? 0 : w->size,
				     .count = NEED,
				     .goes_on = w->kind == GANG_GOES_ON,
				     .lost = w->lost,
				     .noted = w->noted,
				     .removes = true};
	for (int i = 0; i < w->n; i++) {
		struct party_ticket *t = &tickets[i];
		unsigned c = scene_client_of(w->nodes[i]);
		t->id = w->nodes[i] & ID;
		t->left = w->nodes[i] & MARK;
		t->number = i;
		t->session = (int64_t)scene_sidecar_of(c) + (w->nodes[i] & OLD);
		t->count = scene_count_of(w, w->nodes[i]);
		t->kind = scene_kind_of(w, c);
		strcpy(t->key, key_of(w, w->nodes[i]));
		t->index = scene_index_of(w, (uint8_t)t->id);
		t->seat = t->index < 0 && !t->left ? scene_seat_of(w, (uint8_t)t->id) : -1;
	}
	party_sort(&sight);
	sight.dead =
		sight.size > 0 && sight.n_running + sight.n_waiting == 0 && (w->minute || w->noted);
	return &sight;
}

static uint8_t number_of(const struct party_ticket *t)
{
	return (uint8_t)(t->id | (unsigned)(t->session & OLD));
}

/* --- steps of members --------------------------------------------------------------------------------- */

/* The client gets an answer. */
static void hears(struct scene *w, unsigned c, const struct party_verdict *v)
{
	struct client *m = &w->clients[c];
	uint8_t in = w->counted_in[scene_id_of(w, c)];

	if (!m->asked)
		return;
	m->asked = false;
	w->troubled |= v->outcome == PARTY_FAILED; /* perhaps it was counted, and is lost */
	if (v->outcome == PARTY_OPENED && in == 0)
		w->fault = "is told of a round that it is not in";
	if ((v->outcome == PARTY_TIMEOUT || v->outcome == PARTY_OTHER_COUNT ||
	     v->outcome == PARTY_IN_USE) &&
	    in > 0)
		w->fault = "was counted, and is told that it was not";
	if (v->outcome == PARTY_LEFT && !w->unheard && scene_with_others(w, scene_id_of(w, c)))
		w->fault = "has left before the others";
	if (v->outcome != PARTY_WITHDRAWN)
		m->stage = v->outcome == PARTY_OPENED && scene_kind_of(w, c) == 'c' ? INSIDE : OUT;
}

static struct party_place place_of(const struct scene *w, unsigned c)
{
	const struct client *m = &w->clients[c];
	struct party_place p = {.state = m->state,
				.verdict = m->verdict,
				.looked = m->looked,
				.late = m->late,
				.placed = m->placed,
				.round = m->round,
				.czxid = m->czxid,
				.index = m->index,
				.left = m->left,
				.rival = m->rival,
				.rival_goes = m->rival_goes};

	p.as.id = scene_id_of(w, c);
	p.as.count = scene_count_of(w, scene_id_of(w, c));
	p.as.kind = scene_kind_of(w, c);
	strcpy(p.as.key, key_of(w, scene_id_of(w, c)));
	return p;
}

static void put_place(struct client *m, const struct party_place *p)
{
	if (m->state != p->state)
		model_party_moves[m->state][p->state]++;
	m->state = p->state;
	m->verdict = p->verdict;
	m->looked = p->looked;
	m->late = p->late;
	m->placed = p->placed;
	m->round = (uint8_t)p->round;
	m->czxid = (uint8_t)p->czxid;
	m->index = (uint8_t)p->index;
	m->left = p->left;
	m->rival = (uint8_t)p->rival;
	m->rival_goes = p->rival_goes;
}

/* Another has its key: at this sidecar, or elsewhere. */
static void meet(struct scene *w, unsigned c, struct party_event e, const struct party_ticket *t)
{
	unsigned other = scene_client_of((uint8_t)t->id), s = scene_sidecar_of(c);
	const struct client *o = &w->clients[other];

	if (t->session != (int64_t)s) {
		w->clients[c].act = PARTY_RIVAL;
		w->clients[c].node = w->clients[c].watch = number_of(t);
	} else if (o->here && scene_id_of(w, other) == t->id && o->owned &&
		   o->state != PARTY_ENDS) {
		e.type = PARTY_RIVALLED;
		scene_give(w, c, e);
	} else {
		w->sidecars[s].wakes = true;
	}
}

/* The member's client hears that the gang has begun. */
static void starts(struct scene *w, unsigned c)
{
	struct client *m = &w->clients[c];

	if (scene_index_of(w, scene_id_of(w, c)) < 0 || scene_find(w, scene_id_of(w, c)) < 0)
		w->fault = "begins without its node, or its place";
	if (!m->told && !m->attaching && w->counted_in[scene_id_of(w, c)] == 0)
		w->fault = "begins without the others";
	m->told = true;
	m->asked = m->attaching = false;
	m->stage = INSIDE;
}

void scene_give(struct scene *w, unsigned c, struct party_event e)
{
	struct client *m = &w->clients[c];
	struct party_place p = place_of(w, c);
	struct party_actions a;

	e.asked = m->asked;
	e.owned = m->owned;
	e.told = m->told;
	e.attaching = m->attaching;
	e.lost = m->lost;
	party_step(&p, &e, &a);
	put_place(m, &p);
	w->sidecars[scene_sidecar_of(c)].dirty |= a.reads;
	w->sidecars[scene_sidecar_of(c)].wakes |= a.act == PARTY_WAIT;
	m->lost |= a.loses;
	if (a.until != PARTY_AS_BEFORE)
		m->timed = a.until != PARTY_FOR_EVER;
	if (a.act == PARTY_MAKE_NODE || a.act == PARTY_COME_BACK || a.act == PARTY_DELETE_NODE ||
	    a.act == PARTY_REMOVE) {
		m->act = a.act;
		m->how = a.how;
		m->node = a.node ? number_of(a.node) : 0;
	}
	if (a.lets_go)
		m->asked = m->owned = false; /* the command is ended, but may live for its lease */
	else if (a.tells)
		hears(w, c, &a.verdict);
	else if (a.starts && !m->lost)
		starts(w, c);
	else if (a.act == PARTY_RIVAL)
		meet(w, c, e, a.node);
	if (m->state == PARTY_GONE)
		m->here = false;
}

void scene_happens(struct scene *w, unsigned c, enum party_event_type type)
{
	scene_give(w, c, (struct party_event){.type = type});
}

/* --- a sidecar looks, and requests --------------------------------------------------------------------- */

bool scene_is_busy(const struct scene *w, unsigned s)
{
	bool busy = w->sidecars[s].act != PARTY_NOTHING;

	for (unsigned c = 0; c < CLIENTS; c++)
		busy |= scene_sidecar_of(c) == s && w->clients[c].act != PARTY_NOTHING;
	return busy;
}

/* The first here that waits for others to leave watches one; in a gang each watches the next. */
static void set_watches(struct scene *w, unsigned s, const struct party_sight *sight)
{
	uint8_t inside = 0;

	for (size_t i = 0; i < sight->n; i++)
		if (sight->tickets[i].kind == 'c' && sight->tickets[i].index == 0)
			inside = number_of(&sight->tickets[i]);
	for (unsigned c = 0; c < CLIENTS; c++) {
		struct client *m = &w->clients[c];
		if (scene_sidecar_of(c) != s || !m->here)
			continue;
		if (w->kind == GANG_STOPS && sight->size > 0 && m->state == PARTY_RUNS &&
		    !m->lost) {
			const struct party_ticket *t = party_next(sight, m->index);
			m->watch = t ? number_of(t) : 0;
		} else if (w->kind == BARRIER && !scene_is_busy(w, s) &&
			   (m->state == PARTY_LEAVES || m->state == PARTY_WAITS)) {
			m->watch = inside;
			inside = 0;
		}
	}
}

void scene_look(struct scene *w, unsigned s)
{
	struct sidecar *at = &w->sidecars[s];
	struct party_sight *sight = see(w, s);
	struct party_chosen chosen;
	int64_t try_ms = at->tries ? 9000 : 0;

	at->dirty = false;
	at->fresh = true;
	at->alone = sight->n_waiting == 0 && sight->n_names == sight->n_marked;
	for (unsigned c = 0; c < CLIENTS; c++) {
		const struct party_event e = {.type = PARTY_LOOK,
					      .sight = sight,
					      .index = scene_index_of(w, scene_id_of(w, c)),
					      .seat = scene_seat_of(w, scene_id_of(w, c))};
		sight->sent = scene_is_busy(w, s);
		if (scene_sidecar_of(c) == s && w->clients[c].here)
			scene_give(w, c, e);
		sight->removes &= w->clients[c].act != PARTY_REMOVE;
		if (scene_sidecar_of(c) == s && w->clients[c].here &&
		    w->clients[c].state == PARTY_WAITS)
			sight->makes = NEED;
	}
	sight->sent = scene_is_busy(w, s);
	sight->sweeps = at->sweeps && !scene_has_members(w, s);
	at->act = party_decide(sight, &try_ms, &chosen);
	at->turn = at->refused = at->sweeps = false;
	at->tries = try_ms > 0;
	for (unsigned i = 0; at->act == PARTY_OPEN && i < NEED; i++)
		at->chosen[i] = number_of(chosen.list[i]);
	if (at->act == PARTY_OPEN && chosen.count != NEED) /* the odd one alone is never enough */
		w->fault = "opens for another number";
	if (at->act == PARTY_REST) {
		at->act = PARTY_NOTHING;
		for (unsigned c = 0; c < CLIENTS; c++)
			if (scene_sidecar_of(c) == s && w->clients[c].here)
				scene_happens(w, c, PARTY_LOOKED);
	}
	set_watches(w, s, sight);
}

/* --- what is requested is done ------------------------------------------------------------------------ */

/* The round opens, or the gang begins, if the record is still the same and all are there. */
static void open_it(struct scene *w, const struct sidecar *at)
{
	for (int i = 0; i < NEED; i++)
		if (scene_find(w, at->chosen[i]) < 0)
			return;
	if (scene_same_key(w, at->chosen[0], at->chosen[1]))
		w->fault = "one key has two places";
	for (unsigned c = 0; c < CLIENTS; c++)
		if (w->kind == BARRIER && w->clients[c].stage == INSIDE && !w->clients[c].excused)
			w->fault = "opens while one of an earlier round is inside";
	if (scene_anybody_inside(w, 0, w->kind == BARRIER))
		w->fault = "opens while a member of an earlier one is there";
	w->openings++;
	for (int i = 0; i < w->size && w->kind == BARRIER; i++)
		w->earlier[w->ids[i]] = true;
	w->size = NEED;
	w->round++;
	w->lost = w->noted = false;
	for (int i = 0; i < NEED; i++) {
		uint8_t id = at->chosen[i] & ID;
		if (w->counted_in[id] > 0)
			w->fault = "is counted twice";
		w->counted_in[id] = w->openings;
		w->ids[i] = id;
		if (w->kind == BARRIER && scene_kind_of(w, scene_client_of(id)) != 'c')
			scene_drop(w, at->chosen[i]);
	}
	drop_marks(w);
	scene_changed(w);
}

static void remove_it(struct scene *w, const struct sidecar *at)
{
	if (at->alone && !scene_is_deserted(w))
		return;
	drop_marks(w);
	w->there &= !at->alone && w->kind != BARRIER;
	w->size = 0;
	w->lost = w->noted = false;
	if (!w->there) {
		w->round = 0;
		memset(w->earlier, 0, sizeof(w->earlier));
	}
	scene_changed(w);
}

static void do_for_party(struct scene *w, struct sidecar *at)
{
	if (at->act == PARTY_MAKE && !w->there) {
		w->there = true;
		w->czxid++;
		scene_changed(w);
	} else if (!w->there || !at->fresh) {
		return;
	} else if (at->act == PARTY_OPEN) {
		open_it(w, at);
	} else if (at->act == PARTY_REMOVE) {
		remove_it(w, at);
	} else if (at->act == PARTY_NOTE_EMPTY || at->act == PARTY_NOTE_LOSS) {
		w->noted |= at->act == PARTY_NOTE_EMPTY;
		w->lost |= at->act == PARTY_NOTE_LOSS && scene_anybody_inside(w, 0, false);
		if (w->lost && !w->troubled)
			w->fault = "all have to end, and nobody was lost";
		scene_changed(w);
	}
}

static void do_for_member(struct scene *w, unsigned c)
{
	struct client *m = &w->clients[c];
	struct sidecar *at = &w->sidecars[scene_sidecar_of(c)];
	uint8_t id = scene_id_of(w, c);

	if (m->act == PARTY_RIVAL && scene_find(w, m->node) >= 0) {
		m->rival = m->node & ID;
		m->rival_goes = scene_sidecar_of(scene_client_of(m->node)) == scene_sidecar_of(c);
	} else if (!w->there) {
		return;
	} else if (m->act == PARTY_MAKE_NODE && at->fresh) {
		add(w, id);
	} else if (m->act == PARTY_COME_BACK && at->fresh && scene_anybody_inside(w, 0, false)) {
		if (scene_find(w, w->ids[scene_seat_of(w, id)] | MARK) >= 0)
			w->fault = "takes the place of one that has left";
		w->ids[scene_seat_of(w, id)] = id;
		w->counted_in[id] = w->openings;
		add(w, id);
		scene_changed(w);
	} else if (m->act == PARTY_REMOVE && at->fresh) {
		remove_it(w, at);
	} else if (m->act == PARTY_DELETE_NODE && m->node == id && m->stage == INSIDE) {
		w->fault = "takes the node of one whose command may be alive";
	} else if (m->act == PARTY_DELETE_NODE && (at->fresh || m->how != PARTY_UNLESS_COUNTED) &&
		   scene_drop(w, m->node) && m->how == PARTY_WITH_A_MARK) {
		add(w, id | MARK);
	}
}

void scene_answer(struct scene *w, unsigned s, bool done)
{
	struct sidecar *at = &w->sidecars[s];

	for (unsigned c = 0; c < CLIENTS; c++) {
		struct client *m = &w->clients[c];
		if (scene_sidecar_of(c) != s || m->act == PARTY_NOTHING)
			continue;
		if (done && (!w->forbids || m->act == PARTY_RIVAL))
			do_for_member(w, c);
		at->refused |= w->forbids && m->act != PARTY_RIVAL;
		m->act = PARTY_NOTHING;
		m->node = 0;
	}
	if (done && !w->forbids)
		do_for_party(w, at);
	at->refused |= w->forbids && at->act != PARTY_NOTHING;
	at->act = PARTY_NOTHING;
	at->dirty = true;
}
