#include "node/partitions.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/names.h"
#include "core/identity.h"
#include "node/leaders.h"
#include "node/paths.h"
#include "node/tasks.h"

#define RULES_MAX 20000
#define RETRY_MS  1000 /* before what could not be made is tried again */

/* --- what is in force ----------------------------------------------------- */

/* TASK:N, N from 1 to 256. */
static bool parse_name(const char *name, struct partitions_rule *ret_rule)
{
	const char *colon = strrchr(name, ':');
	char canonical[NAME_ELECTION_MAX + 1];
	size_t len = colon ? (size_t)(colon - name) : 0;
	unsigned n = 0;

	if (!colon || strlen(name) > NAME_ELECTION_MAX || !name_is_task(name, len))
		return false;
	for (const char *digit = colon + 1; *digit >= '0' && *digit <= '9'; digit++)
		n = n * 10 + (unsigned)(*digit - '0');
	if (n < 1 || n > NAME_PARTITIONS_MAX)
		return false;
	memset(ret_rule, 0, sizeof(*ret_rule));
	memcpy(ret_rule->task, name, len);
	ret_rule->n = n;
	snprintf(canonical, sizeof(canonical), "%s:%u", ret_rule->task, n);
	snprintf(ret_rule->name, sizeof(ret_rule->name), "%s", name);
	return strcmp(canonical, name) == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct partitions_rule *)a)->name,
		      ((const struct partitions_rule *)b)->name);
}

static void add_rule(struct partitions *p, const struct partitions_rule *rule)
{
	p->rules = mem_resize(p->rules, p->n + 1, sizeof(*p->rules));
	p->rules[p->n++] = *rule;
	qsort(p->rules, p->n, sizeof(*p->rules), by_name);
}

const struct partitions_rule *partitions_rule(const struct leaders *l, const char *task)
{
	const struct partitions *p = &l->partitions;
	size_t low = 0, high = p->n, len = strlen(task);

	/* The first that is not before "TASK:": there is one for a task, as a rule. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *name = p->rules[middle].name;
		int order = strncmp(name, task, len);
		if (order < 0 || (order == 0 && name[len] < ':'))
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->n && strcmp(p->rules[low].task, task) == 0 ? &p->rules[low] : NULL;
}

enum partitions_state partitions_judge(const struct leaders *l, const struct listing *listing,
				       unsigned *ret_in_force)
{
	const struct partitions_rule *rule = partitions_rule(l, listing->name);
	unsigned wanted = listing->settings.partitions;

	*ret_in_force = rule && rule->n > 1 ? rule->n : 0;
	if (wanted == 0)
		return *ret_in_force > 0 ? PARTITIONS_REFUSED : PARTITIONS_PLAIN;
	if (!rule)
		return PARTITIONS_UNKNOWN;
	return rule->n == wanted ? PARTITIONS_IN_FORCE : PARTITIONS_REFUSED;
}

int64_t partitions_floor_ms(const struct leaders *l, const char *name)
{
	char task[NAME_ELECTION_MAX + 1];
	size_t len = strlen(name);

	(void)name_partition_parse(name, len, &len, NULL);
	snprintf(task, sizeof(task), "%.*s", (int)len, name);
	const struct partitions_rule *rule = partitions_rule(l, task);
	return rule && rule->record.from > 0 ? rule->ctime : 0;
}

/* --- from the folder ------------------------------------------------------ */

static void on_rule(void *arg, const char *name, const struct store_reply *reply)
{
	struct leaders *l = arg;
	struct partitions_rule rule = {.n = 0};
	const char *why = reply->text;
	char path[STORE_PATH_MAX];

	bool named = parse_name(name, &rule);
	struct listing *listing = listings_find(l, rule.task, strlen(rule.task));

	if (reply->code == STORE_OK && !named)
		why = "the znode's name is no TASK:N";
	else if (reply->code == STORE_OK &&
		 record_parse_split(reply->data, reply->len, &rule.record, &why) == 0) {
		rule.ctime = reply->stat.ctime;
		log_info("partitions in force", LOG_STR("task", rule.task),
			 LOG_INT("partitions", rule.n), LOG_INT("from", rule.record.from),
			 LOG_STR("by", rule.record.by[0] ? rule.record.by : NULL),
			 LOG_STR("at", rule.record.host),
			 LOG_STR("reason", rule.record.reason[0] ? rule.record.reason : NULL));
		add_rule(&l->partitions, &rule);
		if (listing)
			listing->making.unreadable = false;
		return;
	}
	/* It is read repeatedly, as an operator may repair it: it is logged once. */
	if (listing && listing->making.unreadable)
		return;
	path_of(l->registry->settings, PATH_SPLITS, name, path);
	log_warning("record of partitions refused", LOG_STR("znode", path), LOG_STR("why", why));
}

static void on_gone(void *arg, const char *name)
{
	struct partitions *p = &((struct leaders *)arg)->partitions;

	for (size_t i = 0; i < p->n; i++) {
		if (strcmp(p->rules[i].name, name) != 0)
			continue;
		p->n--;
		memmove(p->rules + i, p->rules + i + 1, (p->n - i) * sizeof(*p->rules));
		return;
	}
}

static void on_missing(void *arg)
{
	registry_make_parents(((struct leaders *)arg)->registry);
}

static void on_changed(void *arg)
{
	struct leaders *l = arg;

	tasks_expand(l);
	partitions_advance(l);
	partitions_changes_run(l);
	l->handlers.split(l->handlers.arg);
}

void partitions_refresh(struct leaders *l)
{
	l->partitions.versioned = false;
	folder_refresh(&l->partitions.folder);
}

/* --- making what is not there yet ----------------------------------------- */

/* One outstanding request, for a listing. */
struct making {
	struct leaders *leaders;
	struct partitions_rule rule;
};

static void retry_later(struct leaders *l, struct listing *listing)
{
	listing->making.retry_ms = host_now_ms(l->session->host) + RETRY_MS;
	host_timer_start(&l->partitions.retry, RETRY_MS);
}

static struct listing *listing_of(const struct making *m)
{
	struct listing *listing = listings_find(m->leaders, m->rule.task, strlen(m->rule.task));

	return listing && listing->settings.partitions == m->rule.n ? listing : NULL;
}

static void making_end(struct making *m)
{
	struct leaders *l = m->leaders;

	free(m);
	l->partitions.busy = false;
	partitions_advance(l);
}

/* What is there already has been read, and was refused: it is read again with the next list. */
static void say_unreadable(struct listing *listing, const char *name)
{
	struct leaders *l = listing->leaders;
	char path[STORE_PATH_MAX], problem[PARTITIONS_TEXT_MAX];

	path_of(l->registry->settings, PATH_SPLITS, name, path);
	snprintf(problem, PARTITIONS_TEXT_MAX,
		 "how many partitions of %s are in force cannot be read: delete %s, and what this "
		 "host's file says is put in force",
		 listing->name, path);
	free(listing->making.problem);
	listing->making.problem = mem_strdup(problem);
	listing->making.unreadable = true;
	folder_remove(&l->partitions.folder, name);
}

/* Somebody leads it as a whole, or something stands there that is no marker of ours. */
static void say_what_stands(struct listing *listing, const struct store_reply *reply)
{
	const struct leaders *l = listing->leaders;
	char path[STORE_PATH_MAX], problem[PARTITIONS_TEXT_MAX];
	struct leader_record record;
	const char *why;
	bool parsed = record_parse_leader(reply->data, reply->len, &record, &why) == 0;

	path_of(l->registry->settings, PATH_LEADERS, listing->name, path);
	if (reply->stat.owner == 0)
		snprintf(problem, PARTITIONS_TEXT_MAX,
			 "%s cannot be split: a znode that is not ephemeral stands in the place of "
			 "its leader's: delete %s",
			 listing->name, path);
	else
		snprintf(problem, PARTITIONS_TEXT_MAX,
			 "%s is led as a whole by %s still: give it partitions = %u in that host's "
			 "file too, or pause it",
			 listing->name, parsed ? record.hostname : "another node",
			 listing->settings.partitions);
	free(listing->making.problem);
	listing->making.problem = mem_strdup(problem);
}

static void on_occupant(void *arg, const struct store_reply *reply)
{
	struct making *m = arg;
	struct listing *listing = reply->code == STORE_ABANDONED ? NULL : listing_of(m);

	if (listing && reply->code == STORE_OK) {
		listing->making.marked =
			reply->stat.owner == 0 && record_is_marker(reply->data, reply->len);
		if (!listing->making.marked) {
			say_what_stands(listing, reply);
			retry_later(m->leaders, listing);
		}
	} else if (listing && reply->code != STORE_NO_NODE) {
		retry_later(m->leaders, listing);
	}
	making_end(m);
}

static void made(const struct making *m)
{
	struct partitions *p = &m->leaders->partitions;

	p->version++;
	if (!partitions_rule(m->leaders, m->rule.task))
		add_rule(p, &m->rule);
	folder_add(&p->folder, m->rule.name);
	log_info("partitions put in force", LOG_STR("task", m->rule.task),
		 LOG_INT("partitions", m->rule.n));
	folder_touch(&p->folder);
}

static void on_made(void *arg, const struct store_reply *reply)
{
	struct making *m = arg;
	struct leaders *l = m->leaders;
	struct listing *listing = reply->code == STORE_ABANDONED ? NULL : listing_of(m);
	char path[STORE_PATH_MAX];

	if (reply->code == STORE_OK) {
		made(m);
		making_end(m);
		return;
	}
	if (listing && reply->failed_op == 2 &&
	    (reply->code == STORE_NODE_EXISTS || reply->code == STORE_NO_NODE)) {
		listing->making.marked = false;
		path_of(l->registry->settings, PATH_LEADERS, m->rule.task, path);
		store_get(l->session->store, path, false, on_occupant, m);
		return;
	}
	if (listing && reply->failed_op == 1 && reply->code == STORE_NODE_EXISTS)
		say_unreadable(listing, m->rule.name);
	/* Somebody else has changed something, or the connection went: look again. */
	if (reply->code != STORE_ABANDONED)
		partitions_refresh(l);
	if (listing)
		retry_later(l, listing);
	if (store_is_refusal(reply->code))
		log_error("partitions refused by the server", LOG_STR("task", m->rule.task),
			  LOG_STR("why", reply->text));
	making_end(m);
}

static void make(struct leaders *l, const struct listing *listing)
{
	struct making *m = mem_calloc(1, sizeof(*m));
	char folder[STORE_PATH_MAX], path[STORE_PATH_MAX], leader[STORE_PATH_MAX];
	struct buffer data, marker;

	m->leaders = l;
	m->rule.n = listing->settings.partitions;
	snprintf(m->rule.task, sizeof(m->rule.task), "%s", listing->name);
	snprintf(m->rule.name, sizeof(m->rule.name), "%s:%u", listing->name, m->rule.n);
	m->rule.record = (struct split_record){.partitions = m->rule.n,
					       .since = host_wall_ms(l->session->host)};
	memcpy(m->rule.record.host, l->registry->hostname, sizeof(m->rule.record.host));
	buffer_init(&data, RECORD_SPLIT_MAX);
	buffer_init(&marker, RECORD_LEADER_MAX);
	int error = record_pack_split(&data, &m->rule.record);
	if (error == 0)
		error = record_pack_marker(&marker);
	assert(error == 0);
	(void)error;
	path_of(l->registry->settings, PATH_SPLITS, NULL, folder);
	path_of(l->registry->settings, PATH_SPLITS, m->rule.name, path);
	path_of(l->registry->settings, PATH_LEADERS, listing->name, leader);
	struct store_op ops[3] = {
		{.type = STORE_OP_SET, .path = folder, .version = l->partitions.version},
		{.type = STORE_OP_CREATE, .path = path, .data = data.data, .len = data.len},
		{.type = STORE_OP_CREATE, .path = leader, .data = marker.data, .len = marker.len},
	};
	if (listing->making.marked)
		ops[2] = (struct store_op){.type = STORE_OP_CHECK, .path = leader, .version = -1};
	l->partitions.busy = true;
	store_multi(l->session->store, ops, 3, on_made, m);
	buffer_done(&data);
	buffer_done(&marker);
}

/* The folder's version, and behind it the list: what is not in that is not in force at it. */
static void on_version(void *arg, const struct store_reply *reply)
{
	struct leaders *l = arg;
	struct partitions *p = &l->partitions;

	p->busy = false;
	if (reply->code != STORE_OK) {
		if (reply->code == STORE_NO_NODE)
			registry_make_parents(l->registry);
		host_timer_start(&p->retry, RETRY_MS);
		return;
	}
	p->version = reply->stat.version;
	p->versioned = true;
	p->due = folder_refresh(&p->folder);
}

static struct listing *next_to_make(const struct leaders *l)
{
	int64_t now = host_now_ms(l->session->host);

	for (size_t i = 0; i < l->n_listings; i++) {
		struct listing *listing = l->listings[i];
		if (listing->state == PARTITIONS_UNKNOWN && listing->making.retry_ms <= now &&
		    !partitions_rule(l, listing->name))
			return listing;
	}
	return NULL;
}

void partitions_advance(struct leaders *l)
{
	struct partitions *p = &l->partitions;
	struct listing *listing;
	char folder[STORE_PATH_MAX];

	if (p->busy || l->leaving || !session_is_up(l->session) || !p->folder.ready)
		return;
	listing = next_to_make(l);
	if (!listing)
		return;
	if (!p->versioned) {
		p->busy = true;
		path_of(l->registry->settings, PATH_SPLITS, NULL, folder);
		store_get(l->session->store, folder, false, on_version, l);
	} else if (p->due <= p->folder.lists && folder_settled(&p->folder)) {
		make(l, listing);
	}
}

static void on_retry(void *arg)
{
	struct leaders *l = arg;

	for (size_t i = 0; i < l->n_listings; i++)
		l->listings[i]->making.retry_ms = 0;
	partitions_advance(l);
}

/* --- questions ------------------------------------------------------------ */

enum partitions_state partitions_state(const struct listing *listing)
{
	return listing->state;
}

unsigned partitions_in_force(const struct listing *listing)
{
	return listing->in_force;
}

bool partitions_differ(const struct listing *listing, const struct member *m,
		       char text[PARTITIONS_TEXT_MAX])
{
	const struct worker *w = m->worker;
	const struct partitions_rule *rule = partitions_rule(listing->leaders, listing->name);
	unsigned theirs = worker_partitions(w, listing->name), in_force = rule ? rule->n : 1;

	bool lists = names_has(w->tasks, w->n_tasks, listing->name);

	if (!rule || theirs == (in_force == 1 ? 0 : in_force))
		return false;
	if (theirs == 0 && w->knows_splits && !lists)
		return false; /* it has no such task */
	if (theirs > 0)
		snprintf(text, PARTITIONS_TEXT_MAX,
			 "%s has %u partitions of %s in its file, and %u are in force: it is no "
			 "candidate",
			 identity_name(m), theirs, listing->name, in_force);
	else if (!w->knows_splits)
		snprintf(text, PARTITIONS_TEXT_MAX,
			 "%s runs a release that does not know partitions: it is no candidate for "
			 "%s",
			 identity_name(m), listing->name);
	else
		snprintf(text, PARTITIONS_TEXT_MAX,
			 "%s has no partitions of %s in its file, and %u are in force: it is no "
			 "candidate",
			 identity_name(m), listing->name, in_force);
	return true;
}

/* --- from outside --------------------------------------------------------- */

void partitions_up(struct leaders *l)
{
	l->partitions.versioned = false;
	folder_up(&l->partitions.folder);
	partitions_changes_up(l);
}

void partitions_cut(struct leaders *l)
{
	l->partitions.versioned = false;
	folder_cut(&l->partitions.folder);
}

void partitions_expired(struct leaders *l)
{
	folder_expired(&l->partitions.folder);
}

void partitions_watch(struct leaders *l, enum store_watch type, const char *path)
{
	if (type == STORE_CHILDREN_CHANGED)
		l->partitions.versioned &= strcmp(path, l->partitions.folder.path) != 0;
	folder_watch(&l->partitions.folder, type, path);
}

void partitions_init(struct leaders *l)
{
	const struct folder_handlers handlers = {.take = on_rule,
						 .gone = on_gone,
						 .changed = on_changed,
						 .missing = on_missing,
						 .arg = l};
	char path[STORE_PATH_MAX];

	path_of(l->registry->settings, PATH_SPLITS, NULL, path);
	folder_init(&l->partitions.folder, l->session, path, RULES_MAX, &handlers);
	host_timer_init(&l->partitions.retry, l->session->host, on_retry, l);
}

void partitions_done(struct leaders *l)
{
	partitions_changes_done(l);
	host_timer_done(&l->partitions.retry);
	folder_done(&l->partitions.folder);
	free(l->partitions.rules);
}
