/*
 * The place of one request in the line of a lock, with the line as it really is, one step's requests and
 * answers on their way, and all that others, hands and the server may do.
 */
#include <string.h>

#include "core/recipes/lock_place.h"
#include "explore.h"
#include "world.h"

#define LINE_MAX     4
#define SETTLE_STEPS 60

enum { NOBODY, SELF, OTHER, OTHER_HOLDS, OTHER_SLOTS };

enum happens {
	LOCK_BEGIN_ONE,
	LOCK_BEGIN_TWO,
	LOCK_BEGIN_AGAIN,
	LOCK_BEGIN_ATTACH,
	LOCK_SERVE,
	LOCK_DELIVER,
	LOCK_CUT,
	LOCK_EXPIRE,
	LOCK_TOLD,
	LOCK_GIVE_UP,
	LOCK_COMES,
	LOCK_COMES_WITH_OTHERS,
	LOCK_FIRST_GOES,
	LOCK_LAST_GOES,
	LOCK_WRITES,
	LOCK_HAND_DELETES,
	LOCK_HAND_WRITES,
	LOCK_SWEEP,
	LOCK_OTHER_NUMBER,
	LOCK_FOREIGN,
	LOCK_FORBID,
	LOCK_UNREGISTER,
	LOCK_HAPPENS
};

struct lock_world {
	struct lock_place place;
	struct lock_seen seen; /* served, not delivered */
	bool begun, busy, served, told, attaching, lost, left, forbids, unregistered;
	bool note, note_deleted; /* a watch has fired behind an answer that is not delivered */
	uint8_t folder;		 /* its slots; 0: it is missing; 3: it is foreign */
	uint8_t line[LINE_MAX];
	uint8_t n;
	/* The node that is watched, if it is still there: SELF, OTHER: the node before, or the folder. */
	uint8_t watch;
	bool watches_folder;
	uint8_t previous; /* index of the node before ours */
	const char *fault;
};

uint64_t model_lock_moves[LOCK_STATES][LOCK_STATES];

static void give(struct lock_world *w, enum lock_event_type type)
{
	enum lock_state from = w->place.state;
	const struct lock_event e = {.type = type,
				     .seen = &w->seen,
				     .busy = w->busy,
				     .told = w->told,
				     .attaching = w->attaching};
	struct lock_actions a;

	lock_place_step(&w->place, &e, &a);
	if (w->place.state != from)
		model_lock_moves[from][w->place.state]++;
	if (a.unwatch) {
		w->watch = NOBODY;
		w->watches_folder = false;
	}
	w->lost |= a.loses;
	w->left |= a.leaves_node;
	if (a.confirm)
		w->unregistered = false;
	if (a.loses && !w->told)
		w->fault = "tells of a loss who was never told";
}

/* --- the line ----------------------------------------------------------------------------------------- */

static int find(const struct lock_world *w)
{
	for (int i = 0; i < w->n; i++)
		if (w->line[i] == SELF)
			return i;
	return -1;
}

/* A watch fires: at once, or behind the answer that is on its way. */
static void fires(struct lock_world *w, bool deleted)
{
	w->watch = NOBODY;
	w->watches_folder = false;
	if (w->served) {
		w->note = true;
		w->note_deleted |= deleted;
	} else {
		give(w, deleted ? LOCK_DELETED : LOCK_CHANGED);
	}
}

static void drop(struct lock_world *w, int i)
{
	bool own = w->line[i] == SELF;
	bool seen = (own && w->watch == SELF) || (!own && w->watch == OTHER && i == w->previous);

	memmove(w->line + i, w->line + i + 1, (size_t)(w->n - i - 1));
	w->n--;
	w->line[w->n] = NOBODY;
	if (i < w->previous)
		w->previous--;
	if (seen || w->watches_folder)
		fires(w, seen);
}

static void add(struct lock_world *w, uint8_t who)
{
	w->line[w->n++] = who;
	if (w->watches_folder)
		fires(w, false);
}

/* --- the server --------------------------------------------------------------------------------------- */

static struct lock_reply says(const struct lock_world *w, bool ok)
{
	return (struct lock_reply){.ok = ok && !w->forbids, .refused = w->forbids ? "no" : NULL};
}

static void serve_list(struct lock_world *w)
{
	struct lock_seen *seen = &w->seen;
	int own = w->forbids ? -1 : find(w);

	seen->listed = says(w, w->folder > 0);
	seen->own = own >= 0;
	for (int i = own + 1; own >= 0 && i < w->n; i++) /* a second node of ours is removed */
		if (w->line[i] == SELF)
			drop(w, i--);
	for (int i = 0; own >= 0 && i < w->n; i++) {
		seen->others |= i != own;
		seen->in_line |= i != own;
		seen->behind |= i > own;
	}
	seen->before = own > 0 ? (size_t)own : 0;
}

static void serve_enter(struct lock_world *w)
{
	struct lock_seen *seen = &w->seen;

	seen->making = !w->place.maybe;
	if (seen->making && w->place.parents) {
		seen->unmakeable = w->forbids ? "no" : NULL;
		if (!w->forbids && w->folder == 0)
			w->folder = (uint8_t)(w->place.slots ? w->place.slots : 1);
	}
	if (seen->making) {
		bool done = w->folder > 0 && !w->unregistered && !w->forbids && w->n < LINE_MAX;
		seen->made = says(w, done);
		seen->no_folder = w->folder == 0;
		if (done)
			add(w, SELF);
	}
	serve_list(w);
	seen->read = says(w, w->folder > 0);
	seen->slots = w->folder == 3 || w->forbids ? 0 : w->folder;
}

static void serve_watch(struct lock_world *w)
{
	int own = find(w);

	w->watch = NOBODY;
	w->watches_folder = w->place.slots > 1 && w->place.first;
	if (w->watches_folder) {
		serve_list(w);
		return;
	}
	if (own <= 0) {
		w->seen.read = says(w, false);
		return;
	}
	w->seen.read = says(w, true);
	w->watch = w->forbids ? NOBODY : OTHER;
	w->previous = (uint8_t)(own - 1);
	w->seen.held = w->line[own - 1] == OTHER_HOLDS;
}

static void serve_judge(struct lock_world *w)
{
	int own = find(w), first = own == 0 ? 1 : 0;

	w->seen.ahead = own == 0;
	w->seen.read = says(w, first < w->n);
	w->seen.held = first < w->n && w->line[first] != OTHER_SLOTS;
}

static void serve_reset(struct lock_world *w)
{
	bool alone = w->n == 1 && find(w) == 0;

	w->seen.crowded = !alone && w->n > 1;
	w->seen.made = says(w, alone && !w->unregistered);
	if (w->seen.crowded)
		w->seen.made = (struct lock_reply){.refused = "not empty"};
	if (!w->seen.made.ok)
		return;
	w->folder = (uint8_t)w->place.slots;
}

static void serve(struct lock_world *w)
{
	int own = find(w);

	memset(&w->seen, 0, sizeof(w->seen));
	switch (w->place.need) {
	case LOCK_NOTHING: break;
	case LOCK_ENTER: serve_enter(w); break;
	case LOCK_LIST: serve_list(w); break;
	case LOCK_WATCH: serve_watch(w); break;
	case LOCK_TAKE:
		w->seen.read = says(w, own >= 0);
		w->seen.own = own >= 0 && !w->forbids;
		w->watches_folder = false;
		w->watch = w->seen.own ? SELF : NOBODY;
		break;
	case LOCK_TELL:
		w->seen.made = says(w, own >= 0);
		if (w->watch == SELF && w->seen.made.ok)
			fires(w, false);
		break;
	case LOCK_JUDGE: serve_judge(w); break;
	case LOCK_RESET: serve_reset(w); break;
	case LOCK_ASIDE:
	case LOCK_DELETE:
		if (!w->place.known && w->place.need == LOCK_DELETE) {
			serve_list(w);
			break;
		}
		w->seen.made = says(w, own >= 0);
		if (w->seen.made.ok)
			drop(w, own);
		break;
	}
	w->served = true;
}

/* The caller sends what is needed. */
static void send(struct lock_world *w)
{
	if (!w->begun || w->busy || w->place.need == LOCK_NOTHING)
		return;
	if (w->place.need == LOCK_DELETE && !w->place.known && !w->place.maybe)
		give(w, LOCK_ABSENT);
	else
		w->busy = true;
}

static void deliver(struct lock_world *w, bool cut)
{
	w->seen.cut = cut;
	w->seen.making |= w->place.need == LOCK_ENTER && !w->place.maybe;
	if (cut) { /* the answer says nothing, and watches are set again: they fire if need be */
		const struct lock_seen lost = {.cut = true, .making = w->seen.making};
		w->seen = lost;
	}
	w->busy = w->served = false;
	give(w, LOCK_ANSWERED);
	if (w->note && w->place.state != LOCK_GONE)
		give(w, w->note_deleted ? LOCK_DELETED : LOCK_CHANGED);
	w->note = w->note_deleted = false;
}

/* --- what happens ------------------------------------------------------------------------------------- */

static bool begin(struct lock_world *w, enum happens what)
{
	if (w->begun)
		return false;
	w->begun = true;
	w->attaching = what == LOCK_BEGIN_ATTACH;
	if (w->attaching || what == LOCK_BEGIN_AGAIN) { /* its node is there, unless it went */
		w->folder = 1;
		w->line[w->n++] = SELF;
	}
	lock_place_init(&w->place,
			what == LOCK_BEGIN_TWO ? 2
			: w->attaching	       ? 0
					       : 1,
			w->attaching || what == LOCK_BEGIN_AGAIN);
	return true;
}

static void expire(struct lock_world *w)
{
	for (int i = w->n - 1; i >= 0; i--)
		if (w->line[i] == SELF) {
			w->watch = NOBODY;
			drop(w, i);
		}
	w->watch = NOBODY;
	w->watches_folder = w->note = w->note_deleted = false;
	if (w->busy)
		deliver(w, true);
	give(w, LOCK_EXPIRED);
}

/* Another that holds the lock says so in its node, for those who wait behind it. */
static bool writes(struct lock_world *w)
{
	int i = 0;

	while (i < w->n && w->line[i] != OTHER)
		i++;
	if (i >= w->folder || i == w->n)
		return false;
	w->line[i] = OTHER_HOLDS;
	if (w->watch == OTHER && w->previous == i && w->place.slots > 1)
		fires(w, false);
	return true;
}

/* Whoever came with another number of slots gives up at last. */
static bool steps_aside(struct lock_world *w)
{
	for (int i = 0; i < w->n; i++) {
		if (w->line[i] != OTHER_SLOTS)
			continue;
		drop(w, i);
		return true;
	}
	return false;
}

static bool others(struct lock_world *w, enum happens what)
{
	int first = w->n > 0 && w->line[0] == SELF ? 1 : 0;
	int last = w->n > 0 && w->line[w->n - 1] == SELF ? w->n - 2 : w->n - 1;

	switch ((int)what) {
	case LOCK_COMES:
	case LOCK_COMES_WITH_OTHERS:
		if (w->n == LINE_MAX - 1 || w->folder == 0)
			return false;
		add(w, what == LOCK_COMES ? OTHER : OTHER_SLOTS);
		return true;
	case LOCK_FIRST_GOES:
		if (first >= w->n)
			return false;
		drop(w, first);
		return true;
	case LOCK_LAST_GOES:
		if (last < 0)
			return false;
		drop(w, last);
		return true;
	default: return writes(w);
	}
}

static bool hands(struct lock_world *w, enum happens what)
{
	int own = find(w);

	switch ((int)what) {
	case LOCK_HAND_DELETES:
		if (own < 0)
			return false;
		drop(w, own);
		return true;
	case LOCK_HAND_WRITES:
		if (w->watch != SELF)
			return false;
		fires(w, false);
		return true;
	case LOCK_SWEEP:
		if (w->n > 0 || w->folder == 0)
			return false;
		w->folder = 0;
		return true;
	case LOCK_OTHER_NUMBER:
		if (w->folder == 2 || w->n > 1 || w->place.state != LOCK_ENTERING)
			return false;
		w->folder = 2;
		return true;
	case LOCK_FOREIGN:
		if (w->folder != 0)
			return false;
		w->folder = 3;
		return true;
	case LOCK_FORBID: w->forbids = !w->forbids; return true;
	default:
		if (w->unregistered)
			return false;
		w->unregistered = true;
		return true;
	}
}

static bool happen(struct lock_world *w, enum happens what)
{
	if (what <= LOCK_BEGIN_ATTACH)
		return begin(w, what);
	if (what >= LOCK_COMES && what <= LOCK_WRITES)
		return others(w, what);
	if (what >= LOCK_HAND_DELETES)
		return w->begun && hands(w, what);
	switch ((int)what) {
	case LOCK_SERVE:
		if (!w->busy || w->served)
			return false;
		serve(w);
		return true;
	case LOCK_DELIVER:
	case LOCK_CUT:
		if (what == LOCK_CUT ? !w->busy : !w->served)
			return false;
		deliver(w, what == LOCK_CUT);
		return true;
	case LOCK_EXPIRE:
		if (!w->begun)
			return false;
		expire(w);
		return true;
	case LOCK_TOLD:
		if (w->place.state != LOCK_HELD || w->told || w->lost)
			return false;
		w->told = true;
		w->attaching = false;
		return true;
	default:
		if (!w->begun || w->place.state >= LOCK_LEAVING)
			return false;
		give(w, LOCK_GIVEN_UP);
		return true;
	}
}

static bool apply(void *state, unsigned event)
{
	struct lock_world *w = state;
	bool possible = happen(w, (enum happens)event);

	send(w);
	return possible;
}

/* --- what must hold ----------------------------------------------------------------------------------- */

static bool rests(const struct lock_world *w)
{
	return !w->busy && w->place.need == LOCK_NOTHING;
}

static const char *wrong(const struct lock_world *w)
{
	int own = find(w);

	if (w->fault)
		return w->fault;
	if (w->place.state == LOCK_HELD && rests(w) && !w->lost) {
		if (own < 0 || w->watch != SELF)
			return "holds, and would not hear that its node is gone";
		if (own >= w->place.slots)
			return "holds, with too many before it";
	}
	if (w->place.state == LOCK_WAITING && rests(w) && w->watch != OTHER && !w->watches_folder)
		return "waits for nothing";
	if (w->place.state == LOCK_GONE && own >= 0 && !w->left)
		return "is gone, but its node is there";
	return NULL;
}

static const char *check(void *state)
{
	struct lock_world *w = state;
	const char *fault = wrong(w);

	w->forbids = w->unregistered = false;
	for (int i = 0; !fault && i < SETTLE_STEPS && w->begun; i++) {
		if (rests(w) && !writes(w) && !steps_aside(w))
			break;
		if (i >= SETTLE_STEPS / 2)
			steps_aside(w);
		send(w);
		apply(w, w->served ? LOCK_DELIVER : LOCK_SERVE);
		fault = wrong(w);
	}
	if (fault || !w->begun || w->lost)
		return fault;
	if (!rests(w))
		return "does not come to rest";
	/* That a hand has deleted its node is noticed once the node before it goes. */
	if (w->place.state == LOCK_WAITING && find(w) >= 0 && find(w) < w->place.slots)
		return "waits although few enough are before it";
	if (w->place.state == LOCK_ENTERING || w->place.state == LOCK_LEAVING)
		return "rests on its way";
	return NULL;
}

static size_t pack(const void *state, uint8_t *bytes)
{
	const struct lock_world *w = state;
	const struct lock_place *p = &w->place;
	const struct lock_seen *s = &w->seen;
	const bool flags[] = {p->known,	 p->maybe,	  p->parents,	    p->entered,
			      p->waited, p->tells,	  p->first,	    w->begun,
			      w->busy,	 w->served,	  w->told,	    w->attaching,
			      w->lost,	 w->left,	  w->forbids,	    w->unregistered,
			      w->note,	 w->note_deleted, w->watches_folder};
	const bool seen[] = {s->making,	 s->no_folder,	  s->unmakeable, s->crowded,
			     s->made.ok, s->made.refused, s->listed.ok,	 s->listed.refused,
			     s->read.ok, s->read.refused, s->own,	 s->behind,
			     s->others,	 s->held,	  s->ahead};
	struct packer packer = {.bytes = bytes};
	int64_t bits = 0, answers = 0;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		bits |= (int64_t)flags[i] << i;
	for (size_t i = 0; w->served && i < sizeof(seen) / sizeof(seen[0]); i++)
		answers |= (int64_t)seen[i] << i;
	pack_number(&packer, bits);
	pack_number(&packer, answers);
	pack_number(&packer, w->served ? (int64_t)s->before | s->slots << 4 : 0);
	pack_number(&packer, (int64_t)p->state | (int64_t)p->need << 4 | p->slots << 8 |
				     p->in_use << 12 | (int64_t)w->folder << 16 |
				     (int64_t)w->watch << 20 | (int64_t)w->previous << 24);
	for (int i = 0; i < LINE_MAX; i++)
		packer.bytes[packer.n++] = w->line[i];
	return packer.n;
}

static void init(void *state)
{
	(void)state;
}

static const char *event_name(unsigned event)
{
	static const char *const names[LOCK_HAPPENS] = {"begins, one slot",
							"begins, two slots",
							"begins again",
							"attaches",
							"the server does it",
							"the answer arrives",
							"the answer is lost",
							"the session expires",
							"its client is told",
							"its client gives up",
							"another comes",
							"another comes with other slots",
							"the first other goes",
							"the last other goes",
							"another writes that it holds",
							"a hand deletes its node",
							"a hand writes it",
							"an empty folder is swept",
							"another number of slots",
							"a foreign folder",
							"the server refuses, or ends that",
							"the registration is gone"};

	return names[event];
}

const struct explore explore_of_lock = {
	.name = "place in the line of a lock",
	.state_size = sizeof(struct lock_world),
	.n_events = LOCK_HAPPENS,
	.init = init,
	.apply = apply,
	.check = check,
	.pack = pack,
	.event_name = event_name,
};
