/*
 * A barrier or a gang of two, whose three clients are at two sidecars: the tree as it really is, and
 * what each sidecar has decided from its last look at it, which may be another by the time it is done.
 */
#include <stdio.h>
#include <string.h>

#include "explore.h"
#include "scene.h"
#include "world.h"

/* --- what happens ------------------------------------------------------------------------------------- */

enum of_client {
	PARTY_COMES,
	PARTY_COMES_ODD,
	PARTY_COMES_STRANGE,
	PARTY_COMES_AGAIN,
	PARTY_RETURNS, /* it was told before that all are there */
	PARTY_GOES,
	PARTY_IS_LATE,
	PARTY_ENDS_WELL,
	PARTY_IS_KILLED,
	PARTY_OUTLIVES,
	PARTY_HAND_DELETES,
	PARTY_OF_CLIENT
};

enum of_sidecar {
	PARTY_NEXT,
	PARTY_LOSE,
	PARTY_EXPIRE,
	PARTY_KILL,
	PARTY_HANDOVER,
	PARTY_FORMER_EXPIRES,
	PARTY_TICK,
	PARTY_STOP,
	PARTY_SWEEP,
	PARTY_TAKE_ORPHANS,
	PARTY_OF_SIDECAR
};

enum of_all { PARTY_FORBID, PARTY_MINUTE, PARTY_HAND_WRITES, PARTY_HAND_REMOVES, PARTY_OF_ALL };

/* A member of the client is here from now on, whoever asks for it. */
static void enter(struct scene *w, unsigned c)
{
	struct client *m = &w->clients[c];

	*m = (struct client){.stage = m->stage,
			     .entry = m->entry,
			     .excused = m->excused,
			     .here = true,
			     .asked = true,
			     .owned = true,
			     .timed = true};
	w->sidecars[scene_sidecar_of(c)].dirty = true;
	w->sidecars[scene_sidecar_of(c)].sweeps = false;
}

static bool comes(struct scene *w, unsigned c, enum of_client what)
{
	struct client *m = &w->clients[c];
	bool again = what == PARTY_COMES_AGAIN,
	     odd = what == PARTY_COMES_ODD || what == PARTY_COMES_STRANGE;

	if (m->here || (odd && c < 2) || m->stage != (again ? ASKS : OUT) ||
	    (!again && (m->entry == ENTRIES - 1 || scene_find(w, scene_id_of(w, c)) >= 0)))
		return false;
	m->entry += !again;
	if (!again) {
		m->excused = false;
	}
	m->stage = ASKS;
	if (odd)
		w->ways[scene_id_of(w, c)] = what == PARTY_COMES_ODD ? OTHER_COUNT : OTHER_KEY;
	enter(w, c);
	return true;
}

/* The command goes on, under another sidecar or connection. */
static bool returns(struct scene *w, unsigned c)
{
	struct client *m = &w->clients[c];

	if (m->stage != INSIDE || (m->here && (m->owned || m->asked || m->state != PARTY_RUNS ||
					       w->kind == BARRIER || m->lost)))
		return false;
	if (!m->here) {
		enter(w, c);
		m->round = w->kind == BARRIER ? w->counted_in[scene_id_of(w, c)] : 0;
		m->attaching = w->kind != BARRIER;
		scene_happens(w, c, PARTY_INSIDE);
	}
	m->asked = m->owned = w->kind != BARRIER;
	w->sidecars[scene_sidecar_of(c)].dirty = true;
	return true;
}

static bool finishes(struct scene *w, unsigned c, bool interrupted)
{
	struct client *m = &w->clients[c];

	if (m->stage != INSIDE || m->asked || (m->here && m->state != PARTY_RUNS) ||
	    (w->kind != BARRIER && (!m->here || !m->owned || !m->told)) ||
	    (w->kind == BARRIER && interrupted))
		return false;
	if (!m->here) { /* made by the previous sidecar */
		enter(w, c);
		m->timed = false;
		m->round = w->counted_in[scene_id_of(w, c)];
	}
	m->stage = w->kind == BARRIER ? LEAVES : OUT;
	m->asked = w->kind == BARRIER;
	scene_give(w, c, (struct party_event){.type = PARTY_FINISHED, .interrupted = interrupted});
	m->owned = w->kind == BARRIER;
	w->sidecars[scene_sidecar_of(c)].dirty = true;
	return true;
}

static bool of_client(struct scene *w, unsigned c, enum of_client what)
{
	struct client *m = &w->clients[c];

	switch (what) {
	case PARTY_COMES:
	case PARTY_COMES_ODD:
	case PARTY_COMES_STRANGE:
	case PARTY_COMES_AGAIN: return comes(w, c, what);
	case PARTY_RETURNS: return returns(w, c);
	case PARTY_GOES:
		if (!m->here || !m->owned)
			return false;
		m->owned = false;
		if (m->stage == ASKS || w->kind == BARRIER)
			m->stage = OUT;
		scene_happens(w, c, PARTY_ABANDONED);
		return true;
	case PARTY_IS_LATE:
		if (!m->here || !m->timed || !m->asked || m->state == PARTY_RUNS)
			return false;
		scene_happens(w, c, PARTY_TIMED_OUT);
		return true;
	case PARTY_ENDS_WELL:
	case PARTY_IS_KILLED: return finishes(w, c, what == PARTY_IS_KILLED);
	case PARTY_OUTLIVES:
		if (!m->here || m->state != PARTY_RUNS || m->owned || !(m->told || m->attaching))
			return false;
		scene_happens(w, c, PARTY_LEASE_OVER);
		m->stage = OUT;
		return true;
	case PARTY_HAND_DELETES:
		w->unheard = m->excused = true;
		return scene_drop(w, scene_id_of(w, c));
	case PARTY_OF_CLIENT: break;
	}
	return false;
}

/* The nodes of a session end with it: of the present one, or of an earlier one. */
static bool expire(struct scene *w, unsigned s, bool former)
{
	bool some = false;

	for (int i = w->n - 1; i >= 0; i--) {
		unsigned c = scene_client_of(w->nodes[i]);
		if (scene_sidecar_of(c) != s || (w->nodes[i] & MARK) ||
		    ((w->nodes[i] & OLD) != 0) != former)
			continue;
		w->clients[c].excused = true;
		some |= scene_drop(w, w->nodes[i]);
	}
	return some;
}

/* The sidecar is another process: it has no members, and its session is kept, or a new one. */
static void replace(struct scene *w, unsigned s, bool kept)
{
	w->sidecars[s] = (struct sidecar){.dirty = false};
	for (int i = 0; i < w->n && !kept; i++)
		if (scene_sidecar_of(scene_client_of(w->nodes[i])) == s && !(w->nodes[i] & MARK))
			w->nodes[i] |= OLD;
	for (unsigned c = 0; c < CLIENTS; c++) {
		struct client *m = &w->clients[c];
		if (!kept && m->watch && scene_sidecar_of(scene_client_of(m->watch)) == s)
			m->watch |= OLD;
		if (scene_sidecar_of(c) == s)
			*m = (struct client){
				.stage = m->stage, .entry = m->entry, .excused = m->excused};
	}
}

static bool has_orphan(const struct scene *w, unsigned s, unsigned c)
{
	return scene_sidecar_of(c) == s && !w->clients[c].here &&
	       scene_find(w, scene_id_of(w, c)) >= 0;
}

static bool take_orphans(struct scene *w, unsigned s)
{
	bool some = false;

	for (unsigned c = 0; c < CLIENTS; c++) {
		if (!has_orphan(w, s, c))
			continue;
		some = true;
		enter(w, c);
		w->clients[c].asked = w->clients[c].owned = w->clients[c].timed = false;
		w->clients[c].stage = OUT;
		scene_happens(w, c, PARTY_GIVEN_UP);
	}
	return some;
}

static bool happens_to(struct scene *w, unsigned s, enum of_sidecar what)
{
	struct sidecar *at = &w->sidecars[s];

	switch (what) {
	case PARTY_NEXT:
	case PARTY_LOSE:
		if (!scene_is_busy(w, s) && (!at->dirty || what == PARTY_LOSE))
			return false;
		if (scene_is_busy(w, s))
			scene_answer(w, s, what == PARTY_NEXT);
		scene_look(w, s);
		return true;
	case PARTY_EXPIRE:
		if (!expire(w, s, false))
			return false;
		scene_answer(w, s, false);
		for (unsigned c = 0; c < CLIENTS; c++) {
			if (scene_sidecar_of(c) != s || !w->clients[c].here)
				continue;
			w->clients[c].watch = 0;
			if (w->kind != BARRIER)
				scene_happens(w, c, PARTY_EXPIRED);
		}
		return true;
	case PARTY_KILL:
	case PARTY_HANDOVER:
		if (!scene_has_members(w, s) || scene_is_busy(w, s))
			return false;
		replace(w, s, what == PARTY_HANDOVER);
		return true;
	case PARTY_FORMER_EXPIRES: return expire(w, s, true);
	case PARTY_TICK:
		if (!at->tries && !at->wakes)
			return false;
		at->turn = at->tries;
		at->wakes = false;
		at->dirty = true;
		return true;
	case PARTY_STOP:
		if (!scene_has_members(w, s))
			return false;
		for (unsigned c = 0; c < CLIENTS; c++)
			if (scene_sidecar_of(c) == s && w->clients[c].here)
				scene_give(w, c,
					   (struct party_event){.type = PARTY_GIVEN_UP,
								.why = "stops"});
		return true;
	case PARTY_SWEEP:
		if (at->sweeps || scene_has_members(w, s) || !w->there)
			return false;
		at->sweeps = at->dirty = true;
		return true;
	case PARTY_TAKE_ORPHANS: return !scene_is_busy(w, s) && take_orphans(w, s);
	case PARTY_OF_SIDECAR: break;
	}
	return false;
}

static bool of_all(struct scene *w, enum of_all what)
{
	switch (what) {
	case PARTY_FORBID:
		w->forbids = !w->forbids;
		w->unheard = true;
		return true;
	case PARTY_MINUTE:
		if (w->minute || !scene_is_deserted(w) || w->size == 0)
			return false;
		w->minute = true;
		return true;
	case PARTY_HAND_WRITES: scene_changed(w); return w->there;
	case PARTY_HAND_REMOVES:
		if (w->n > 0 || !w->there)
			return false;
		w->there = false;
		w->size = w->round = 0;
		memset(w->earlier, 0, sizeof(w->earlier));
		scene_changed(w);
		return true;
	case PARTY_OF_ALL: break;
	}
	return false;
}

/* All goes on until nothing is left to do; a turn or a pause is over once nothing else happens. */
static bool come_to_rest(struct scene *w)
{
	for (int i = 0; i < SETTLE_STEPS && !w->fault; i++) {
		bool busy = false;
		for (unsigned s = 0; s < SIDECARS; s++)
			busy |= happens_to(w, s, PARTY_NEXT);
		for (unsigned s = 0; s < SIDECARS && !busy; s++)
			busy = happens_to(w, s, PARTY_FORMER_EXPIRES);
		for (unsigned c = 0; c < CLIENTS && !busy; c++)
			busy = of_client(w, c, PARTY_OUTLIVES);
		for (unsigned s = 0; s < SIDECARS && !busy; s++)
			busy = happens_to(w, s, PARTY_TAKE_ORPHANS) || happens_to(w, s, PARTY_TICK);
		if (!busy)
			return true;
		if (i > SETTLE_STEPS / 2)
			w->minute |= scene_is_deserted(w);
	}
	return w->fault != NULL;
}

#define OF_CLIENTS  (CLIENTS * PARTY_OF_CLIENT)
#define OF_SIDECARS (SIDECARS * PARTY_OF_SIDECAR)

static bool happen(struct scene *w, unsigned event)
{
	if (event < OF_CLIENTS)
		return of_client(w, event / PARTY_OF_CLIENT, event % PARTY_OF_CLIENT);
	event -= OF_CLIENTS;
	if (event < OF_SIDECARS)
		return happens_to(w, event / PARTY_OF_SIDECAR, event % PARTY_OF_SIDECAR);
	return of_all(w, event - OF_SIDECARS);
}

/* Events that do not belong to the ordinary course of things. */
static bool is_trouble(unsigned event)
{
	unsigned of = event < OF_CLIENTS ? event % PARTY_OF_CLIENT
					 : (event - OF_CLIENTS) % PARTY_OF_SIDECAR;

	if (event < OF_CLIENTS)
		return of == PARTY_COMES_ODD || of == PARTY_COMES_STRANGE ||
		       of == PARTY_HAND_DELETES || of == PARTY_GOES || of == PARTY_IS_KILLED;
	if (event >= OF_CLIENTS + OF_SIDECARS)
		return event - OF_CLIENTS - OF_SIDECARS != PARTY_MINUTE;
	return (of >= PARTY_LOSE && of <= PARTY_HANDOVER) || of == PARTY_STOP;
}

static bool apply(void *state, unsigned event)
{
	struct scene *w = state;

	if (event == OF_CLIENTS + OF_SIDECARS + PARTY_OF_ALL) {
		if (w->begun)
			return false;
		w->begun = true;
		for (unsigned c = 0; c < 2; c++)
			comes(w, c, PARTY_COMES);
		return come_to_rest(w);
	}
	w->begun = true;
	if (is_trouble(event)) {
		w->troubled = true;
		if (w->troubles++ == TROUBLES_MAX)
			return false;
	}
	return happen(w, event);
}

/* --- what must hold ----------------------------------------------------------------------------------- */

static const char *wrong_member(const struct scene *w, unsigned c)
{
	const struct client *m = &w->clients[c];
	uint8_t id = scene_id_of(w, c);

	if (!m->here)
		return NULL;
	if (m->state == PARTY_ENDS || m->state == PARTY_LOSES)
		return "rests on its way";
	if (m->state == PARTY_LEAVES && !scene_with_others(w, id))
		return "waits for nobody to leave";
	for (unsigned other = 0; other < CLIENTS; other++)
		if (m->state == PARTY_WAITS && w->clients[other].here &&
		    w->clients[other].state == PARTY_WAITS &&
		    scene_count_of(w, id) != scene_count_of(w, scene_id_of(w, other)))
			return "waits among others for another number";
	if (m->state == PARTY_RUNS && m->asked)
		return "runs, and is not told";
	if (m->state == PARTY_WAITS && scene_index_of(w, id) >= 0)
		return "was counted, and still waits";
	if (m->state == PARTY_WAITS && scene_find(w, id) < 0)
		return "waits without a node";
	if (m->state != PARTY_RUNS || w->kind != GANG_STOPS || m->lost)
		return NULL;
	for (int i = 0; i < w->size; i++)
		if (scene_find(w, w->ids[i]) < 0 && scene_find(w, w->ids[i] | OLD) < 0 &&
		    scene_find(w, w->ids[i] | MARK) < 0)
			return "goes on although one is lost";
	return NULL;
}

static bool is_waiting(const struct scene *w, unsigned c)
{
	return w->clients[c].here && w->clients[c].state == PARTY_WAITS &&
	       scene_count_of(w, scene_id_of(w, c)) == NEED;
}

/* Whether as many as are needed wait for the party, and it is closed. */
static bool are_enough(const struct scene *w)
{
	bool enough = false;

	for (unsigned a = 0; a < CLIENTS; a++) {
		for (unsigned b = 0; b < a; b++) {
			uint8_t x = scene_id_of(w, a), y = scene_id_of(w, b);
			bool fit = w->kind == BARRIER || w->size == 0 ||
				   (scene_seat_of(w, x) >= 0 && scene_seat_of(w, y) >= 0);
			enough |= is_waiting(w, a) && is_waiting(w, b) && fit &&
				  !scene_same_key(w, x, y);
		}
	}
	return enough && !scene_anybody_inside(w, 0, w->kind == BARRIER);
}

static const char *wrong(const struct scene *w)
{
	const char *fault = w->fault;

	for (unsigned c = 0; c < CLIENTS && !fault; c++)
		fault = wrong_member(w, c);
	if (!fault && are_enough(w))
		return "enough are there, and wait";
	return fault;
}

/* All clients get tired, or are done: nothing is left of them. */
static const char *end(struct scene *w)
{
	for (unsigned c = 0; c < CLIENTS; c++) {
		of_client(w, c, PARTY_IS_LATE);
		if (!of_client(w, c, PARTY_ENDS_WELL))
			of_client(w, c, PARTY_GOES);
	}
	if (!come_to_rest(w))
		return "does not come to rest at the end";
	for (unsigned c = 0; c < CLIENTS; c++) {
		if (w->clients[c].here)
			return "a member is left at the end";
		if (scene_find(w, scene_id_of(w, c)) >= 0)
			return "a node is left at the end";
	}
	if (!w->troubled && w->kind != BARRIER && w->there && w->size > 0)
		return "a gang is left at the end";
	return w->fault;
}

static const char *check(void *state)
{
	struct scene *w = state;

	w->forbids = false;
	for (unsigned s = 0; s < SIDECARS; s++)
		w->sidecars[s].dirty |= w->unheard && scene_has_members(w, s);
	if (!w->fault && !come_to_rest(w))
		return "does not come to rest";
	const char *fault = wrong(w);
	return fault ? fault : end(w);
}

static size_t pack(const void *state, uint8_t *bytes)
{
	const struct scene *w = state;
	struct packer p = {.bytes = bytes};
	const int64_t flags = (int64_t)w->there | (int64_t)w->lost << 1 | (int64_t)w->noted << 2 |
			      (int64_t)w->minute << 3 | (int64_t)w->forbids << 4 |
			      (int64_t)w->unheard << 5 | (int64_t)w->begun << 6 | w->kind << 7;

	pack_number(&p, flags | w->round << 10 | w->size << 14 | w->openings << 17 |
				w->troubled << 21 | w->troubles << 22);
	for (int i = 0; i < NODES_MAX; i++)
		p.bytes[p.n++] = i < w->n ? w->nodes[i] : 0;
	for (int i = 0; i < IDS; i++)
		p.bytes[p.n++] = (uint8_t)(w->counted_in[i] | w->ways[i] << 4 | w->earlier[i] << 7);
	for (int i = 0; i < NEED; i++)
		p.bytes[p.n++] = i < w->size ? w->ids[i] : 0;
	for (unsigned s = 0; s < SIDECARS; s++) {
		const struct sidecar *at = &w->sidecars[s];
		pack_number(&p, (int64_t)at->dirty | (int64_t)at->fresh << 1 |
					(int64_t)at->sweeps << 2 | (int64_t)at->refused << 3 |
					(int64_t)at->turn << 4 | (int64_t)at->tries << 5 |
					(int64_t)at->wakes << 6 | (int64_t)at->alone << 7 |
					(int64_t)at->act << 8 | (int64_t)at->chosen[0] << 16 |
					(int64_t)at->chosen[1] << 24);
	}
	for (unsigned c = 0; c < CLIENTS; c++) {
		const struct client *m = &w->clients[c];
		const bool of[] = {m->excused,	  m->here,
				   m->looked,	  m->late,
				   m->placed,	  m->left,
				   m->rival_goes, m->asked,
				   m->owned,	  m->told,
				   m->attaching,  m->lost,
				   m->timed,	  m->czxid == w->czxid};
		int64_t all = 0;
		for (size_t i = 0; i < sizeof(of); i++)
			all |= (int64_t)of[i] << i;
		pack_number(&p, all | (int64_t)m->stage << 16 | (int64_t)m->entry << 20 |
					(int64_t)m->state << 24 | (int64_t)m->index << 28 |
					(int64_t)m->round << 30 | (int64_t)m->rival << 34 |
					(int64_t)m->verdict.outcome << 40);
		pack_number(&p, m->watch | (int64_t)m->act << 8 | (int64_t)m->how << 12 |
					(int64_t)m->node << 16);
	}
	return p.n;
}

static void init(struct scene *w, enum kind kind, unsigned troubles)
{
	w->kind = kind;
	w->there = true;
	w->troubles = (uint8_t)(TROUBLES_MAX - troubles);
}

#define INIT(kind, troubles)                              \
	static void init_##kind##_##troubles(void *state) \
	{                                                 \
		init(state, kind, troubles);              \
	}
INIT(BARRIER, 1)
INIT(BARRIER, 2)
INIT(GANG_STOPS, 1)
INIT(GANG_STOPS, 2)
INIT(GANG_GOES_ON, 1)
INIT(GANG_GOES_ON, 2)

static const char *event_name(unsigned event)
{
	static const char *const of_clients[] = {"comes",
						 "comes for another count",
						 "comes with another key",
						 "comes again",
						 "returns",
						 "goes",
						 "has waited enough",
						 "ends well",
						 "is killed",
						 "has outlived its lease",
						 "loses its node to a hand"};
	static const char *const of_sidecars[] = {"goes on",
						  "loses its requests",
						  "loses its session",
						  "is killed",
						  "hands over",
						  "loses its former session",
						  "has waited",
						  "stops",
						  "sweeps",
						  "takes orphans"};
	static const char *const of_both[] = {"the server refuses, or ends that", "a minute passes",
					      "a hand writes the record",
					      "a hand removes the record", "two are there"};
	static char text[60];

	if (event >= OF_CLIENTS + OF_SIDECARS)
		return of_both[event - OF_CLIENTS - OF_SIDECARS];
	if (event < OF_CLIENTS)
		snprintf(text, sizeof(text), "client %u %s", event / PARTY_OF_CLIENT,
			 of_clients[event % PARTY_OF_CLIENT]);
	else
		snprintf(text, sizeof(text), "sidecar %u %s",
			 (event - OF_CLIENTS) / PARTY_OF_SIDECAR,
			 of_sidecars[(event - OF_CLIENTS) % PARTY_OF_SIDECAR]);
	return text;
}

#define EXPLORE(its_name, kind, troubles)                                                       \
	{                                                                                       \
		.name = its_name, .state_size = sizeof(struct scene),                           \
		.n_events = OF_CLIENTS + OF_SIDECARS + PARTY_OF_ALL + 1,                        \
		.init = init_##kind##_##troubles, .apply = apply, .check = check, .pack = pack, \
		.event_name = event_name,                                                       \
	}
const struct explore explores_of_party[MODEL_PARTIES] = {
	EXPLORE("barrier, one trouble", BARRIER, 1),
	EXPLORE("barrier, two troubles", BARRIER, 2),
	EXPLORE("gang that stops, one trouble", GANG_STOPS, 1),
	EXPLORE("gang that stops, two troubles", GANG_STOPS, 2),
	EXPLORE("gang that goes on, one trouble", GANG_GOES_ON, 1),
	EXPLORE("gang that goes on, two troubles", GANG_GOES_ON, 2),
};
