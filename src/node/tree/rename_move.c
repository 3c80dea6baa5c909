#include "node/tree/rename_move.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "core/fleet/identity.h"
#include "core/time/tick.h"
#include "node/session/session.h"
#include "node/tree/paths.h"
#include "node/tree/tick_folder.h"
#include "wire/records/record.h"

#define MOVED_AT_ONCE 50 /* records, in one transaction: 200 KiB of the 1 MiB that one may have */
#define MOVE_OPS      3	 /* operations before those about records */

/*
 * Folders of what is moved besides the records: the schedule in force, when a run ended well, and
 * whether people were told that runs do not.
 */
static const enum path_folder rest_folders[] = {PATH_SCHEDULES, PATH_SEEN, PATH_TROUBLES};
#define RESTS (sizeof(rest_folders) / sizeof(rest_folders[0]))

struct moved {
	char tick[TICK_NAME_SIZE];
	uint8_t data[RECORD_RUN_MAX];
	size_t len;
	int32_t version;
	bool found; /* under the former name */
	bool there; /* under the new name too: the former one is deleted */
};

/* An outstanding read of a record, or of the znode in a rest folder. */
struct move_read {
	struct move *move;
	size_t index;
	bool there; /* whether there is one under the new name */
};

struct move {
	struct session *session;
	struct rename_move_handlers handlers;
	char task[NAME_ELECTION_MAX + 1];
	char former[NAME_ELECTION_MAX + 1];
	char (*names)[TICK_NAME_SIZE]; /* under the former name, sorted */
	size_t n_names;
	struct moved *records; /* records in this transaction; NULL: the last one */
	size_t n, pending;
	struct moved rests[RESTS];
	bool failed;
};

static void load(struct move *m);

static void forget_batch(struct move *m)
{
	free(m->names);
	free(m->records);
	m->names = NULL;
	m->records = NULL;
	m->n_names = m->n = 0;
}

/*
 * Ends the move. After the end of the session the node may be ending, too, so no handler is called.
 */
static void end(struct move *m, bool moved, const char *wants, enum store_code code)
{
	const struct rename_move_handlers h = m->handlers;
	char task[NAME_ELECTION_MAX + 1];

	memcpy(task, m->task, sizeof(task));
	forget_batch(m);
	free(m);
	if (code != STORE_ABANDONED)
		h.done(h.arg, task, moved, wants);
}

static void end_failed(struct move *m, const struct store_reply *reply)
{
	if (store_is_refusal(reply->code))
		log_error("former name not taken over", LOG_STR("task", m->task),
			  LOG_STR("former", m->former), LOG_STR("why", reply->text));
	end(m, false, store_is_refusal(reply->code) ? "ZooKeeper refuses it" : NULL, reply->code);
}

/* --- the transaction ------------------------------------------------------ */

/* Adds the operations that move a record from the former name to the new one. */
static size_t add(struct store_op *ops, const struct moved *r, char from[STORE_PATH_MAX],
		  char to[STORE_PATH_MAX], bool closed)
{
	size_t n = 0;

	if (!r->there)
		ops[n++] = (struct store_op){.type = STORE_OP_CREATE,
					     .path = to,
					     .data = r->data,
					     .len = r->len,
					     .closed = closed};
	ops[n++] = (struct store_op){.type = STORE_OP_DELETE, .path = from, .version = r->version};
	return n;
}

static void on_moved(void *arg, const struct store_reply *reply)
{
	struct move *m = arg;
	bool last = !m->records;

	if (reply->code == STORE_OK && last) {
		log_info("former name taken over", LOG_STR("task", m->task),
			 LOG_STR("former", m->former));
		end(m, true, NULL, reply->code);
	} else if (reply->code == STORE_OK) {
		load(m);
	} else if (reply->code == STORE_NODE_EXISTS && reply->failed_op == 1) {
		end(m, false, "it is led still", reply->code);
	} else {
		end_failed(m, reply);
	}
}

/* Sends the transaction. It holds only if we are registered and nobody leads the former name. */
static void send(struct move *m)
{
	const struct node_settings *s = m->session->settings;
	bool last = !m->records;
	size_t most = last ? RESTS : m->n, n = MOVE_OPS;
	struct store_op *ops = mem_calloc(MOVE_OPS + 2 * most + 1, sizeof(*ops));
	char(*paths)[STORE_PATH_MAX] = mem_calloc(2 * most + 1, STORE_PATH_MAX);
	char leader[STORE_PATH_MAX];

	path_of(s, PATH_LEADERS, m->former, leader);
	ops[0] = (struct store_op){
		.type = STORE_OP_CHECK, .path = m->session->registration, .version = -1};
	ops[1] = (struct store_op){.type = STORE_OP_CREATE, .path = leader};
	ops[2] = (struct store_op){.type = STORE_OP_DELETE, .path = leader, .version = -1};
	for (size_t i = 0; i < most; i++) {
		const struct moved *r = last ? &m->rests[i] : &m->records[i];
		char *from = paths[2 * i], *to = paths[2 * i + 1];
		if (last && !r->found)
			continue;
		if (last) {
			path_of(s, rest_folders[i], m->former, from);
			path_of(s, rest_folders[i], m->task, to);
		} else {
			path_of_tick(s, m->former, r->tick, from);
			path_of_tick(s, m->task, r->tick, to);
		}
		n += add(&ops[n], r, from, to, !last);
	}
	if (last) {
		path_of_tick(s, m->former, NULL, paths[2 * most]);
		ops[n++] = (struct store_op){
			.type = STORE_OP_DELETE, .path = paths[2 * most], .version = -1};
	}
	store_multi(m->session->store, ops, n, on_moved, m);
	free(ops);
	free(paths);
}

/* --- what is to be moved -------------------------------------------------- */

/* Notes what was read. A record that is under the new name already is the one that counts. */
static void note(struct move *m, const struct move_read *read, const struct store_reply *reply)
{
	struct moved *r = m->records ? &m->records[read->index] : &m->rests[read->index];

	if (reply->code == STORE_NO_NODE && !m->records)
		return;
	if (reply->code != STORE_OK) {
		m->failed = true;
	} else if (read->there) {
		r->there = true;
	} else {
		r->version = reply->stat.version;
		r->found = true;
		r->there |= reply->len > sizeof(r->data); /* too long for a record */
		r->len = r->there ? 0 : reply->len;
		memcpy(r->data, reply->data, r->len);
	}
}

static void on_read(void *arg, const struct store_reply *reply)
{
	struct move_read *read = arg;
	struct move *m = read->move;

	note(m, read, reply);
	free(read);
	if (--m->pending > 0)
		return;
	if (m->failed)
		end_failed(m, reply);
	else
		send(m);
}

static struct move_read *reading(struct move *m, size_t index, bool there)
{
	struct move_read *read = mem_alloc(sizeof(*read));

	*read = (struct move_read){.move = m, .index = index, .there = there};
	m->pending++;
	return read;
}

/* Reads what is left to move after all records. */
static void read_rests(struct move *m)
{
	struct store *store = m->session->store;
	char from[STORE_PATH_MAX], to[STORE_PATH_MAX];

	memset(m->rests, 0, sizeof(m->rests));
	for (size_t i = 0; i < RESTS; i++) {
		path_of(m->session->settings, rest_folders[i], m->former, from);
		path_of(m->session->settings, rest_folders[i], m->task, to);
		struct move_read *old = reading(m, i, false), *new = reading(m, i, true);
		store_get(store, from, false, on_read, old);
		store_exists(store, to, false, on_read, new);
	}
}

static int compare_ticks(const void *a, const void *b)
{
	return strcmp(a, b);
}

/*
 * Reads the oldest records first. If the move is interrupted, the newest are left, which tell what
 * is owed.
 */
static void on_new_names(void *arg, const struct store_reply *reply)
{
	struct move *m = arg;
	char path[STORE_PATH_MAX];
	size_t n = 0;

	if (reply->code != STORE_OK) {
		end_failed(m, reply);
		return;
	}
	if (m->n_names == 0) {
		read_rests(m);
		return;
	}
	char(*there)[TICK_NAME_SIZE] = tick_folder_names(reply, &n);
	m->n = m->n_names < MOVED_AT_ONCE ? m->n_names : MOVED_AT_ONCE;
	m->records = mem_calloc(m->n, sizeof(*m->records));
	struct move_read **reads = mem_calloc(m->n, sizeof(struct move_read *));
	for (size_t i = 0; i < m->n; i++) {
		struct moved *r = &m->records[i];
		memcpy(r->tick, m->names[i], sizeof(r->tick));
		r->there = bsearch(r->tick, there, n, sizeof(*there), compare_ticks) != NULL;
		reads[i] = reading(m, i, false);
	}
	for (size_t i = 0, most = m->n; i < most; i++) {
		path_of_tick(m->session->settings, m->former, m->names[i], path);
		store_get(m->session->store, path, false, on_read, reads[i]);
	}
	free(reads);
	free(there);
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct move *m = arg;
	char path[STORE_PATH_MAX];

	if (reply->code != STORE_OK) {
		end_failed(m, reply);
		return;
	}
	m->names = tick_folder_names(reply, &m->n_names);
	path_of_tick(m->session->settings, m->task, NULL, path);
	store_children(m->session->store, path, false, on_new_names, m);
}

static void on_folder_made(void *arg, const struct store_reply *reply)
{
	struct move *m = arg;
	char path[STORE_PATH_MAX];

	if (reply->code != STORE_OK && reply->code != STORE_NODE_EXISTS) {
		end_failed(m, reply);
		return;
	}
	path_of_tick(m->session->settings, m->former, NULL, path);
	store_children(m->session->store, path, false, on_names, m);
}

/* Makes the new folder, which begins with what pruning has left of the former one. */
static void on_folder(void *arg, const struct store_reply *reply)
{
	struct move *m = arg;
	char path[STORE_PATH_MAX], floor[TICK_NAME_SIZE];

	if (reply->code == STORE_NO_NODE) {
		end(m, true, NULL, reply->code);
		return;
	}
	if (reply->code != STORE_OK) {
		end_failed(m, reply);
		return;
	}
	if (!m->handlers.is_best(m->handlers.arg, m->task)) {
		end(m, false, "the best candidate does it", reply->code);
		return;
	}
	tick_folder_floor(reply, floor);
	path_of_tick(m->session->settings, m->task, NULL, path);
	const struct store_op op = {
		.type = STORE_OP_CREATE, .path = path, .data = floor, .len = strlen(floor)};
	store_multi(m->session->store, &op, 1, on_folder_made, m);
}

static void load(struct move *m)
{
	char path[STORE_PATH_MAX];

	forget_batch(m);
	path_of_tick(m->session->settings, m->former, NULL, path);
	store_get(m->session->store, path, false, on_folder, m);
}

void rename_move_begin(struct session *session, const char *task, const char *former,
		       const struct rename_move_handlers *handlers)
{
	struct move *m = mem_calloc(1, sizeof(*m));

	m->session = session;
	m->handlers = *handlers;
	snprintf(m->task, sizeof(m->task), "%s", task);
	snprintf(m->former, sizeof(m->former), "%s", former);
	load(m);
}
