/*
 * Room for submits: `max-queued` as a bound that holds whoever leads. Time is divided in rounds.
 * Each begins with a count of what waits; the room that is left is shared out in blocks, and a
 * submit uses up a piece of a block. A round is a version of ROOT/jobs/Q/due, which every submit
 * checks in its transaction, so that no block outlives its round:
 *
 *     close   set `due` to "counting": from then on no submit of the round before succeeds
 *     count   what waits, read behind that, so it is no less than what was committed
 *     open    set `due` to "", and `open` to the room that is left, in one transaction
 *     take    check `due`, set `open` to less: the difference is ours until the round ends
 *
 * A node begins a round when none is left to take. Blocks are a share of what is left, so that an
 * idle node keeps little from the others; the next round takes it away. A submit costs no request
 * more than before, as long as something of the block is left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/names.h"
#include "node/queue/queue_parts.h"
#include "node/tree/paths.h"

#define ROOM_SHARE	8    /* a block is this fraction of the room that is left */
#define ROOM_READS_MAX	16   /* outstanding reads of one count */
#define ROOM_AGAIN_MS	50   /* another node counts */
#define ROOM_COUNTED_MS 3000 /* and does not finish: this node counts */
#define ROOM_FULL_MS	200  /* time between counts of a full queue */
#define ROOM_REFUSED_MS 1000
#define COUNTING	"counting"

static void room_read(struct queue_room *r);

static struct queues *room_queues(const struct queue_room *r)
{
	return r->queue->queues;
}

static void room_path(const struct queue_room *r, const char *folder, char path[STORE_PATH_MAX])
{
	path_of_queue(queue_paths(r->queue), r->queue->name, folder, NULL, path);
}

/* The submits that wait for it are stepped again. */
static void room_is_known(struct queue_room *r, enum room_answer answer, int64_t for_ms)
{
	names_free(r->folders, r->n_folders);
	r->folders = NULL;
	r->n_folders = 0;
	r->busy = false;
	r->answer = answer;
	r->until_ms = queues_now(room_queues(r)) + for_ms;
	room_queues(r)->look_ms = 0;
	queues_wake(room_queues(r), 0);
}

static void room_later(struct queue_room *r, int64_t in_ms)
{
	r->retry_ms = queues_now(room_queues(r)) + in_ms;
	queues_wake(room_queues(r), in_ms);
}

/* Whether the answer was lost, or the servers refuse: that is handled here. */
static bool room_took(struct queue_room *r, const struct store_reply *reply)
{
	if (queue_is_cut(reply)) {
		room_later(r, ROOM_AGAIN_MS);
	} else if (store_is_refusal(reply->code)) {
		r->refused = reply->code;
		room_is_known(r, ROOM_REFUSED, ROOM_REFUSED_MS);
	} else {
		return false;
	}
	return true;
}

/* --- a block -------------------------------------------------------------- */

static unsigned block_of(unsigned left)
{
	return (left + ROOM_SHARE - 1) / ROOM_SHARE;
}

/* This node has taken a block. */
static void room_begin(struct queue_room *r, int32_t round, unsigned block)
{
	r->round = round;
	r->left = block;
	room_is_known(r, ROOM_TAKEN, 0);
}

static void on_taken(void *arg, const struct store_reply *reply)
{
	struct queue_room *r = arg;

	if (room_took(r, reply))
		return;
	if (reply->code == STORE_OK)
		room_begin(r, r->due_version, block_of(r->there));
	else
		room_read(r); /* another node was faster */
}

static void take_block(struct queue_room *r)
{
	char due[STORE_PATH_MAX], open[STORE_PATH_MAX], text[16];
	struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = due, .version = r->due_version},
		{.type = STORE_OP_SET, .path = open, .version = r->open_version, .data = text},
	};

	room_path(r, "due", due);
	room_path(r, "open", open);
	ops[1].len = (size_t)snprintf(text, sizeof(text), "%u", r->there - block_of(r->there));
	queue_multi(&room_queues(r)->calls, ops, 2, on_taken, r);
}

/* --- a round -------------------------------------------------------------- */

static void on_reopened(void *arg, const struct store_reply *reply)
{
	struct queue_room *r = arg;

	if (!room_took(r, reply))
		room_is_known(r, ROOM_CLOSED, ROOM_FULL_MS);
}

static unsigned room_left(const struct queue_room *r)
{
	unsigned most = r->queue->settings.max_queued;

	return r->count < most ? most - (unsigned)r->count : 0;
}

static void open_round(struct queue_room *r, bool alone);

static void on_opened(void *arg, const struct store_reply *reply)
{
	struct queue_room *r = arg;

	if (room_took(r, reply))
		return;
	if (reply->code == STORE_NO_NODE && reply->failed_op == 1)
		open_round(r, true); /* the leader has closed the queue: it is full */
	else if (reply->code != STORE_OK)
		room_read(r); /* another node counts */
	else if (room_left(r) > 0)
		room_begin(r, r->due_version + 1, block_of(room_left(r)));
	else
		room_is_known(r, ROOM_FULL, ROOM_FULL_MS);
}

/* alone: writes `due` only, so that no other node waits for the end of this count. */
static void open_round(struct queue_room *r, bool alone)
{
	char due[STORE_PATH_MAX], open[STORE_PATH_MAX], text[16];
	unsigned left = room_left(r);
	struct store_op ops[] = {
		{.type = STORE_OP_SET, .path = due, .version = r->due_version},
		{.type = STORE_OP_SET, .path = open, .version = -1, .data = text},
	};

	room_path(r, "due", due);
	room_path(r, "open", open);
	ops[1].len = (size_t)snprintf(text, sizeof(text), "%u", left - block_of(left));
	queue_multi(&room_queues(r)->calls, ops, alone ? 1 : 2, alone ? on_reopened : on_opened, r);
}

static void count_on(struct queue_room *r);

static void on_count(void *arg, const struct store_reply *reply)
{
	struct queue_room *r = arg;

	r->reads--;
	if (reply->code == STORE_OK)
		r->count += (size_t)reply->stat.children;
	else if (reply->code != STORE_NO_NODE && r->failed == STORE_OK)
		r->failed = reply->code;
	count_on(r);
}

static void count_on(struct queue_room *r)
{
	char due[STORE_PATH_MAX], path[2 * STORE_PATH_MAX];

	room_path(r, "due", due);
	while (r->reads < ROOM_READS_MAX && r->next < r->n_folders && r->failed == STORE_OK) {
		snprintf(path, sizeof(path), "%s/%s", due, r->folders[r->next++]);
		r->reads++;
		queue_exists(&room_queues(r)->calls, path, on_count, r);
	}
	if (r->reads > 0)
		return;
	if (r->failed == STORE_OK)
		open_round(r, false);
	else
		(void)room_took(r, &(struct store_reply){.code = r->failed});
}

static void on_folders(void *arg, const struct store_reply *reply)
{
	struct queue_room *r = arg;
	int64_t minute;

	if (room_took(r, reply))
		return;
	names_free(r->folders, r->n_folders);
	r->folders = mem_calloc(reply->n_names + 1, sizeof(*r->folders));
	r->n_folders = 0;
	for (size_t i = 0; i < reply->n_names; i++)
		if (job_minute_parse(reply->names[i], strlen(reply->names[i]), &minute))
			r->folders[r->n_folders++] = mem_strdup(reply->names[i]);
	r->next = r->reads = r->count = 0;
	r->failed = STORE_OK;
	count_on(r);
}

static void on_closed(void *arg, const struct store_reply *reply)
{
	struct queue_room *r = arg;
	char due[STORE_PATH_MAX];

	if (room_took(r, reply))
		return;
	if (reply->code != STORE_OK) {
		room_read(r);
		return;
	}
	r->due_version++;
	room_path(r, "due", due);
	queue_children(&room_queues(r)->calls, due, on_folders, r);
}

static void close_round(struct queue_room *r)
{
	char due[STORE_PATH_MAX];
	struct store_op op = {.type = STORE_OP_SET,
			      .path = due,
			      .version = r->due_version,
			      .data = COUNTING,
			      .len = strlen(COUNTING)};

	room_path(r, "due", due);
	queue_multi(&room_queues(r)->calls, &op, 1, on_closed, r);
}

/* --- reading the room ----------------------------------------------------- */

/* The room that is left; 0: not understood, or never counted. */
static unsigned left_in(const struct store_reply *reply)
{
	const char *text = reply->data;
	unsigned left = 0;

	for (size_t i = 0; i < reply->len && left <= QUEUE_QUEUED_MAX; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		left = left * 10 + (unsigned)(text[i] - '0');
	}
	return left <= QUEUE_QUEUED_MAX ? left : 0;
}

/* Whether another node counts; this node then waits for it. */
static bool is_counted(struct queue_room *r, const struct store_reply *due)
{
	int64_t now = queues_now(room_queues(r));

	if (due->len == 0)
		return false;
	if (r->counted_version != due->stat.version || r->counted_ms == 0) {
		r->counted_version = due->stat.version;
		r->counted_ms = now;
	}
	return now < r->counted_ms + ROOM_COUNTED_MS;
}

static void on_due(void *arg, const struct store_reply *reply)
{
	const struct queue_folders folders = {.job_minute = -1, .due_minute = -1};
	struct queue_room *r = arg;

	if (room_took(r, reply))
		return;
	r->due_version = reply->stat.version;
	if (!r->open) {
		room_is_known(r, ROOM_CLOSED, ROOM_FULL_MS);
	} else if (reply->code != STORE_OK) {
		queue_make_folders(r->queue, &folders);
		room_is_known(r, ROOM_WAIT, 0);
	} else if (is_counted(r, reply)) {
		room_later(r, ROOM_AGAIN_MS);
	} else if (reply->len > 0 || r->there == 0) {
		close_round(r);
	} else {
		take_block(r);
	}
}

static void on_open(void *arg, const struct store_reply *reply)
{
	struct queue_room *r = arg;

	r->open = reply->code == STORE_OK;
	r->open_version = reply->stat.version;
	r->there = left_in(reply);
}

static void room_read(struct queue_room *r)
{
	char due[STORE_PATH_MAX], open[STORE_PATH_MAX];

	r->busy = true;
	r->retry_ms = 0;
	room_path(r, "open", open);
	room_path(r, "due", due);
	queue_get(&room_queues(r)->calls, open, on_open, r);
	queue_get(&room_queues(r)->calls, due, on_due, r);
}

/* --- for submits ---------------------------------------------------------- */

enum room_answer queue_room_take(struct queue *queue, int32_t *ret_round)
{
	struct queue_room *r = &queue->room;

	if (r->left > 0) {
		r->left--;
		*ret_round = r->round;
		return ROOM_TAKEN;
	}
	if (r->busy)
		return ROOM_WAIT;
	if (queues_now(room_queues(r)) < r->until_ms)
		return r->answer;
	room_read(r);
	return ROOM_WAIT;
}

void queue_room_give_back(struct queue *queue, int32_t round)
{
	if (queue->room.round == round)
		queue->room.left++;
}

void queue_room_is_over(struct queue *queue, int32_t round)
{
	if (queue->room.round != round)
		return;
	queue->room.left = 0;
	queue->room.round = -1;
}

void queue_room_pump(struct queue *queue, int64_t now)
{
	struct queue_room *r = &queue->room;

	if (r->retry_ms == 0 || !queues_ready(room_queues(r)))
		return;
	if (now >= r->retry_ms)
		room_read(r);
	else
		queues_wake(room_queues(r), r->retry_ms - now);
}

void queue_room_init(struct queue *queue)
{
	queue->room = (struct queue_room){.queue = queue, .round = -1};
}

void queue_room_done(struct queue *queue)
{
	struct queue_room *r = &queue->room;

	queue_calls_forget(&room_queues(r)->calls, r);
	names_free(r->folders, r->n_folders);
	r->folders = NULL;
	r->n_folders = 0;
}
