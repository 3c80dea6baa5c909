#include "node/tree/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/text/names.h"

#define RETRY_MS   1000
#define REFUSED_MS 10000 /* between two lists that the server refuses */
#define GROWTH	   64

static void list(struct folder *f);

/* The first place that is not before the name. */
static size_t place_of(char *const *names, size_t n, const char *name)
{
	return sort_place(&name, names, n, sizeof(*names), names_compare);
}

size_t folder_place(const struct folder *f, const char *name)
{
	size_t place = place_of(f->names, f->n, name);

	for (size_t i = 0; i < f->n_wanted && strcmp(f->wanted[i].name, name) < 0; i++)
		place++;
	return place;
}

static bool is_known(const struct folder *f, const char *name)
{
	size_t at = place_of(f->names, f->n, name);

	return at < f->n && strcmp(f->names[at], name) == 0;
}

void folder_add(struct folder *f, const char *name)
{
	size_t at = place_of(f->names, f->n, name);

	if (at < f->n && strcmp(f->names[at], name) == 0)
		return;
	if (f->n % GROWTH == 0)
		f->names = mem_resize(f->names, f->n + GROWTH, sizeof(*f->names));
	memmove(f->names + at + 1, f->names + at, (f->n - at) * sizeof(*f->names));
	f->names[at] = mem_strdup(name);
	f->n++;
}

void folder_remove(struct folder *f, const char *name)
{
	size_t at = place_of(f->names, f->n, name);

	if (at == f->n || strcmp(f->names[at], name) != 0)
		return;
	free(f->names[at]);
	f->n--;
	memmove(f->names + at, f->names + at + 1, (f->n - at) * sizeof(*f->names));
}

bool folder_settled(const struct folder *f)
{
	return f->ready && !f->due && !f->listing && !f->again && f->n_wanted == 0;
}

/* Reports changes once no read is outstanding. */
static void settle(struct folder *f)
{
	if (!f->ready || !f->dirty || f->n_wanted > 0)
		return;
	f->dirty = false;
	f->handlers.changed(f->handlers.arg);
}

/* Notes that the folder has been read whole, once it was listed and all new nodes were read. */
static void read_whole(struct folder *f)
{
	if (f->n_wanted > 0)
		return;
	f->dirty |= !f->ready;
	f->ready = true;
	f->known = true;
	settle(f);
}

void folder_touch(struct folder *f)
{
	f->dirty = true;
	settle(f);
}

static void ask_wanted(struct folder *f);

static int by_name(const void *name, const void *wanted)
{
	return strcmp(name, ((const struct folder_wanted *)wanted)->name);
}

/* The index of the name among the wanted ones; n_wanted: it is not there. */
static size_t find_wanted(const struct folder *f, const char *name)
{
	size_t at = sort_place(name, f->wanted, f->n_wanted, sizeof(*f->wanted), by_name);

	return at < f->n_wanted && strcmp(f->wanted[at].name, name) == 0 ? at : f->n_wanted;
}

static void forget_wanted(struct folder *f)
{
	for (size_t i = 0; i < f->n_wanted; i++)
		free(f->wanted[i].name);
	free(f->wanted);
	f->wanted = NULL;
	f->n_wanted = 0;
}

struct read {
	struct folder *folder;
	char name[]; /* as the node is called: not trusted */
};

static void unwant(struct folder *f, size_t at)
{
	free(f->wanted[at].name);
	f->n_wanted--;
	memmove(f->wanted + at, f->wanted + at + 1, (f->n_wanted - at) * sizeof(*f->wanted));
}

static void take(struct folder *f, const char *name, const struct store_reply *reply)
{
	folder_add(f, name);
	f->handlers.take(f->handlers.arg, name, reply);
	f->dirty = true;
}

static void on_node(void *arg, const struct store_reply *reply)
{
	struct read *read = arg;
	struct folder *f = read->folder;
	bool answered = !store_is_lost(reply->code);
	size_t at = find_wanted(f, read->name);

	f->reads--;
	/* A node that is no longer wanted is gone, or another connection has asked for it again. */
	if (at < f->n_wanted && answered) {
		unwant(f, at);
		if (reply->code != STORE_NO_NODE)
			take(f, read->name, reply);
	}
	free(read);
	if (!answered)
		return; /* the next connection lists again */
	ask_wanted(f);
	read_whole(f);
}

static void read_node(struct folder *f, const char *name)
{
	size_t len = strlen(name);
	char path[STORE_PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", f->path, name) >= (int)sizeof(path))
		return; /* compare() has left out such names */
	struct read *read = mem_alloc(sizeof(*read) + len + 1);
	read->folder = f;
	memcpy(read->name, name, len + 1);
	f->reads++;
	store_get(f->session->store, path, false, on_node, read);
}

static size_t reads_max(const struct folder *f)
{
	size_t share = FOLDER_READS_OF_ALL / (folder_names(f) + 1);

	if (f->first)
		return FOLDER_READS_FIRST;
	if (share > FOLDER_READS_MAX)
		return FOLDER_READS_MAX;
	return share > FOLDER_READS_MIN ? share : FOLDER_READS_MIN;
}

static void ask_wanted(struct folder *f)
{
	size_t most = reads_max(f);

	for (size_t i = 0; !f->held && i < f->n_wanted && f->reads < most; i++) {
		if (f->wanted[i].asked)
			continue;
		f->wanted[i].asked = true;
		read_node(f, f->wanted[i].name);
	}
}

/*
 * Compares the folder with a sorted list of names. Its own names are sorted too, so each walk goes
 * along both.
 */
static void compare(struct folder *f, char *const *names, size_t n)
{
	struct folder_wanted *wanted = mem_calloc(n + 1, sizeof(*wanted));
	size_t n_wanted = 0;

	for (size_t i = f->n, j = n; i-- > 0;) {
		int order = 1;
		while (j > 0 && (order = strcmp(names[j - 1], f->names[i])) > 0)
			j--;
		if (j > 0 && order == 0)
			continue;
		char *name = f->names[i];
		f->n--;
		memmove(f->names + i, f->names + i + 1, (f->n - i) * sizeof(*f->names));
		f->handlers.gone(f->handlers.arg, name);
		free(name);
		f->dirty = true;
	}
	for (size_t i = 0, j = 0; i < n && f->n + n_wanted < f->max; i++) {
		int order = 1;
		while (j < f->n && (order = strcmp(f->names[j], names[i])) < 0)
			j++;
		/* Names may be longer than any that we make. */
		if ((j < f->n && order == 0) ||
		    strlen(f->path) + 1 + strlen(names[i]) >= STORE_PATH_MAX)
			continue;
		size_t at = find_wanted(f, names[i]);
		wanted[n_wanted].name = mem_strdup(names[i]);
		wanted[n_wanted++].asked = at < f->n_wanted && f->wanted[at].asked;
	}
	forget_wanted(f);
	f->wanted = wanted;
	f->n_wanted = n_wanted;
}

static void on_timer(void *arg)
{
	list(arg);
}

static void list_later(struct folder *f, int64_t ms)
{
	f->due = true;
	host_timer_start(&f->timer, ms);
}

/* A failed list has set no watch, so the folder is listed again later. */
static void on_unlisted(struct folder *f, const struct store_reply *reply)
{
	if (store_is_lost(reply->code))
		return; /* the next connection lists it */
	f->asked = true;
	if (reply->code == STORE_NO_NODE) {
		f->handlers.missing(f->handlers.arg);
		list_later(f, RETRY_MS);
		return;
	}
	if (!f->refused)
		log_warning("a folder cannot be listed", LOG_STR("znode", f->path),
			    LOG_STR("why", reply->text));
	f->refused = true;
	list_later(f, REFUSED_MS);
}

static void on_list(void *arg, const struct store_reply *reply)
{
	struct folder *f = arg;

	f->listing = false;
	if (reply->code != STORE_OK) {
		on_unlisted(f, reply);
		return;
	}
	f->refused = false;
	char **names = names_sorted(reply->names, reply->n_names);
	compare(f, names, reply->n_names);
	free(names);
	f->zxid = reply->stat.pzxid;
	f->held = f->handlers.listed && f->handlers.listed(f->handlers.arg);
	ask_wanted(f);
	f->lists++;
	f->dirty = true; /* listeners that were told too early are told again */
	read_whole(f);
	if (f->again)
		list(f);
}

static int64_t list_every(const struct folder *f)
{
	int64_t grown = (int64_t)(f->n / FOLDER_LIST_NAMES_PER_MS);

	return grown > FOLDER_LIST_EVERY_MS ? grown : FOLDER_LIST_EVERY_MS;
}

static void list(struct folder *f)
{
	int64_t now = host_now_ms(f->session->host), next = f->listed_ms + list_every(f);

	if (!session_is_up(f->session))
		return;
	if (f->listing) {
		f->again = true;
		return;
	}
	if (now < next) {
		list_later(f, next - now);
		return;
	}
	f->again = f->due = f->asked = false;
	f->listed_ms = now;
	f->listing = true;
	if (f->quiet)
		store_children(f->session->store, f->path, false, on_list, f);
	else
		watches_children(&f->session->watches, f->path, WATCH_FOLDER, f, on_list, f);
}

void folder_quiet(struct folder *f, bool quiet)
{
	bool was = f->quiet;

	f->quiet = quiet;
	if (was && !quiet)
		list(f);
	if (was || !quiet || f->asked)
		return;
	host_timer_stop(&f->timer); /* a change was to be looked at */
	f->dirty |= f->due || f->again;
	f->due = f->again = false;
	settle(f);
}

void folder_joined(struct folder *f, const char *name, const struct store_reply *reply)
{
	size_t at = find_wanted(f, name);

	if (is_known(f, name) || (at == f->n_wanted && folder_names(f) >= f->max))
		return;
	if (reply) {
		if (at < f->n_wanted)
			unwant(f, at);
		take(f, name, reply);
		return;
	}
	if (at < f->n_wanted)
		return;
	f->wanted = mem_resize(f->wanted, f->n_wanted + 1, sizeof(*f->wanted));
	for (at = f->n_wanted; at > 0 && strcmp(f->wanted[at - 1].name, name) > 0; at--)
		f->wanted[at] = f->wanted[at - 1];
	f->wanted[at] = (struct folder_wanted){.name = mem_strdup(name)};
	f->n_wanted++;
	ask_wanted(f);
}

void folder_left(struct folder *f, const char *name)
{
	size_t at = find_wanted(f, name);

	if (at < f->n_wanted)
		unwant(f, at);
	if (!is_known(f, name))
		return;
	folder_remove(f, name);
	f->handlers.gone(f->handlers.arg, name);
	f->dirty = true;
}

void folder_supply(struct folder *f, const char *name, const struct store_reply *reply)
{
	size_t at = find_wanted(f, name);

	if (at == f->n_wanted || f->wanted[at].asked)
		return;
	unwant(f, at);
	take(f, name, reply);
	f->supplied = true;
}

void folder_release(struct folder *f)
{
	if (!f->held && !f->supplied)
		return;
	f->held = f->supplied = false;
	ask_wanted(f);
	read_whole(f);
}

uint64_t folder_refresh(struct folder *f)
{
	uint64_t due = f->lists + (f->listing ? 2 : 1);

	f->dirty = f->asked = true;
	list(f);
	return due;
}

void folder_up(struct folder *f)
{
	f->again = f->due = f->asked = false;
	f->listing = f->held = f->supplied = f->quiet = false;
	f->listed_ms = INT64_MIN / 2;
	forget_wanted(f);
	list(f);
}

void folder_cut(struct folder *f)
{
	host_timer_stop(&f->timer);
}

void folder_expired(struct folder *f)
{
	f->ready = f->held = f->supplied = f->quiet = false;
	forget_wanted(f);
	host_timer_stop(&f->timer);
}

void folder_watch(struct folder *f, enum store_watch type, const char *path)
{
	if (!f->quiet && strcmp(path, f->path) == 0 &&
	    (type == STORE_CHILDREN_CHANGED || type == STORE_NODE_DELETED))
		list(f);
}

void folder_init(struct folder *f, struct session *session, const char *path, size_t max,
		 const struct folder_handlers *handlers)
{
	memset(f, 0, sizeof(*f));
	f->session = session;
	f->max = max;
	f->handlers = *handlers;
	snprintf(f->path, sizeof(f->path), "%s", path);
	host_timer_init(&f->timer, session->host, on_timer, f);
}

void folder_done(struct folder *f)
{
	host_timer_done(&f->timer);
	for (size_t i = 0; i < f->n; i++)
		free(f->names[i]);
	free(f->names);
	forget_wanted(f);
}
