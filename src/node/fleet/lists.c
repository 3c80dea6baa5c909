#include "node/fleet/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "node/fleet/registration.h"
#include "node/tree/paths.h"
#include "wire/records/record.h"

/* A request about a list; the entry may have gone before the answer, and our list be another. */
struct ask {
	struct lists *lists;
	char digest[WORKER_LIST_LEN + 1];
};

static struct ask *ask_new(struct lists *l, const char *digest)
{
	struct ask *a = mem_calloc(1, sizeof(*a));

	a->lists = l;
	memcpy(a->digest, digest, sizeof(a->digest));
	return a;
}

static void path_of_list(const struct lists *l, const char *digest, char path[STORE_PATH_MAX])
{
	path_of(l->registry->settings, PATH_LISTS, digest, path);
}

static struct store *store_of(const struct lists *l)
{
	return l->registry->session->store;
}

/* --- lists of others ------------------------------------------------------ */

static struct lists_entry *find(const struct lists *l, const char *digest)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->entries[i].digest, digest) == 0)
			return &l->entries[i];
	return NULL;
}

/* Why the bytes are not those of the list; NULL: they are. */
static const char *judge(struct lists_entry *e, const void *data, size_t len)
{
	char digest[WORKER_LIST_LEN + 1];
	const char *why = NULL;

	if (len > RECORD_LIST_MAX)
		return "it is too long";
	hash_digest(data, len, digest);
	if (strcmp(digest, e->digest) != 0)
		return "its bytes are not those that its name is the digest of";
	e->final = record_parse_list(data, len, &e->list, &why) != 0;
	return why;
}

static void take(struct lists *l, struct lists_entry *e, const void *data, size_t len)
{
	const char *why = judge(e, data, len);

	l->n_unread -= !e->why;
	e->why = e->list ? NULL : why;
}

static void refuse(struct lists *l, struct lists_entry *e, const char *why)
{
	char path[STORE_PATH_MAX];

	path_of_list(l, e->digest, path);
	log_warning("list refused", LOG_STR("znode", path), LOG_STR("why", why));
	if (!e->final)
		host_timer_start(&l->again, LISTS_AGAIN_MS);
}

/* The list is known: its workers list what it says from now on. */
static void spread(struct lists *l, const struct lists_entry *e)
{
	struct registry *r = l->registry;
	struct fleet *f = &r->fleet;
	const struct member *last = NULL;

	for (size_t i = 0; i < f->n_members; i++) {
		struct member *m = f->by_id[i];
		if (!m->worker->unlisted || strcmp(m->worker->list, e->digest) != 0)
			continue;
		fleet_relist(f, m, e->list, last);
		r->handlers.listed(r->handlers.arg, m);
		last = m;
	}
}

static void ask_all(struct lists *l);

static void on_list(void *arg, const struct store_reply *reply)
{
	struct ask *a = arg;
	struct lists *l = a->lists;
	struct lists_entry *e = reply->code == STORE_ABANDONED ? NULL : find(l, a->digest);
	const char *before = e ? e->why : NULL;

	free(a);
	if (reply->code == STORE_ABANDONED)
		return;
	l->reads--;
	if (e && !e->list && !store_is_lost(reply->code)) {
		e->asked = false;
		if (reply->code == STORE_OK) {
			take(l, e, reply->data, reply->len);
		} else {
			l->n_unread -= !e->why;
			e->why = reply->code == STORE_NO_NODE ? "it is missing" : reply->text;
		}
		if (e->list)
			spread(l, e);
		else if (!before || strcmp(before, e->why) != 0)
			refuse(l, e, e->why);
		else if (!e->final)
			host_timer_start(&l->again, LISTS_AGAIN_MS);
		if (lists_settled(l) && (e->list || !before))
			folder_touch(&l->registry->workers);
	}
	if (!store_is_lost(reply->code))
		ask_all(l);
}

/* Reads what is not known: the first time, or once that is due again. */
static void ask_all(struct lists *l)
{
	char path[STORE_PATH_MAX];

	for (size_t i = 0; session_is_up(l->registry->session) && i < l->n; i++) {
		struct lists_entry *e = &l->entries[i];
		if (l->reads == LISTS_READS_MAX)
			return;
		if (e->list || e->asked || e->why)
			continue;
		e->asked = true;
		l->reads++;
		path_of_list(l, e->digest, path);
		store_get(store_of(l), path, false, on_list, ask_new(l, e->digest));
	}
}

/* Reads anew what cannot be used, and stays so meanwhile. */
static void on_again(void *arg)
{
	struct lists *l = arg;
	char path[STORE_PATH_MAX];

	for (size_t i = 0; session_is_up(l->registry->session) && i < l->n; i++) {
		struct lists_entry *e = &l->entries[i];
		if (!e->why || e->asked || e->final)
			continue;
		if (l->reads == LISTS_READS_MAX) {
			host_timer_start(&l->again, LISTS_AGAIN_MS);
			return;
		}
		e->asked = true;
		l->reads++;
		path_of_list(l, e->digest, path);
		store_get(store_of(l), path, false, on_list, ask_new(l, e->digest));
	}
}

void lists_joined(struct lists *l, struct worker *w)
{
	struct lists_entry *e;

	if (!w->unlisted)
		return;
	e = find(l, w->list);
	if (!e) {
		l->entries = mem_resize(l->entries, l->n + 1, sizeof(*l->entries));
		e = &l->entries[l->n++];
		*e = (struct lists_entry){.list = NULL};
		memcpy(e->digest, w->list, sizeof(e->digest));
		l->n_unread++;
		if (strcmp(e->digest, l->own_digest) == 0)
			take(l, e, l->own.data, l->own.len);
	}
	if (e->list)
		worker_adopt(w, e->list);
	else
		ask_all(l);
}

void lists_left(struct lists *l, const char *digest)
{
	struct lists_entry *e = find(l, digest);

	if (e)
		e->left = true;
}

static bool is_named(const struct fleet *f, const char *digest)
{
	for (size_t i = 0; i < f->n_members; i++)
		if (f->by_id[i]->worker->apart && strcmp(f->by_id[i]->worker->list, digest) == 0)
			return true;
	return false;
}

void lists_sweep(struct lists *l)
{
	for (size_t i = l->n; i-- > 0;) {
		struct lists_entry *e = &l->entries[i];
		if (!e->left)
			continue;
		e->left = false;
		if (is_named(&l->registry->fleet, e->digest))
			continue;
		l->n_unread -= !e->list && !e->why;
		worker_free(e->list);
		*e = l->entries[--l->n];
	}
}

bool lists_settled(const struct lists *l)
{
	return l->n_unread == 0;
}

/* --- our own -------------------------------------------------------------- */

static void own_make(struct lists *l);

static void own_is_there(struct lists *l)
{
	l->own_asked = false;
	l->own_there = true;
	if (l->registry->again)
		registration_send(l->registry);
}

/* The server takes no list: our record says all by itself. */
static void own_refused(struct lists *l, const struct store_reply *reply)
{
	log_warning("our list cannot be written, so our record is a long one",
		    LOG_STR("why", reply->text));
	l->own_asked = false;
	l->refused = true;
	registration_send(l->registry);
}

/*
 * Frees the request, and returns whose lists the answer is for; NULL: it comes too late, or did not
 * come.
 */
static struct lists *own_answered(struct ask *a, const struct store_reply *reply)
{
	struct lists *l = reply->code == STORE_ABANDONED ? NULL : a->lists;

	if (l && strcmp(a->digest, l->own_digest) != 0)
		l = NULL;
	free(a);
	if (l && reply->code == STORE_UNKNOWN) {
		l->own_asked = false; /* the next connection asks again */
		return NULL;
	}
	return l;
}

static void on_folder(void *arg, const struct store_reply *reply)
{
	struct lists *l = own_answered(arg, reply);

	if (!l)
		return;
	l->own_asked = false;
	if (store_is_refusal(reply->code)) {
		own_refused(l, reply);
	} else if (reply->code == STORE_NO_NODE) {
		l->registry->again = true;
		registry_make_parents(l->registry);
	} else {
		own_make(l);
	}
}

/* Our list was made, given its bytes back, or is no longer noted as unused: it is read anew. */
static void on_written(void *arg, const struct store_reply *reply)
{
	struct lists *l = own_answered(arg, reply);
	char path[STORE_PATH_MAX];

	if (!l)
		return;
	if (reply->code == STORE_NO_NODE) {
		path_of(l->registry->settings, PATH_LISTS, NULL, path);
		store_create(store_of(l), path, on_folder, ask_new(l, l->own_digest));
		return;
	}
	l->own_asked = false;
	if (store_is_refusal(reply->code))
		own_refused(l, reply);
	else
		own_make(l);
}

/* Makes our list, or gives a damaged one, as of reply, its bytes back. */
static void own_write(struct lists *l, const char *path, const struct store_reply *damaged)
{
	const struct store_op op = {.type = damaged ? STORE_OP_SET : STORE_OP_CREATE,
				    .path = path,
				    .data = l->own.data,
				    .len = l->own.len,
				    .version = damaged ? damaged->stat.version : -1};

	store_multi(store_of(l), &op, 1, on_written, ask_new(l, l->own_digest));
}

static void on_own(void *arg, const struct store_reply *reply)
{
	struct lists *l = own_answered(arg, reply);
	char path[STORE_PATH_MAX], unused[STORE_PATH_MAX + sizeof(LISTS_UNUSED)];
	bool same = l && reply->code == STORE_OK && reply->len == l->own.len &&
		    memcmp(reply->data, l->own.data, reply->len) == 0;

	if (!l)
		return;
	path_of_list(l, l->own_digest, path);
	if (store_is_refusal(reply->code)) {
		own_refused(l, reply);
	} else if (!same) {
		if (reply->code == STORE_OK)
			log_warning("our list is damaged: it is made again",
				    LOG_STR("znode", path));
		own_write(l, path, reply->code == STORE_OK ? reply : NULL);
	} else if (reply->stat.children > 0) {
		snprintf(unused, sizeof(unused), "%s/" LISTS_UNUSED, path);
		struct store_op op = {.type = STORE_OP_DELETE, .path = unused, .version = -1};
		store_multi(store_of(l), &op, 1, on_written, ask_new(l, l->own_digest));
	} else {
		own_is_there(l);
	}
}

static void own_make(struct lists *l)
{
	char path[STORE_PATH_MAX];

	if (l->own_asked || !l->own_digest[0] || l->refused)
		return;
	l->own_asked = true;
	path_of_list(l, l->own_digest, path);
	watches_get(&l->registry->session->watches, path, WATCH_FOLDER, l, on_own,
		    ask_new(l, l->own_digest));
}

static void own_forget(struct lists *l)
{
	char path[STORE_PATH_MAX];

	if (l->own_digest[0]) {
		path_of_list(l, l->own_digest, path);
		watches_drop(&l->registry->session->watches, path, WATCH_NODE, l);
	}
	l->own_asked = l->own_there = false;
	l->own_digest[0] = '\0';
	buffer_clear(&l->own);
}

bool lists_publish(struct lists *l, const char *digest, const void *bytes, size_t len)
{
	if (strcmp(digest, l->own_digest) != 0) {
		own_forget(l);
		memcpy(l->own_digest, digest, sizeof(l->own_digest));
		buffer_append(&l->own, bytes, len);
	}
	if (!l->own_there && digest[0])
		own_make(l);
	return l->own_there || !digest[0];
}

void lists_own_gone(struct lists *l)
{
	l->own_there = false;
}

/* --- from outside --------------------------------------------------------- */

void lists_up(struct lists *l)
{
	for (size_t i = 0; i < l->n; i++)
		l->entries[i].asked = false;
	ask_all(l);
	on_again(l);
	if (!l->own_there)
		own_make(l);
}

void lists_cut(struct lists *l)
{
	host_timer_stop(&l->again);
}

void lists_expired(struct lists *l)
{
	lists_cut(l);
	l->own_asked = l->own_there = l->refused = false;
}

void lists_watch(struct lists *l, enum store_watch type, const char *path)
{
	char own[STORE_PATH_MAX];

	path_of_list(l, l->own_digest, own);
	if (type == STORE_CHILDREN_CHANGED || !l->own_digest[0] || strcmp(path, own) != 0)
		return;
	l->own_there = false;
	own_make(l);
}

void lists_init(struct lists *l, struct registry *registry)
{
	*l = (struct lists){.registry = registry};
	buffer_init(&l->own, RECORD_LIST_MAX);
	host_timer_init(&l->again, registry->session->host, on_again, l);
	lists_audit_init(l);
}

void lists_done(struct lists *l)
{
	lists_audit_done(l);
	host_timer_done(&l->again);
	for (size_t i = 0; i < l->n; i++)
		worker_free(l->entries[i].list);
	free(l->entries);
	buffer_done(&l->own);
}
