/* Requests of a lock to ZooKeeper, step by step. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "node/recipes/lock/lock.h"
#include "node/tree/paths.h"

#define RESET_FOLDER 2 /* index of the operation that fails if the folder is not empty */

static const struct node_settings *settings_of(const struct lock *l)
{
	return l->locks->registry->settings;
}

/* --- the answers ---------------------------------------------------------- */

static void begin(struct lock *l)
{
	memset(&l->seen, 0, sizeof(l->seen));
	l->folders = l->folder = STORE_OK;
	l->retry_ms = 0;
}

/* Counts an answer; the last one of the step leads to the next step. */
static void landed(struct lock *l, const struct store_reply *reply)
{
	l->seen.cut |= store_is_lost(reply->code);
	if (--l->flying == 0)
		lock_stepped(l);
}

/* Whether the locks have ended; the answer is then ignored. */
static bool is_over(struct lock *l)
{
	if (l->locks)
		return false;
	if (--l->flying == 0)
		free(l);
	return true;
}

static struct lock_reply took(const struct lock *l, const struct store_reply *reply)
{
	bool refused = store_is_refusal(reply->code);

	if (refused)
		log_warning("lock refused by the server", LOG_STR("lock", l->name),
			    LOG_STR("why", reply->text));
	return (struct lock_reply){.ok = reply->code == STORE_OK,
				   .refused = refused ? store_refused_why(reply->code) : NULL};
}

/*
 * A lock whose folder may not be made is not waited for. The parent of all locks may exist although
 * this node may not make it. Returns why the folder was refused, NULL: it was not.
 */
static const char *unmakeable(const struct lock *l)
{
	enum store_code code = l->folder == STORE_NO_NODE ? l->folders : l->folder;

	return store_is_refusal(code) ? store_refused_why(code) : NULL;
}

static void on_made(void *arg, const struct store_reply *reply)
{
	struct lock *l = arg;

	if (is_over(l))
		return;
	l->seen.made = took(l, reply);
	l->seen.no_folder = reply->failed_op == 1;
	l->seen.crowded = reply->code == STORE_FAILED && reply->failed_op == RESET_FOLDER;
	l->seen.unmakeable = unmakeable(l);
	landed(l, reply);
}

/* A second node of ours is deleted: the creation of the first was answered too late. */
static void on_second_gone(void *arg, const struct store_reply *reply)
{
	(void)arg, (void)reply; /* the sweep deletes it otherwise */
}

static void remove_second(const struct lock *l, const char *name)
{
	char path[STORE_PATH_MAX];
	struct store_op op = {.type = STORE_OP_DELETE, .path = path, .version = -1};

	lock_path_of(settings_of(l), l->name, name, path);
	store_multi(l->locks->session->store, &op, 1, on_second_gone, NULL);
}

static bool is_own(const struct lock *l, const struct lock_name *n)
{
	return n->session == l->locks->session->id && strcmp(n->id, l->id) == 0;
}

/* Finds our node; the first one if there are several. */
static bool find_own(struct lock *l, const struct store_reply *reply, struct lock_name *ret)
{
	const char *found = NULL;
	struct lock_name n;

	for (size_t i = 0; i < reply->n_names; i++) {
		if (!lock_name_parse(reply->names[i], &n) || !is_own(l, &n))
			continue;
		if (found && !lock_name_is_before(&n, ret)) {
			remove_second(l, reply->names[i]);
			continue;
		}
		if (found)
			remove_second(l, found);
		found = reply->names[i];
		*ret = n;
	}
	if (found)
		snprintf(l->node, sizeof(l->node), "%s", found);
	return found;
}

/* Finds the first node of another, whether or not that uses the lock. */
static void find_other(struct lock *l, const struct store_reply *reply)
{
	struct lock_name n, first = {.session = 0};

	for (size_t i = 0; i < reply->n_names; i++) {
		bool place = lock_name_parse(reply->names[i], &n);
		if (place && is_own(l, &n))
			continue;
		l->seen.others = true;
		if (!place || (l->seen.in_line && !lock_name_is_before(&n, &first)))
			continue;
		first = n;
		l->seen.in_line = true;
		snprintf(l->other, sizeof(l->other), "%s", reply->names[i]);
	}
}

static void on_listed(void *arg, const struct store_reply *reply)
{
	struct lock *l = arg;
	struct lock_name own, n, last = {.session = 0};

	if (is_over(l))
		return;
	l->seen.listed = took(l, reply);
	l->seen.own = reply->code == STORE_OK && find_own(l, reply, &own);
	if (l->seen.own)
		find_other(l, reply);
	for (size_t i = 0; l->seen.own && i < reply->n_names; i++) {
		if (!lock_name_parse(reply->names[i], &n) || is_own(l, &n))
			continue;
		if (!lock_name_is_before(&n, &own)) {
			l->seen.behind = true;
			continue;
		}
		if (l->seen.before++ > 0 && !lock_name_is_before(&last, &n))
			continue;
		last = n;
		snprintf(l->previous, sizeof(l->previous), "%s", reply->names[i]);
	}
	landed(l, reply);
}

static void on_folder(void *arg, const struct store_reply *reply)
{
	struct lock *l = arg;
	struct lock_record record;
	char path[STORE_PATH_MAX];
	const char *why;

	if (is_over(l))
		return;
	l->seen.read = took(l, reply);
	if (reply->code == STORE_OK &&
	    record_parse_lock(reply->data, reply->len, &record, &why) == 0) {
		l->seen.slots = record.slots;
	} else if (reply->code == STORE_OK) {
		path_of(settings_of(l), PATH_LOCKS, l->name, path);
		log_warning("lock not understood", LOG_STR("znode", path), LOG_STR("why", why));
	}
	landed(l, reply);
}

static void on_previous(void *arg, const struct store_reply *reply)
{
	struct lock *l = arg;
	struct locker_record record;
	const char *why;

	if (is_over(l))
		return;
	l->seen.read = took(l, reply);
	l->seen.held = reply->code == STORE_OK && reply->data &&
		       record_parse_locker(reply->data, reply->len, &record, &why) == 0 &&
		       record.held;
	landed(l, reply);
}

/*
 * Whether the other came with the lock's number of slots. If not, it does not use the lock either.
 */
static void on_other(void *arg, const struct store_reply *reply)
{
	struct lock *l = arg;
	struct locker_record record;
	const char *why;

	if (is_over(l))
		return;
	l->seen.read = took(l, reply);
	l->seen.held = reply->code == STORE_OK &&
		       (record_parse_locker(reply->data, reply->len, &record, &why) != 0 ||
			record.slots == 0 || record.slots == l->place.in_use);
	landed(l, reply);
}

static void on_own(void *arg, const struct store_reply *reply)
{
	struct lock *l = arg;

	if (is_over(l))
		return;
	l->seen.read = took(l, reply);
	l->seen.own = reply->code == STORE_OK && reply->stat.owner == l->locks->session->id;
	if (l->seen.own) /* a missing node leaves the token as it was */
		l->token = reply->stat.czxid;
	landed(l, reply);
}

/* --- the requests --------------------------------------------------------- */

static void pack_own(const struct lock *l, bool held, struct buffer *out)
{
	struct locker_record record = {.pid = l->pid, .held = held, .slots = l->place.slots};

	snprintf(record.node, sizeof(record.node), "%s", l->locks->registry->node);
	snprintf(record.command, sizeof(record.command), "%s", l->command);
	buffer_init(out, RECORD_LOCK_MAX);
	int error = record_pack_locker(out, &record);
	assert(error == 0); /* its texts are bounded */
	(void)error;
}

static void on_folders_made(void *arg, const struct store_reply *reply)
{
	struct lock *l = arg;

	if (is_over(l))
		return;
	l->folders = reply->code;
	landed(l, reply);
}

static void on_folder_made(void *arg, const struct store_reply *reply)
{
	struct lock *l = arg;

	if (is_over(l))
		return;
	took(l, reply);
	if (reply->code != STORE_NO_NODE || reply->failed_op == 1) /* not: we are not registered */
		l->folder = reply->code;
	landed(l, reply);
}

static void make_folder(struct lock *l)
{
	struct locks *k = l->locks;
	char folders[STORE_PATH_MAX], path[STORE_PATH_MAX];
	struct lock_record record = {.slots = l->place.slots};
	struct buffer data;

	path_of(settings_of(l), PATH_LOCKS, NULL, folders);
	path_of(settings_of(l), PATH_LOCKS, l->name, path);
	buffer_init(&data, RECORD_LOCK_MAX);
	int error = record_pack_lock(&data, &record);
	assert(error == 0);
	(void)error;
	struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = k->session->registration, .version = -1},
		{.type = STORE_OP_CREATE, .path = path, .data = data.data, .len = data.len},
	};
	l->flying += 2;
	store_create(k->session->store, folders, on_folders_made, l);
	store_multi(k->session->store, ops, 2, on_folder_made, l);
	buffer_done(&data);
}

static void make_own(struct lock *l)
{
	struct locks *k = l->locks;
	char path[STORE_PATH_MAX];
	struct buffer data;

	if (l->place.parents)
		make_folder(l);
	pack_own(l, false, &data);
	lock_path_new(settings_of(l), l->name, k->session->id, l->id, path);
	struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = k->session->registration, .version = -1},
		{.type = STORE_OP_CREATE_SEQUENTIAL,
		 .path = path,
		 .data = data.data,
		 .len = data.len},
	};
	l->seen.making = true;
	l->flying++;
	store_multi(k->session->store, ops, 2, on_made, l);
	buffer_done(&data);
}

void lock_unwatch(struct lock *l)
{
	if (l->watched[0])
		watches_drop(&l->locks->session->watches, l->watched, l->watched_kind, l);
	l->watched[0] = '\0';
}

static void set_watched(struct lock *l, const char *path, enum watch_kind kind)
{
	if (strcmp(l->watched, path) != 0 || l->watched_kind != kind)
		lock_unwatch(l);
	snprintf(l->watched, sizeof(l->watched), "%s", path);
	l->watched_kind = kind;
	l->flying++;
}

static void list(struct lock *l)
{
	char path[STORE_PATH_MAX];

	path_of(settings_of(l), PATH_LOCKS, l->name, path);
	l->flying++;
	store_children(l->locks->session->store, path, false, on_listed, l);
}

/* The node is made before the folder is listed, so the list is no older. */
static void enter(struct lock *l)
{
	char path[STORE_PATH_MAX];

	path_of(settings_of(l), PATH_LOCKS, l->name, path);
	if (l->place.maybe)
		session_confirm(l->locks->session); /* later reads are as new as this */
	else
		make_own(l);
	list(l);
	l->flying++;
	store_get(l->locks->session->store, path, false, on_folder, l);
}

/*
 * Watches the node before ours. With one slot a child watch is enough: it fires on deletion, and
 * not on writes. With several slots, each waiter watches the data of the node before, which says
 * when that holds the lock. The first waiter watches the folder instead.
 */
static void watch(struct lock *l)
{
	struct watches *w = &l->locks->session->watches;
	bool folder = l->place.slots > 1 && l->place.first;
	char path[STORE_PATH_MAX];

	if (folder)
		path_of(settings_of(l), PATH_LOCKS, l->name, path);
	else
		lock_path_of(settings_of(l), l->name, l->previous, path);
	begin(l);
	set_watched(l, path, folder || l->place.slots == 1 ? WATCH_CHILDREN : WATCH_NODE);
	if (folder)
		watches_children(w, path, WATCH_RECIPE, l, on_listed, l);
	else if (l->place.slots > 1)
		watches_get(w, path, WATCH_RECIPE, l, on_previous, l);
	else
		watches_children(w, path, WATCH_RECIPE, l, on_previous, l);
}

static void take(struct lock *l)
{
	char path[STORE_PATH_MAX];

	lock_path_of(settings_of(l), l->name, l->node, path);
	set_watched(l, path, WATCH_NODE);
	watches_exists(&l->locks->session->watches, path, WATCH_RECIPE, l, on_own, l);
}

static void change_own(struct lock *l, enum store_op_type type)
{
	char path[STORE_PATH_MAX];
	struct buffer data;

	lock_path_of(settings_of(l), l->name, l->node, path);
	pack_own(l, true, &data);
	struct store_op op = {.type = type, .path = path, .version = -1};
	if (type == STORE_OP_SET) {
		op.data = data.data;
		op.len = data.len;
	}
	l->flying++;
	store_multi(l->locks->session->store, &op, 1, on_made, l);
	buffer_done(&data);
}

static void judge(struct lock *l)
{
	char path[STORE_PATH_MAX];

	lock_path_of(settings_of(l), l->name, l->other, path);
	bool ahead = l->seen.before == 0;
	begin(l);
	l->seen.ahead = ahead;
	l->flying++;
	store_get(l->locks->session->store, path, false, on_other, l);
}

/*
 * A folder with anything in it is not deleted, so nobody holds the lock or waits for it when its
 * number of slots becomes another one.
 */
static void reset(struct lock *l)
{
	struct locks *k = l->locks;
	char folder[STORE_PATH_MAX], former[STORE_PATH_MAX], path[STORE_PATH_MAX];
	struct lock_record record = {.slots = l->place.slots};
	struct buffer data, own;

	path_of(settings_of(l), PATH_LOCKS, l->name, folder);
	lock_path_of(settings_of(l), l->name, l->node, former);
	lock_path_new(settings_of(l), l->name, k->session->id, l->id, path);
	buffer_init(&data, RECORD_LOCK_MAX);
	int error = record_pack_lock(&data, &record);
	assert(error == 0);
	(void)error;
	pack_own(l, false, &own);
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = k->session->registration, .version = -1},
		{.type = STORE_OP_DELETE, .path = former, .version = -1},
		{.type = STORE_OP_DELETE, .path = folder, .version = -1},
		{.type = STORE_OP_CREATE, .path = folder, .data = data.data, .len = data.len},
		{.type = STORE_OP_CREATE_SEQUENTIAL,
		 .path = path,
		 .data = own.data,
		 .len = own.len},
	};
	l->flying++;
	store_multi(k->session->store, ops, sizeof(ops) / sizeof(ops[0]), on_made, l);
	buffer_done(&data);
	buffer_done(&own);
}

static void leave(struct lock *l)
{
	if (l->place.known) {
		change_own(l, STORE_OP_DELETE);
	} else if (l->place.maybe) {
		session_confirm(l->locks->session);
		list(l);
	} else {
		lock_happens(l, LOCK_ABSENT);
	}
}

void lock_step(struct lock *l)
{
	if (l->place.need != LOCK_WATCH && l->place.need != LOCK_JUDGE)
		begin(l);
	switch (l->place.need) {
	case LOCK_NOTHING: break;
	case LOCK_ENTER: enter(l); break;
	case LOCK_LIST: list(l); break;
	case LOCK_WATCH: watch(l); break;
	case LOCK_TAKE: take(l); break;
	case LOCK_TELL: change_own(l, STORE_OP_SET); break;
	case LOCK_JUDGE: judge(l); break;
	case LOCK_RESET: reset(l); break;
	case LOCK_ASIDE: change_own(l, STORE_OP_DELETE); break;
	case LOCK_DELETE: leave(l); break;
	}
}
