#include "node/fleet/roll/roll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/fleet/roll/roll_parts.h"
#include "node/tree/paths.h"

void roll_path(const struct roll *r, const char *name, char path[STORE_PATH_MAX])
{
	path_of(r->session->settings, PATH_ROLL, name, path);
}

size_t roll_index(const struct roll *r)
{
	return folder_place(r->folder, r->self);
}

const char *roll_keeper(const struct roll *r)
{
	if (r->state == ROLL_KEEPING)
		return r->self;
	return r->state == ROLL_FOLLOWING ? r->head.keeper : "";
}

int64_t roll_set_of(const struct roll *r)
{
	int64_t set = 0;

	for (size_t i = 0; i < r->folder->n; i++)
		set = roll_set(set, r->folder->names[i]);
	for (size_t i = 0; i < r->folder->n_wanted; i++)
		set = roll_set(set, r->folder->wanted[i].name);
	return set;
}

/* How far a roll that is kept may be behind the folder in a fleet of so many workers, in ms. */
static int64_t patience(int64_t workers)
{
	return ROLL_LAG_MS + 2 * workers / FOLDER_LIST_NAMES_PER_MS;
}

/* Nothing is known of a roll that is kept, nor how long one has been waited for. */
static void forget_search(struct roll *r)
{
	r->first = r->patient_ms = 0;
	r->waited = r->patient = r->behind = r->renewed = false;
}

void roll_seek(struct roll *r, int64_t ms)
{
	r->state = ROLL_SEEKING;
	forget_search(r);
	host_timer_stop(&r->look);
	host_timer_stop(&r->lag);
	r->lag_zxid = 0;
	host_timer_start(&r->seek, ms);
}

/* We have not waited for a session timeout yet. */
static bool is_early(const struct roll *r)
{
	return host_now_ms(r->session->host) - r->patient_ms < session_told_timeout(r->session);
}

/* Whoever keeps it reads the fleet still, or has not written all of it. */
static bool is_begun(const struct roll *r)
{
	bool few = 4 * (size_t)r->head.workers < 3 * folder_names(r->folder);

	return r->blank || (r->head.zxid > 0 && (few || roll_lacks_chunks(r)));
}

/*
 * Whether to wait for the roll instead of listing, for one session timeout at most: its keeper goes
 * on writing, or has just begun, or reads are outstanding.
 */
static bool has_time(struct roll *r)
{
	bool goes_on = r->asked || r->chunk_reads > 0 || r->sum != r->patient_with ||
		       (is_begun(r) && !r->vacant);

	return goes_on && is_early(r);
}

static void on_seek(void *arg)
{
	struct roll *r = arg;
	bool patient = r->patient;

	r->patient = false;
	if (r->state == ROLL_SEEKING && patient && has_time(r)) {
		roll_be_patient(r);
		return;
	}
	/* A fleet that has just begun may be a big one by now, and somebody about to keep it. */
	if (r->state == ROLL_SEEKING && patient && r->blank && r->vacant && !r->renewed) {
		r->renewed = true;
		(void)folder_refresh(r->folder);
		return;
	}
	r->waited |= patient;
	r->behind = false;
	if (r->state != ROLL_SEEKING)
		return;
	if (r->waited)
		folder_release(r->folder);
	if (r->folder->quiet)
		folder_quiet(r->folder, false);
	else if (r->first == 0)
		(void)folder_refresh(r->folder);
}

/* Those who find the same at the same time do not list the folder all at once. */
static int64_t turn_of(const struct roll *r)
{
	return (int64_t)(roll_index(r) / ROLL_LISTS_PER_MS);
}

static void seek_in_turn(struct roll *r)
{
	roll_seek(r, turn_of(r));
}

/* A list that was made as the fleet began has few of those whom the head has by now. */
void roll_be_patient(struct roll *r)
{
	int64_t listed = (int64_t)folder_names(r->folder), most = session_told_timeout(r->session);
	int64_t ms = patience(r->head.workers > listed ? r->head.workers : listed);

	folder_quiet(r->folder, true);
	if (r->patient || r->behind)
		return;
	if (r->patient_ms == 0)
		r->patient_ms = host_now_ms(r->session->host);
	r->patient = true;
	r->patient_with = r->sum;
	host_timer_start(&r->seek, ms < most ? ms : most);
}

/* Told once, until the roll is followed again and says who is there. */
static void distrust(struct roll *r, const char *why)
{
	if (!r->told)
		log_warning("the roll is not followed", LOG_STR("why", why));
	r->told = true;
	r->bad = r->sum;
	seek_in_turn(r);
	r->waited = true; /* who keeps it had time */
}

/* --- the roll against the folder ------------------------------------------ */

static void look_later(struct roll *r)
{
	int64_t ms = session_told_timeout(r->session);
	uint32_t random;

	host_random(r->session->host, &random, sizeof(random));
	host_timer_start(&r->look, ms / 2 + random % (ms / 2 + 1));
}

static void on_lag(void *arg)
{
	struct roll *r = arg;

	if (r->state == ROLL_FOLLOWING && r->zxid < r->lag_zxid)
		distrust(r, "it lags behind the workers");
	r->lag_zxid = 0;
}

static void on_looked(void *arg, const struct store_reply *reply)
{
	struct roll *r = arg;

	if (reply->code == STORE_ABANDONED || r->state != ROLL_FOLLOWING)
		return;
	if (reply->code != STORE_OK && !store_is_lost(reply->code)) {
		distrust(r, reply->text);
	} else if (reply->code == STORE_OK && reply->stat.pzxid > r->zxid) {
		if (r->lag_zxid != 0)
			return;
		host_timer_start(&r->lag, patience((int64_t)folder_names(r->folder)));
		r->lag_zxid = reply->stat.pzxid;
	} else if (reply->code == STORE_OK &&
		   (reply->stat.pzxid < r->zxid ||
		    (size_t)reply->stat.children != folder_names(r->folder))) {
		distrust(r, "it does not say who is there");
	}
}

static void on_look(void *arg)
{
	struct roll *r = arg;

	if (r->state != ROLL_FOLLOWING || !session_is_up(r->session))
		return;
	store_exists(r->session->store, r->folder->path, false, on_looked, r);
	look_later(r);
}

void roll_is_back(struct roll *r, int64_t session)
{
	for (size_t i = 0; i < ROLL_SURE_MAX; i++)
		if (r->sure[i].session == session)
			r->sure[i].session = 0;
}

bool roll_is_sure(struct roll *r, int64_t session)
{
	size_t i = 0;

	if (!r->folder->quiet)
		return true;
	while (i < ROLL_SURE_MAX && r->sure[i].session != session)
		i++;
	if (i < ROLL_SURE_MAX)
		return r->folder->lists >= r->sure[i].lists;
	i = r->n_sure++ % ROLL_SURE_MAX;
	r->sure[i].session = session;
	r->sure[i].lists = folder_refresh(r->folder);
	return false;
}

void roll_doubt(struct roll *r)
{
	if (r->folder->quiet)
		(void)folder_refresh(r->folder);
}

bool roll_is_proven(struct roll *r)
{
	bool proven = !r->folder->quiet || r->zxid == r->folder->zxid;

	if (!proven)
		roll_doubt(r);
	return proven;
}

/* --- the head ------------------------------------------------------------- */

struct store_reply roll_reply_of(const struct roll_entry *e)
{
	return (struct store_reply){.code = STORE_OK,
				    .text = "ok",
				    .stat = {.owner = e->session, .ctime = e->ctime},
				    .data = e->record,
				    .len = e->record_len};
}

static bool is_new(void *arg, int64_t zxid)
{
	return zxid > ((struct roll *)arg)->zxid;
}

static void on_joined(void *arg, const struct roll_entry *e)
{
	struct roll *r = arg;
	struct store_reply reply = roll_reply_of(e);

	r->own &= strcmp(e->id, r->self) != 0;
	folder_joined(r->folder, e->id, e->record_len > 0 ? &reply : NULL);
}

static void on_left(void *arg, const char *id)
{
	folder_left(((struct roll *)arg)->folder, id);
}

static void apply(struct roll *r)
{
	const struct roll_changes changes = {is_new, on_joined, on_left, r};

	if (r->head.zxid <= r->zxid)
		return;
	roll_each_change(&r->head, &changes);
	r->zxid = r->head.zxid;
	if (!r->own && roll_set_of(r) != r->head.set)
		distrust(r, "it does not say who is there");
	else
		r->told = false;
	folder_touch(r->folder);
}

static void follow(struct roll *r)
{
	if (r->state != ROLL_FOLLOWING) {
		log_info("the roll is followed", LOG_INT("workers", (int64_t)r->folder->n));
		r->state = ROLL_FOLLOWING;
		host_timer_stop(&r->seek);
		r->folder->first = false;
		r->collects = false;
		r->doubted_ms = 0;
		folder_quiet(r->folder, true);
		look_later(r);
	}
	apply(r);
}

/* A head as of our own list says the same; another one was not found to be wrong. */
static bool is_credible(const struct roll *r)
{
	return r->head.zxid == r->zxid && !r->own ? r->head.set == roll_set_of(r)
						  : r->sum != r->bad;
}

bool roll_has_gap(const struct roll *r)
{
	return r->head.zxid >= r->first && r->head.base > r->zxid && r->sum != r->bad;
}

/*
 * The log does not go back to our own list: another one is made, and its new nodes wait for what
 * the roll has of them.
 */
static void list_in_turn(struct roll *r)
{
	folder_quiet(r->folder, true);
	if (!r->behind)
		host_timer_start(&r->seek, turn_of(r));
	r->behind = true;
	r->patient = false;
	r->waited &= !is_early(r);
}

/*
 * A head that has the first change that our own list had, or a later one, was written since: so
 * somebody keeps the roll.
 */
static void seek_on(struct roll *r)
{
	if (r->first == 0 || keep_claim(r))
		return; /* until the folder is listed, or all is written anew */
	if (roll_has_gap(r))
		list_in_turn(r);
	else if (r->head.zxid >= r->first && is_credible(r))
		follow(r);
	else if (r->head.zxid > 0 && !r->waited && !r->vacant)
		roll_be_patient(r);
	else if (!r->vacant)
		keep_doubt(r);
}

void roll_consider(struct roll *r)
{
	keep_heard(r);
	if (r->state == ROLL_SEEKING)
		seek_on(r);
	else if (r->state == ROLL_FOLLOWING && (r->head.zxid == 0 || r->head.base > r->zxid))
		seek_in_turn(r);
	else if (r->state == ROLL_FOLLOWING)
		apply(r);
}

/* --- from outside --------------------------------------------------------- */

/* The fleet is small again: whoever keeps the roll ends it. */
static void end(struct roll *r)
{
	if (r->state == ROLL_OFF)
		return;
	r->state = ROLL_OFF;
	roll_cut(r);
	keep_forget(r);
	folder_quiet(r->folder, false);
}

bool roll_listed(struct roll *r)
{
	size_t n = folder_names(r->folder);

	r->zxid = r->folder->zxid;
	r->own = false;
	if (r->state == ROLL_KEEPING)
		return false;
	if (n < r->from - r->from / 4) {
		end(r);
		return false;
	}
	if (r->state == ROLL_OFF && n >= r->from) {
		r->state = ROLL_SEEKING;
		forget_search(r);
		r->there = false;
	}
	if (r->state != ROLL_SEEKING)
		return false;
	if (r->head.zxid > 0 && r->head.base > r->zxid)
		r->bad = r->sum; /* a list that is newer has all that the head has */
	if (r->first == 0)
		r->first = r->folder->zxid;
	if (is_begun(r) && !r->vacant && is_early(r))
		r->waited = false; /* more have come than those that were waited for */
	bool hold = roll_are_many(r) && !r->waited && !r->ours;
	memset(r->has_read, 0, sizeof(r->has_read));
	keep_watch(r);
	roll_ask(r);
	return hold && r->asked;
}

void roll_watch(struct roll *r, enum store_watch type, const char *path)
{
	const char *name = path_behind(r->session->settings, PATH_ROLL, path);
	char head[STORE_PATH_MAX];

	if (name && strcmp(name, ROLL_KEEPER) == 0)
		keep_watched(r);
	roll_path(r, NULL, head);
	if (strcmp(path, head) == 0 && type != STORE_CHILDREN_CHANGED && r->state != ROLL_OFF)
		roll_ask(r);
}

void roll_up(struct roll *r)
{
	r->state = r->collects ? ROLL_SEEKING : ROLL_OFF;
	forget_search(r);
	r->asked = r->again = r->there = false;
	keep_up(r);
}

void roll_cut(struct roll *r)
{
	host_timer_stop(&r->seek);
	host_timer_stop(&r->look);
	host_timer_stop(&r->lag);
	r->patient = r->behind = false;
	r->lag_zxid = 0;
}

void roll_expired(struct roll *r)
{
	roll_cut(r);
	keep_forget(r);
	r->state = ROLL_OFF;
	r->zxid = r->head.zxid = 0;
	r->chunk_reads = 0;
	memset(r->sure, 0, sizeof(r->sure));
}

void roll_init(struct roll *r, struct session *session, struct folder *folder,
	       const struct fleet *fleet, const char *self, size_t from,
	       const struct roll_handlers *handlers)
{
	memset(r, 0, sizeof(*r));
	r->session = session;
	r->folder = folder;
	r->fleet = fleet;
	r->self = self;
	r->from = from > 0 ? from : SIZE_MAX;
	r->handlers = *handlers;
	buffer_init(&r->bytes, ROLL_PLAIN_MAX);
	host_timer_init(&r->seek, session->host, on_seek, r);
	host_timer_init(&r->look, session->host, on_look, r);
	host_timer_init(&r->lag, session->host, on_lag, r);
	keep_init(r);
}

bool roll_is_wanted(const struct roll *r)
{
	return r->from != SIZE_MAX;
}

void roll_done(struct roll *r)
{
	host_timer_done(&r->seek);
	host_timer_done(&r->look);
	host_timer_done(&r->lag);
	buffer_done(&r->bytes);
	keep_done(r);
}
