#include "node/fleet/policy_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "base/sort.h"
#include "node/tree/paths.h"

/* --- what is known -------------------------------------------------------- */

int policy_compare(const struct policy_item *a, enum policy_kind kind, const char *task,
		   const char *node)
{
	if (a->kind != kind)
		return a->kind < kind ? -1 : 1;
	int order = strcmp(a->record.task, task);
	return order ? order : strcmp(a->record.node, node);
}

/* Puts the later one of two decisions about the same thing first. */
static int compare_items(const struct policy_item *x, const struct policy_item *y)
{
	int order = policy_compare(x, y->kind, y->record.task, y->record.node);

	if (order == 0 && x->record.since != y->record.since)
		order = x->record.since > y->record.since ? -1 : 1;
	return order ? order : strcmp(x->name, y->name);
}

static int by_item(const void *a, const void *b)
{
	return compare_items(a, *(struct policy_item *const *)b);
}

struct subject {
	enum policy_kind kind;
	const char *task, *node;
};

static int by_subject(const void *subject, const void *item)
{
	const struct subject *s = subject;

	return -policy_compare(*(struct policy_item *const *)item, s->kind, s->task, s->node);
}

size_t policy_place(const struct policy *p, enum policy_kind kind, const char *task,
		    const char *node)
{
	const struct subject key = {kind, task, node};

	return sort_place(&key, p->items, p->n, sizeof(*p->items), by_subject);
}

size_t policy_of_task(const struct policy *p, enum policy_kind kind, const char *task,
		      size_t *ret_first)
{
	size_t first = policy_place(p, kind, task, ""), end = first;

	while (end < p->n && p->items[end]->kind == kind &&
	       strcmp(p->items[end]->record.task, task) == 0)
		end++;
	*ret_first = first;
	return end - first;
}

/* Inserts the item in its place: items come one by one, and there may be very many. */
static void insert_item(struct policy *p, struct policy_item *item)
{
	size_t at = sort_place(item, p->items, p->n, sizeof(*p->items), by_item);

	p->items = mem_resize(p->items, p->n + 1, sizeof(*p->items));
	memmove(p->items + at + 1, p->items + at, (p->n - at) * sizeof(*p->items));
	p->items[at] = item;
	p->n++;
}

const struct policy_item *policy_find_own(const struct policy *p, enum policy_kind kind,
					  const char *task, const char *node)
{
	size_t at = policy_place(p, kind, task, node);

	if (at == p->n || policy_compare(p->items[at], kind, task, node) != 0)
		return NULL;
	return p->items[at];
}

static void log_item(const char *what, const struct policy_item *item, const char *ended_by)
{
	const struct policy_record *r = &item->record;
	char until[CLOCK_TEXT_SIZE];

	if (item->kind == POLICY_ENDED)
		return; /* the pause itself was logged */
	clock_format(r->until, until);
	log_info(what, LOG_STR("kind", r->kind), LOG_STR("task", r->task[0] ? r->task : NULL),
		 LOG_STR("node", r->node[0] ? r->node : NULL),
		 LOG_STR("version", r->version[0] ? r->version : NULL), LOG_STR("by", r->by),
		 LOG_STR("at", r->host), LOG_STR("reason", r->reason[0] ? r->reason : NULL),
		 LOG_STR("until", r->until > 0 ? until : NULL), LOG_STR("ended_by", ended_by));
}

/*
 * czxid: of its znode; 0: not known, as the record was made through us. Then its order is above all
 * that we have seen.
 */
static void add_item(struct policy *p, const char *name, const struct policy_record *record,
		     bool seen_made, int64_t czxid)
{
	struct policy_item *item = mem_calloc(1, sizeof(*item));

	item->order = czxid > 0 ? czxid : p->last_order + 1;
	if (item->order > p->last_order)
		p->last_order = item->order;

	snprintf(item->name, sizeof(item->name), "%s", name);
	item->record = *record;
	item->seen_ms = seen_made ? host_now_ms(p->session->host) : POLICY_UNSEEN;
	bool known = policy_kind_parse(record->kind, strlen(record->kind), &item->kind);
	assert(known); /* record_parse_policy() has checked it */
	(void)known;
	insert_item(p, item);
	p->edition++;
	log_item("decided", item, NULL);
	if (record->halted)
		log_warning("rolling restart halted", LOG_STR("group", record->rolling),
			    LOG_STR("node", record->node), LOG_STR("why", record->reason));
	if (p->folder.known)
		p->handlers.told(p->handlers.arg, item, false);
}

void policy_forget_item(struct policy *p, const char *name, const char *ended_by)
{
	for (size_t i = 0; i < p->n; i++) {
		struct policy_item *item = p->items[i];
		if (strcmp(item->name, name) != 0)
			continue;
		log_item("no longer decided", item, ended_by);
		p->handlers.told(p->handlers.arg, item, true);
		free(item);
		p->n--;
		p->edition++;
		memmove(p->items + i, p->items + i + 1, (p->n - i) * sizeof(*p->items));
		return;
	}
}

/* --- from the folder ------------------------------------------------------ */

static void on_record(void *arg, const char *name, const struct store_reply *reply)
{
	struct policy *p = arg;
	struct policy_record record = {.since = 0};
	const char *why = reply->text;
	char path[STORE_PATH_MAX];
	bool good = false;

	if (reply->code == STORE_OK && !name_is_id(name, strlen(name)))
		why = "the znode's name is no id";
	else if (reply->code == STORE_OK && p->n >= POLICY_ITEMS_MAX)
		why = "more has been decided than zkleader's limit";
	else if (reply->code == STORE_OK)
		good = record_parse_policy(reply->data, reply->len, &record, &why) == 0;
	if (good) {
		add_item(p, name, &record, p->folder.ready, reply->stat.czxid);
		return;
	}
	path_of(p->registry->settings, PATH_POLICY, name, path);
	log_warning("policy record refused", LOG_STR("znode", path), LOG_STR("why", why));
}

static void on_gone(void *arg, const char *name)
{
	policy_forget_item(arg, name, NULL);
}

static void on_changed(void *arg)
{
	struct policy *p = arg;

	policy_end_due(p);
	p->handlers.changed(p->handlers.arg);
	policy_run_changes(p);
}

static void on_due(void *arg)
{
	policy_end_due(arg);
}

static void on_missing(void *arg)
{
	struct policy *p = arg;

	registry_make_parents(p->registry);
}

/* --- changes of this node ------------------------------------------------ */

void policy_gone(struct policy *p, const char *name)
{
	policy_forget_item(p, name, NULL);
	folder_remove(&p->folder, name);
	folder_touch(&p->folder);
}

void policy_made(struct policy *p, const char *name, const struct policy_record *record)
{
	policy_forget_item(p, name, NULL); /* if the list was quicker than the reply */
	if (p->n < POLICY_ITEMS_MAX) {
		add_item(p, name, record, true, 0);
		folder_add(&p->folder, name);
	}
	folder_touch(&p->folder);
}

/*
 * Another sidecar may just have made a decision. So a write goes first: a list that follows on the
 * same connection is no older.
 */
uint64_t policy_refresh(struct policy *p)
{
	session_confirm(p->session);
	return folder_refresh(&p->folder);
}

bool policy_is_read(const struct policy *p, uint64_t due)
{
	return p->folder.ready && due <= p->folder.lists && folder_settled(&p->folder);
}

/* --- from outside --------------------------------------------------------- */

void policy_up(struct policy *p)
{
	folder_up(&p->folder);
}

void policy_cut(struct policy *p)
{
	folder_cut(&p->folder);
	policy_drop_changes(p);
}

void policy_expired(struct policy *p)
{
	folder_expired(&p->folder);
	/* Servers that have lost all their data begin with low numbers again. */
	p->last_order = 0;
	for (size_t i = 0; i < p->n; i++)
		p->items[i]->order = 0;
}

void policy_watch(struct policy *p, enum store_watch type, const char *path)
{
	folder_watch(&p->folder, type, path);
}

void policy_init(struct policy *p, struct session *session, struct registry *registry,
		 const struct policy_handlers *handlers)
{
	const struct folder_handlers folder_handlers = {.take = on_record,
							.gone = on_gone,
							.changed = on_changed,
							.missing = on_missing,
							.arg = p};
	char path[STORE_PATH_MAX];

	memset(p, 0, sizeof(*p));
	p->edition = 1;
	p->session = session;
	p->registry = registry;
	p->handlers = *handlers;
	path_of(registry->settings, PATH_POLICY, NULL, path);
	folder_init(&p->folder, session, path, POLICY_ITEMS_MAX + 1000, &folder_handlers);
	host_timer_init(&p->due, session->host, on_due, p);
}

void policy_done(struct policy *p)
{
	host_timer_done(&p->due);
	policy_drop_changes(p);
	for (size_t i = 0; i < p->n; i++)
		free(p->items[i]);
	free(p->items);
	folder_done(&p->folder);
}
