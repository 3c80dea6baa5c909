#include "node/session/watches.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/session/watch_table.h"

/* Per cent of what leader nodes leave, for a class and all that matter less. */
static const unsigned shares[WATCH_CLASSES] = {
	[WATCH_FOLDER] = 100, [WATCH_LEADER] = 100, [WATCH_RECIPE] = 100,
	[WATCH_QUEUE] = 75,   [WATCH_RUN] = 50,	    [WATCH_WAIT] = 25,
};

struct call {
	struct watch_entry *entry;
	const void *owner;
	bool absent_too; /* the watch is set on a node that is not there as well */
	store_reply_fn fn;
	void *arg;
};

/* --- what is counted, removed and looked at ------------------------------- */

static void account(struct watches *w, struct watch_entry *e)
{
	bool counted = e->set || e->flying > 0 || e->removing;
	bool leaving = counted && (e->by_time || e->n_owners == 0);

	if (e->counted) {
		w->count--;
		w->bytes -= e->bytes;
		w->used[e->class] -= e->bytes;
	}
	if (counted) {
		w->count++;
		w->bytes += e->bytes;
		w->used[e->class] += e->bytes;
	}
	w->leaving -= e->leaving ? e->bytes : 0;
	w->leaving += leaving ? e->bytes : 0;
	e->counted = counted;
	e->leaving = leaving;
}

static void set_class(struct watches *w, struct watch_entry *e, enum watch_class class)
{
	if (e->counted) {
		w->used[e->class] -= e->bytes;
		w->used[class] += e->bytes;
	}
	e->class = class;
}

static void set_by_time(struct watches *w, struct watch_entry *e, bool by_time)
{
	if (e->by_time) {
		TAILQ_REMOVE(&w->looks, e, look);
		w->n_looks--;
	}
	e->by_time = by_time;
	if (!by_time)
		return;
	e->look_ms = host_now_ms(w->host) + WATCH_LOOK_MS;
	TAILQ_INSERT_TAIL(&w->looks, e, look);
	w->n_looks++;
	if (!host_timer_is_set(&w->look))
		host_timer_start(&w->look, WATCH_LOOK_MS);
}

static void set_queued(struct watches *w, struct watch_entry *e, bool queued)
{
	if (queued && !e->queued)
		TAILQ_INSERT_TAIL(&w->removals, e, removal);
	else if (!queued && e->queued)
		TAILQ_REMOVE(&w->removals, e, removal);
	e->queued = queued;
}

static void pump_removals(struct watches *w);

/* Updates what follows from a change of the entry, which may be freed. */
static void settle(struct watches *w, struct watch_entry *e)
{
	bool owned = e->n_owners > 0;

	if (!owned && e->by_time)
		set_by_time(w, e, false);
	account(w, e);
	set_queued(w, e, e->set && e->leaving && e->flying == 0 && !e->removing);
	if (!e->counted && !owned) {
		watch_unlink(w, e);
		free(e);
	}
	pump_removals(w);
}

/* --- removing ------------------------------------------------------------- */

static bool end_with_session(struct watch_entry *e)
{
	if (e->watches)
		return false;
	if (e->flying == 0 && !e->removing)
		free(e);
	return true;
}

static void on_removed(void *arg, const struct store_reply *reply)
{
	struct watch_entry *e = arg;
	struct watches *w = e->watches;

	e->removing = false;
	if (end_with_session(e))
		return;
	w->removing--;
	w->lost_now |= reply->code == STORE_UNKNOWN;
	if (reply->code == STORE_OK || reply->code == STORE_NO_NODE) {
		w->lost = 0;
		e->set = false;
		settle(w, e);
	} else { /* the watch stays, and is removed on the next connection */
		account(w, e);
		pump_removals(w);
	}
}

static bool may_remove(const struct watches *w)
{
	if (w->lost < WATCH_LOST_MAX)
		return w->up && w->removing < WATCH_REMOVALS_MAX;
	return w->up && w->removing == 0 && host_now_ms(w->host) >= w->lost_ms + WATCH_LOST_MS;
}

static void pump_removals(struct watches *w)
{
	struct watch_entry *e;

	while (may_remove(w) && (e = TAILQ_FIRST(&w->removals))) {
		set_queued(w, e, false);
		e->removing = true;
		w->removing++;
		store_unwatch(w->store, e->path, e->kind == WATCH_CHILDREN, on_removed, e);
	}
}

void watches_set_up(struct watches *w, bool up)
{
	w->up = up;
	if (up && w->lost_now) {
		w->lost++;
		w->lost_ms = host_now_ms(w->host);
	}
	w->lost_now &= !up;
	for (size_t i = 0; up && i < w->n_buckets; i++)
		for (struct watch_entry *e = SLIST_FIRST(&w->buckets[i]); e;
		     e = SLIST_NEXT(e, link))
			set_queued(w, e, e->set && e->leaving && e->flying == 0 && !e->removing);
	pump_removals(w);
}

/* --- the budget ----------------------------------------------------------- */

static bool is_always(enum watch_class class)
{
	return class == WATCH_FOLDER || class == WATCH_LEADER;
}

/* The bytes that all other classes may have together. */
static size_t room_of(const struct watches *w)
{
	size_t leaders = w->used[WATCH_LEADER] > w->reserve ? w->used[WATCH_LEADER] : w->reserve;
	size_t always = leaders + w->used[WATCH_FOLDER];

	return always < w->limit ? w->limit - always : 0;
}

/* Bytes of the watches of that class and of all that matter less. */
static size_t used_from(const struct watches *w, enum watch_class class)
{
	size_t used = 0;

	for (enum watch_class c = class; c < WATCH_CLASSES; c++)
		used += w->used[c];
	return used;
}

static bool has_room(const struct watches *w, enum watch_class class, size_t bytes)
{
	size_t room = room_of(w);

	return is_always(class) || (used_from(w, class) + bytes <= room / 100 * shares[class] &&
				    used_from(w, WATCH_RECIPE) + bytes <= room);
}

static void take_back(struct watches *w, enum watch_class class)
{
	for (size_t i = 0; i < w->n_buckets; i++) {
		for (struct watch_entry *e = SLIST_FIRST(&w->buckets[i]); e;
		     e = SLIST_NEXT(e, link)) {
			if (used_from(w, WATCH_RECIPE) <= room_of(w) + w->leaving)
				return;
			if (e->class != class || !e->counted || e->leaving)
				continue;
			set_by_time(w, e, true);
			account(w, e);
			set_queued(w, e, e->set && e->flying == 0 && !e->removing);
		}
	}
}

/* Takes back the least important watches if more important ones need their room. */
static void make_room(struct watches *w)
{
	for (enum watch_class c = WATCH_WAIT; c >= WATCH_RECIPE; c--)
		if (used_from(w, WATCH_RECIPE) > room_of(w) + w->leaving)
			take_back(w, c);
	pump_removals(w);
}

void watches_reserve(struct watches *w, size_t bytes)
{
	w->reserve = bytes;
	make_room(w);
}

/* --- requests ------------------------------------------------------------- */

static bool has_set(const struct call *call, const struct store_reply *reply)
{
	return reply->code == STORE_OK || (call->absent_too && reply->code == STORE_NO_NODE);
}

static void on_reply(void *arg, const struct store_reply *reply)
{
	struct call call = *(struct call *)arg;
	struct watch_entry *e = call.entry;
	struct watch_owner *o;

	free(arg);
	e->flying--;
	if (!end_with_session(e)) {
		e->set |= has_set(&call, reply);
		o = watch_find_owner(e, call.owner);
		o->flying--;
		if (o->flying == 0 && (!e->set || o->dropped))
			watch_drop_owner(e, o);
		settle(e->watches, e);
	}
	call.fn(call.arg, reply);
}

/* Begins a request. Returns the entry, if it may be watched; NULL: it is looked at by time. */
static struct watch_entry *begin(struct watches *w, const char *path, enum watch_kind kind,
				 enum watch_class class, const void *owner)
{
	struct watch_entry *e = watch_find(w, path, kind);

	if (!e)
		e = watch_add(w, path, kind, class);
	else if (class < e->class)
		set_class(w, e, class);
	struct watch_owner *o = watch_add_owner(e, owner);
	bool is_in = e->counted && !e->leaving;
	if (!is_in && !has_room(w, class, e->counted ? 0 : e->bytes)) {
		set_by_time(w, e, true);
		settle(w, e);
		return NULL;
	}
	set_by_time(w, e, false);
	o->flying++;
	e->flying++;
	assert(e->n_owners > 0);
	settle(w, e);
	if (is_always(class))
		make_room(w);
	return e;
}

/* Whether the request is sent with a watch: then *ret_call is for its answer. */
static bool is_watched(struct watches *w, const char *path, enum watch_kind kind,
		       enum watch_class class, const void *owner, struct call *call,
		       struct call **ret_call)
{
	call->entry = begin(w, path, kind, class, owner);
	if (!call->entry)
		return false;
	call->owner = owner;
	*ret_call = mem_alloc(sizeof(**ret_call));
	**ret_call = *call;
	return true;
}

void watches_get(struct watches *w, const char *path, enum watch_class class, const void *owner,
		 store_reply_fn fn, void *arg)
{
	struct call new = {.fn = fn, .arg = arg}, *call;

	if (is_watched(w, path, WATCH_NODE, class, owner, &new, &call))
		store_get(w->store, path, true, on_reply, call);
	else
		store_get(w->store, path, false, fn, arg);
}

void watches_exists(struct watches *w, const char *path, enum watch_class class, const void *owner,
		    store_reply_fn fn, void *arg)
{
	struct call new = {.absent_too = true, .fn = fn, .arg = arg}, *call;

	if (is_watched(w, path, WATCH_NODE, class, owner, &new, &call))
		store_exists(w->store, path, true, on_reply, call);
	else
		store_exists(w->store, path, false, fn, arg);
}

void watches_children(struct watches *w, const char *path, enum watch_class class,
		      const void *owner, store_reply_fn fn, void *arg)
{
	struct call new = {.fn = fn, .arg = arg}, *call;

	if (is_watched(w, path, WATCH_CHILDREN, class, owner, &new, &call))
		store_children(w->store, path, true, on_reply, call);
	else
		store_children(w->store, path, false, fn, arg);
}

bool watches_has(struct watches *w, const char *path, enum watch_kind kind)
{
	const struct watch_entry *e = watch_find(w, path, kind);

	return e && e->set && !e->by_time;
}

void watches_drop(struct watches *w, const char *path, enum watch_kind kind, const void *owner)
{
	struct watch_entry *e = watch_find(w, path, kind);
	struct watch_owner *o = e ? watch_find_owner(e, owner) : NULL;

	if (!o)
		return;
	watch_drop_owner(e, o);
	settle(w, e);
}

/* --- events --------------------------------------------------------------- */

static void forget(struct watches *w, const char *path, enum watch_kind kind)
{
	struct watch_entry *e = watch_find(w, path, kind);

	if (!e)
		return;
	e->set = false;
	watch_drop_told(e);
	settle(w, e);
}

void watches_fired(struct watches *w, enum store_watch type, const char *path)
{
	if (type != STORE_CHILDREN_CHANGED)
		forget(w, path, WATCH_NODE);
	if (type == STORE_CHILDREN_CHANGED || type == STORE_NODE_DELETED)
		forget(w, path, WATCH_CHILDREN);
}

/* The owners read again, and ask for a watch again. */
static void look(struct watches *w, struct watch_entry *e)
{
	bool children = e->kind == WATCH_CHILDREN;
	mem_auto char *path = mem_strdup(e->path);

	set_by_time(w, e, false);
	watch_drop_told(e);
	settle(w, e);
	w->fired(w->arg, children ? STORE_CHILDREN_CHANGED : STORE_NODE_CHANGED, path);
}

static void on_look(void *arg)
{
	struct watches *w = arg;
	struct watch_entry *e;
	int64_t now = host_now_ms(w->host), due;

	for (int i = 0; w->up && i < WATCH_LOOKS_AT_ONCE; i++) {
		e = TAILQ_FIRST(&w->looks);
		if (!e || e->look_ms > now)
			break;
		look(w, e);
	}
	e = TAILQ_FIRST(&w->looks);
	if (!e)
		return;
	due = e->look_ms - now;
	host_timer_start(&w->look, due > WATCH_LOOKS_EVERY_MS ? due : WATCH_LOOKS_EVERY_MS);
}

/* --- sessions ------------------------------------------------------------- */

void watches_begin(struct watches *w, struct store *store, size_t limit)
{
	w->store = store;
	w->limit = limit;
}

void watches_end(struct watches *w)
{
	for (size_t i = 0; i < w->n_buckets; i++) {
		struct watch_entry *e;
		while ((e = SLIST_FIRST(&w->buckets[i]))) {
			SLIST_REMOVE_HEAD(&w->buckets[i], link);
			watch_drop_all(e);
			e->watches = NULL;
			(void)end_with_session(e);
		}
	}
	TAILQ_INIT(&w->looks);
	TAILQ_INIT(&w->removals);
	memset(w->used, 0, sizeof(w->used));
	w->n_entries = w->count = w->bytes = w->leaving = w->n_looks = w->removing = 0;
	w->store = NULL;
	w->up = w->lost_now = false;
	w->lost = 0;
	host_timer_stop(&w->look);
}

void watches_init(struct watches *w, struct host *host,
		  void (*fired)(void *arg, enum store_watch type, const char *path), void *arg)
{
	*w = (struct watches){.host = host, .fired = fired, .arg = arg, .limit = WATCHES_MAX};
	TAILQ_INIT(&w->looks);
	TAILQ_INIT(&w->removals);
	host_timer_init(&w->look, host, on_look, w);
}

void watches_done(struct watches *w)
{
	watches_end(w);
	free(w->buckets);
	w->buckets = NULL;
	w->n_buckets = 0;
	host_timer_done(&w->look);
}
