/* The leader's view of what is due: names of ROOT/jobs/Q/due/MINUTE, read as they change. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "node/queue/lead/queue_lead.h"
#include "node/tree/paths.h"

#define COUNT_EVERY_MS 100 /* a folder that is not listed yet again */
#define AHEAD_MINUTES  (QUEUE_FAR_STEP * QUEUE_SPREAD_MAX) /* from a job's minute to its folder's */
#define OLD_MINUTES    15    /* an empty folder is deleted after so long, */
#define QUIET_MS       60000 /* and when nobody has just made it, for what is about to come */

/* --- folders -------------------------------------------------------------- */

static int by_minute(const void *a, const void *b)
{
	const struct due_folder *x = a, *y = *(struct due_folder *const *)b;
	int order = (x->minute > y->minute) - (x->minute < y->minute);

	return order ? order : x->callbacks - y->callbacks;
}

static size_t place_of(const struct due_set *d, int64_t minute, bool callbacks)
{
	const struct due_folder key = {.minute = minute, .callbacks = callbacks};

	return sort_place(&key, d->folders, d->n, sizeof(*d->folders), by_minute);
}

static struct due_folder *folder_of(struct queue_lead *lead, int64_t minute, bool callbacks,
				    bool make)
{
	struct due_set *d = &lead->due;
	size_t at = place_of(d, minute, callbacks);

	if (at < d->n && d->folders[at]->minute == minute && d->folders[at]->callbacks == callbacks)
		return d->folders[at];
	if (!make)
		return NULL;
	struct due_folder *f = mem_calloc(1, sizeof(*f));
	f->lead = lead;
	f->minute = minute;
	f->callbacks = callbacks;
	d->folders = mem_resize(d->folders, d->n + 1, sizeof(struct due_folder *));
	memmove(d->folders + at + 1, d->folders + at, (d->n - at) * sizeof(struct due_folder *));
	d->folders[at] = f;
	d->n++;
	return f;
}

static void path_of_folder(const struct due_folder *f, char path[STORE_PATH_MAX])
{
	path_of_due_folder(lead_paths(f->lead), lead_name(f->lead), f->minute, f->callbacks, path);
}

static void folder_free(struct due_folder *f)
{
	char path[STORE_PATH_MAX];

	path_of_folder(f, path);
	queue_unwatch(lead_calls(f->lead), path, WATCH_CHILDREN, f);
	queue_calls_forget(lead_calls(f->lead), f);
	free(f->items);
	free(f);
}

static void drop_gone(struct due_set *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct due_folder *f = d->folders[i];
		if (f->there || f->listing || f->counting || f->dropping || f->first < f->n)
			d->folders[kept++] = f;
		else
			folder_free(f);
	}
	d->n = kept;
}

/* --- items ---------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct due_item *x = a, *y = b;

	if (x->pointer.due_ms != y->pointer.due_ms)
		return x->pointer.due_ms < y->pointer.due_ms ? -1 : 1;
	return strcmp(x->pointer.uuid, y->pointer.uuid);
}

static struct due_item *find(const struct due_folder *f, const struct job_pointer *p)
{
	for (size_t i = f->first; i < f->n; i++)
		if (f->items[i].pointer.due_ms == p->due_ms &&
		    job_pointer_same(&f->items[i].pointer, p))
			return &f->items[i];
	return NULL;
}

static void take_names(struct due_folder *f, const struct store_reply *reply)
{
	struct due_item *items = mem_calloc(reply->n_names + 1, sizeof(*items));
	size_t n = 0;

	for (size_t i = 0; i < reply->n_names; i++) {
		struct due_item *item = &items[n];
		if (!job_pointer_parse(reply->names[i], strlen(reply->names[i]), true,
				       &item->pointer) ||
		    item->pointer.callback != f->callbacks)
			continue;
		item->tries = -1;
		item->minute = f->minute;
		n++;
	}
	if (n > 0)
		qsort(items, n, sizeof(*items), by_time);
	for (size_t i = f->first; i < f->n; i++) { /* keeps what is known of these few */
		if (f->items[i].tries < 0 && f->items[i].not_before == 0)
			continue;
		struct due_item *same = bsearch(&f->items[i], items, n, sizeof(*items), by_time);
		if (same && job_pointer_same(&same->pointer, &f->items[i].pointer))
			*same = f->items[i];
	}
	free(f->items);
	f->items = items;
	f->first = 0;
	f->n = n;
	f->room = reply->n_names + 1;
	f->count = reply->n_names;
}

/* --- reading -------------------------------------------------------------- */

static void on_names(void *arg, const struct store_reply *reply)
{
	struct due_folder *f = arg;
	struct queue_lead *lead = f->lead;

	f->listing = false;
	lead->due.lists--;
	f->list_ms = queues_now(lead_queues(lead)) + queue_list_every(reply->n_names);
	if (reply->code == STORE_OK) {
		f->listed = true;
		take_names(f, reply);
	} else if (reply->code == STORE_NO_NODE) {
		f->listed = true;
		f->there = false;
		f->first = f->n = f->count = 0;
	} else if (lead_took(lead, reply)) {
		return;
	}
	queues_wake(lead_queues(lead), 0);
}

static void on_count(void *arg, const struct store_reply *reply)
{
	struct due_folder *f = arg;
	struct queue_lead *lead = f->lead;

	f->counting = false;
	if (reply->code == STORE_OK)
		f->count = (size_t)reply->stat.children;
	else if (reply->code != STORE_NO_NODE)
		(void)lead_took(lead, reply);
}

static void on_dropped(void *arg, const struct store_reply *reply)
{
	struct due_folder *f = arg;

	f->dropping = false;
	if (reply->code == STORE_OK || reply->code == STORE_NO_NODE)
		f->there = false;
	else
		f->dirty = true; /* the folder has got an entry */
}

static void drop(struct due_folder *f)
{
	char path[STORE_PATH_MAX];
	struct store_op op = {.type = STORE_OP_DELETE, .path = path, .version = -1};

	path_of_folder(f, path);
	f->dropping = true;
	queue_multi(lead_calls(f->lead), &op, 1, on_dropped, f);
}

static void look_at(struct due_folder *f, bool near, int64_t now, int64_t now_minute)
{
	struct queue_lead *lead = f->lead;
	char path[STORE_PATH_MAX];

	path_of_folder(f, path);
	if (f->listing || f->dropping || !f->there)
		return;
	if (f->listed && !f->dirty) {
		bool old = f->n == 0 && f->count == 0 && f->minute < now_minute - OLD_MINUTES;
		if (old && now >= f->list_ms + QUIET_MS)
			drop(f);
		else if (old)
			queues_wake(lead_queues(lead), f->list_ms + QUIET_MS - now);
		return;
	}
	if (now >= f->list_ms && lead->due.lists < LEAD_LISTS_MAX) {
		f->listing = true;
		f->dirty = false;
		f->near = near;
		lead->due.lists++;
		queue_watch_children(lead_calls(lead), path, near ? WATCH_QUEUE : WATCH_WAIT,
				     on_names, f);
		return;
	}
	queues_wake(lead_queues(lead), f->list_ms > now ? f->list_ms - now : 1);
	if (f->listed && !f->counting && now >= f->count_ms) {
		f->counting = true;
		f->count_ms = now + COUNT_EVERY_MS;
		queue_exists(lead_calls(lead), path, on_count, f);
	}
}

static void on_folders(void *arg, const struct store_reply *reply)
{
	struct queue_lead *lead = arg;
	struct due_set *d = &lead->due;
	int64_t minute;
	bool callbacks;

	d->listing = false;
	d->list_ms = queues_now(lead_queues(lead)) + queue_list_every(reply->n_names);
	if (reply->code == STORE_NO_NODE) {
		const struct queue_folders folders = {.job_minute = -1, .due_minute = -1};
		queue_make_folders(lead->queue, &folders);
		d->dirty = true;
		return;
	}
	if (reply->code != STORE_OK) {
		(void)lead_took(lead, reply);
		return;
	}
	for (size_t i = 0; i < d->n; i++)
		d->folders[i]->there = false;
	for (size_t i = 0; i < reply->n_names; i++)
		if (path_is_due_folder(reply->names[i], &minute, &callbacks) &&
		    minute < INT64_MAX / JOB_MINUTE_MS)
			folder_of(lead, minute, callbacks, true)->there = true;
	d->listed = true;
	queues_wake(lead_queues(lead), 0);
}

void due_pump(struct queue_lead *lead, int64_t now)
{
	struct due_set *d = &lead->due;
	int64_t now_minute = queues_server_ms(lead_queues(lead)) / JOB_MINUTE_MS;
	char path[STORE_PATH_MAX];

	if ((!d->listed || d->dirty) && !d->listing) {
		if (now >= d->list_ms) {
			d->listing = true;
			d->dirty = false;
			path_of_queue(lead_paths(lead), lead_name(lead), "due", NULL, path);
			queue_watch_children(lead_calls(lead), path, WATCH_QUEUE, on_folders, lead);
		} else {
			queues_wake(lead_queues(lead), d->list_ms - now);
		}
	}
	drop_gone(d);
	for (size_t i = 0; i < d->n; i++) {
		struct due_folder *f = d->folders[i];
		bool near = i < LEAD_NEAR_MAX;
		/* A change of a far folder may have been missed. */
		f->dirty |= near && f->listed && !f->near;
		look_at(f, near, now, now_minute);
	}
}

void due_watch(struct queue_lead *lead, const char *rest)
{
	int64_t minute;
	struct due_folder *f;
	bool callbacks;

	if (strcmp(rest, "due") == 0)
		lead->due.dirty = true;
	if (strncmp(rest, "due/", 4) != 0 || !path_is_due_folder(rest + 4, &minute, &callbacks))
		return;
	f = folder_of(lead, minute, callbacks, false);
	if (f)
		f->dirty = true;
}

/* --- for the others ------------------------------------------------------- */

bool due_is_known(const struct queue_lead *lead)
{
	const struct due_set *d = &lead->due;

	for (size_t i = 0; i < d->n; i++)
		if (d->folders[i]->there && !d->folders[i]->listed)
			return false;
	return d->listed;
}

/* The first item of the folder that may be taken, NULL. */
static struct due_item *first_of(const struct due_folder *f, int64_t now_ms, int64_t boot_ms)
{
	for (size_t i = f->first; i < f->n && f->items[i].pointer.due_ms <= now_ms; i++)
		if (f->items[i].not_before <= boot_ms)
			return &f->items[i];
	return NULL;
}

static void take_out(struct due_folder *f, struct due_item *item)
{
	size_t at = (size_t)(item - f->items);

	memmove(f->items + f->first + 1, f->items + f->first, (at - f->first) * sizeof(*item));
	f->first++;
	if (f->count > 0)
		f->count--;
}

bool due_is_any(const struct queue_lead *lead, bool callbacks, int64_t boot_ms)
{
	int64_t now_ms = queues_passed_ms(lead_queues(lead));

	for (size_t i = 0; i < lead->due.n; i++)
		if (lead->due.folders[i]->callbacks == callbacks &&
		    first_of(lead->due.folders[i], now_ms, boot_ms))
			return true;
	return false;
}

bool due_take(struct queue_lead *lead, bool callbacks, int64_t now_ms, int64_t boot_ms,
	      struct due_item *ret)
{
	struct due_set *d = &lead->due;
	struct due_folder *folder = NULL;
	struct due_item *best = NULL;

	for (size_t i = 0;
	     i < d->n && d->folders[i]->minute <= now_ms / JOB_MINUTE_MS + AHEAD_MINUTES; i++) {
		struct due_item *item = d->folders[i]->callbacks == callbacks
						? first_of(d->folders[i], now_ms, boot_ms)
						: NULL;
		if (!item || (best && best->pointer.due_ms <= item->pointer.due_ms))
			continue;
		best = item;
		folder = d->folders[i];
	}
	if (!best)
		return false;
	*ret = *best;
	take_out(folder, best);
	return true;
}

void due_put_back(struct queue_lead *lead, const struct due_item *item, int64_t in_ms)
{
	struct due_folder *f = folder_of(lead, item->minute, item->pointer.callback, true);
	size_t at = f->first;

	if (find(f, &item->pointer))
		return;
	if (f->n == f->room) {
		f->room = f->room * 2 + 16;
		f->items = mem_resize(f->items, f->room, sizeof(*f->items));
	}
	while (at < f->n && by_time(&f->items[at], item) < 0)
		at++;
	memmove(f->items + at + 1, f->items + at, (f->n - at) * sizeof(*f->items));
	f->items[at] = *item;
	f->items[at].not_before = in_ms > 0 ? queues_now(lead_queues(lead)) + in_ms : 0;
	f->n++;
	f->count++;
	f->dirty = true;
	if (in_ms > 0)
		queues_wake(lead_queues(lead), in_ms);
}

void due_forget(struct queue_lead *lead, const struct due_item *item)
{
	struct due_folder *f = folder_of(lead, item->minute, item->pointer.callback, false);
	struct due_item *known = f ? find(f, &item->pointer) : NULL;

	if (known)
		take_out(f, known);
}

int64_t due_next_ms(const struct queue_lead *lead, int64_t now_ms)
{
	const struct due_set *d = &lead->due;
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < d->n; i++) {
		const struct due_folder *f = d->folders[i];
		if ((f->minute - AHEAD_MINUTES) * JOB_MINUTE_MS > next)
			break;
		for (size_t k = f->first; k < f->n; k++) {
			if (f->items[k].pointer.due_ms <= now_ms)
				continue;
			if (f->items[k].pointer.due_ms < next)
				next = f->items[k].pointer.due_ms;
			break;
		}
	}
	return next;
}

void due_each(const struct queue_lead *lead, int64_t minute, due_each_fn fn, void *arg)
{
	for (size_t i = 0; i < lead->due.n; i++) {
		const struct due_folder *f = lead->due.folders[i];
		for (size_t k = f->first; k < f->n; k++)
			if (f->items[k].pointer.minute == minute && !f->items[k].pointer.callback)
				fn(arg, f->items[k].pointer.uuid);
	}
}

size_t due_count(const struct queue_lead *lead)
{
	size_t n = 0;

	for (size_t i = 0; i < lead->due.n; i++)
		n += lead->due.folders[i]->callbacks ? 0 : lead->due.folders[i]->count;
	return n;
}

void due_done(struct queue_lead *lead)
{
	char path[STORE_PATH_MAX];

	path_of_queue(lead_paths(lead), lead_name(lead), "due", NULL, path);
	queue_unwatch(lead_calls(lead), path, WATCH_CHILDREN, lead);
	for (size_t i = 0; i < lead->due.n; i++)
		folder_free(lead->due.folders[i]);
	free(lead->due.folders);
	memset(&lead->due, 0, sizeof(lead->due));
}
