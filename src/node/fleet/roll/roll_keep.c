/* The keeper of the roll, and the changes that wait to be written. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log/log.h"
#include "node/fleet/roll/roll_parts.h"
#include "node/tree/paths.h"

/* --- what is pending ------------------------------------------------------ */

static size_t chunk_of(const struct roll *r, const char *id)
{
	return hash_bytes(id, strlen(id), 0) % (r->head.n_chunks > 0 ? r->head.n_chunks : 1);
}

static void forget_pending(struct roll *r)
{
	buffer_clear(&r->pending.joined);
	buffer_clear(&r->pending.left);
	r->pending.n_joined = r->pending.n_left = 0;
}

/* Begins to collect changes; collected: the zxid up to which the head has them, 0: not known. */
static void collect(struct roll *r)
{
	if (r->collects)
		return;
	r->collects = true;
	r->collected = r->head.zxid == r->zxid && !r->own ? r->zxid : 0;
	forget_pending(r);
}

void roll_joined(struct roll *r, const char *id, const struct store_reply *reply, bool readable)
{
	struct roll_entry e = {.session = reply->stat.owner, .ctime = reply->stat.ctime};

	roll_is_back(r, reply->stat.owner);
	if (!r->collects || !name_is_id(id, strlen(id)))
		return;
	snprintf(e.id, sizeof(e.id), "%s", id);
	if (readable && reply->len <= ROLL_RECORD_MAX) {
		e.record = reply->data;
		e.record_len = reply->len;
	}
	keep_dirty(r, chunk_of(r, id));
	r->pending.n_joined++;
	if (r->pending.joined.len + ROLL_RECORD_MAX + NAME_ID_MAX + 64 > ROLL_LOG_MAX)
		r->collected = 0;
	else
		roll_pack_entry(&r->pending.joined, &e);
}

void roll_joined_self(struct roll *r)
{
	r->own = true;
	roll_joined(r, r->self, &(struct store_reply){.code = STORE_OK}, false);
}

void roll_left(struct roll *r, const char *id)
{
	if (!r->collects || !name_is_id(id, strlen(id)))
		return;
	keep_dirty(r, chunk_of(r, id));
	r->pending.n_left++;
	if (r->pending.left.len + NAME_ID_MAX + 64 > ROLL_LOG_MAX)
		r->collected = 0;
	else
		roll_pack_id(&r->pending.left, id);
}

/* --- who keeps it --------------------------------------------------------- */

void keep_turn(struct roll *r, int64_t ms)
{
	int64_t at = host_now_ms(r->session->host) + ms;

	if (r->turning && r->turn_ms <= at)
		return;
	host_timer_start(&r->turn, ms);
	r->turn_ms = at;
	r->turning = true;
}

/*
 * The time until our turn to keep it: a turn for each worker before us that may. One of a release
 * without lists never does; one whose record is not read yet may.
 */
static int64_t until_turn(const struct roll *r)
{
	const struct fleet *f = r->fleet;
	size_t before = roll_index(r), never = 0;

	for (size_t i = 0; i < f->n_members && strcmp(f->by_id[i]->worker->id, r->self) < 0; i++)
		never += !f->by_id[i]->worker->lists;
	return (int64_t)(before > never ? before - never : 0) * ROLL_TURN_MS;
}

static bool has_chunk(const struct store_reply *reply, size_t k)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", (unsigned)k);
	for (size_t i = 0; i < reply->n_names; i++)
		if (strcmp(reply->names[i], name) == 0)
			return true;
	return false;
}

static void end_turn(struct roll *r)
{
	host_timer_stop(&r->turn);
	r->turning = r->resting = false;
	r->doubted_ms = 0;
}

static void on_made(void *arg, const struct store_reply *reply)
{
	struct roll *r = arg;

	if (reply->code == STORE_ABANDONED || r->state != ROLL_KEEPING)
		return;
	if (reply->code != STORE_OK) {
		keep_turn(r, ROLL_AGAIN_MS);
		return;
	}
	r->n_made = 0;
	while (r->n_made < ROLL_CHUNKS_MAX && has_chunk(reply, r->n_made))
		r->n_made++;
	r->chunks_known = true;
	keep_publish(r);
}

static void keep(struct roll *r)
{
	char path[STORE_PATH_MAX];

	if (r->state != ROLL_KEEPING)
		log_info("the roll is kept here", LOG_INT("workers", (int64_t)r->folder->n));
	collect(r);
	r->state = ROLL_KEEPING;
	r->ours = r->busy = r->chunks_known = false;
	r->folder->first = true;
	roll_cut(r);
	folder_release(r->folder);
	folder_quiet(r->folder, false);
	roll_path(r, NULL, path);
	roll_ask(r);
	store_children(r->session->store, path, false, on_made, r);
}

/* Somebody else was first: we need not read the fleet for all others. */
static void yield_turn(struct roll *r)
{
	r->ours = r->folder->first = false;
	roll_seek(r, 0);
}

static void on_keeper(void *arg, const struct store_reply *reply)
{
	struct roll *r = arg;

	if (store_is_lost(reply->code) || r->state == ROLL_OFF)
		return;
	r->vacant = reply->code == STORE_NO_NODE;
	if (reply->code == STORE_OK && reply->stat.owner == store_session(r->session->store)) {
		if (r->state != ROLL_KEEPING)
			keep(r);
	} else if (r->state == ROLL_KEEPING) {
		roll_seek(r, 0); /* somebody has deleted it, or has made it anew */
	}
	if (r->state != ROLL_KEEPING)
		end_turn(r);
	if (r->vacant)
		keep_turn(r, until_turn(r));
	else if (r->ours)
		yield_turn(r);
}

void keep_watch(struct roll *r)
{
	char path[STORE_PATH_MAX];

	if (r->watched || !session_is_up(r->session))
		return;
	r->watched = true;
	roll_path(r, ROLL_KEEPER, path);
	watches_exists(&r->session->watches, path, WATCH_FOLDER, r, on_keeper, r);
}

void keep_watched(struct roll *r)
{
	r->watched = false;
	if (r->state != ROLL_OFF)
		keep_watch(r);
}

static void on_claimed(void *arg, const struct store_reply *reply)
{
	struct roll *r = arg;

	if (store_is_lost(reply->code) || r->state != ROLL_SEEKING)
		return;
	r->there |= reply->code == STORE_NODE_EXISTS && reply->failed_op == 0;
	if (reply->code == STORE_OK) {
		keep(r);
		return;
	}
	r->folder->first = false;
	keep_turn(r, ROLL_AGAIN_MS);
	roll_ask(r); /* somebody else may keep it */
}

bool keep_claim(struct roll *r)
{
	char path[STORE_PATH_MAX], keeper[STORE_PATH_MAX];
	struct store_op ops[2] = {{.type = STORE_OP_CREATE, .path = path},
				  {.type = STORE_OP_CREATE_EPHEMERAL, .path = keeper}};

	if (!r->vacant || !r->ours || !r->self[0])
		return false;
	r->ours = false;
	ops[1].data = r->self;
	ops[1].len = strlen(r->self);
	roll_path(r, NULL, path);
	roll_path(r, ROLL_KEEPER, keeper);
	store_multi(r->session->store, ops + r->there, 2 - r->there, on_claimed, r);
	return true;
}

/*
 * A keeper may be there and not do its work: its session may have gone on to a sidecar of an older
 * release. Whoever finds it so for a session timeout ends its term.
 */
void keep_doubt(struct roll *r)
{
	int64_t now = host_now_ms(r->session->host);

	if (r->doubted_ms == 0)
		r->doubted_ms = now + session_told_timeout(r->session) + until_turn(r);
	keep_turn(r, r->doubted_ms > now ? r->doubted_ms - now : 0);
}

static void on_deposed(void *arg, const struct store_reply *reply)
{
	struct roll *r = arg;

	if (!store_is_lost(reply->code) && r->state == ROLL_SEEKING)
		keep_watched(r);
}

static void depose(struct roll *r)
{
	char path[STORE_PATH_MAX];
	struct store_op op = {.type = STORE_OP_DELETE, .path = path, .version = -1};

	r->doubted_ms = 0; /* whoever is next has its time, too */
	log_warning("the roll is not kept by its keeper", LOG_STR("by", r->self));
	roll_path(r, ROLL_KEEPER, path);
	store_multi(r->session->store, &op, 1, on_deposed, r);
}

static void on_turn(void *arg)
{
	struct roll *r = arg;

	r->turning = false;
	if (!session_is_up(r->session))
		return;
	if (r->state == ROLL_KEEPING && r->chunks_known) {
		r->all_chunks = !r->resting;
		r->resting = false;
		keep_publish(r);
	} else if (r->state == ROLL_KEEPING) {
		keep(r);
	} else if (r->state != ROLL_OFF && r->vacant) {
		collect(r);
		r->ours = r->folder->first = true;
		roll_seek(r, 0);
	} else if (r->state == ROLL_SEEKING && r->doubted_ms > 0) {
		if (host_now_ms(r->session->host) >= r->doubted_ms)
			depose(r);
		else
			keep_doubt(r); /* the turn was for something else */
	}
}

void roll_settled(struct roll *r)
{
	keep_publish(r);
	if (r->vacant && r->turning && r->state == ROLL_SEEKING)
		keep_turn(r, until_turn(r)); /* it is known by now who never does */
	if (r->state == ROLL_SEEKING && r->ours)
		(void)keep_claim(r);
}

/* --- begin and end -------------------------------------------------------- */

void keep_forget(struct roll *r)
{
	r->collects = r->ours = r->vacant = r->watched = r->folder->first = false;
	r->busy = r->chunks_known = r->all_chunks = false;
	r->collected = r->written = r->sent.sum = 0;
	forget_pending(r);
	memset(r->dirty, 0, sizeof(r->dirty));
	end_turn(r);
}

void keep_up(struct roll *r)
{
	r->ours = r->vacant = r->watched = false;
	r->busy = r->chunks_known = false;
	end_turn(r);
}

void keep_init(struct roll *r)
{
	buffer_init(&r->pending.joined, 2 * ROLL_LOG_MAX);
	buffer_init(&r->pending.left, 2 * ROLL_LOG_MAX);
	buffer_init(&r->sent.bytes, 2 * ROLL_LOG_MAX);
	host_timer_init(&r->turn, r->session->host, on_turn, r);
}

void keep_done(struct roll *r)
{
	host_timer_done(&r->turn);
	buffer_done(&r->pending.joined);
	buffer_done(&r->pending.left);
	buffer_done(&r->sent.bytes);
}
