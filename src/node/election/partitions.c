#include "node/election/partitions.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/text/names.h"
#include "core/fleet/identity.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/tree/paths.h"

#define RULES_MAX 20000

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

void partitions_add_rule(struct partitions *p, const struct partitions_rule *rule)
{
	p->rules = mem_resize(p->rules, p->n + 1, sizeof(*p->rules));
	p->rules[p->n++] = *rule;
	qsort(p->rules, p->n, sizeof(*p->rules), by_name);
}

/* A rule named "TASK:..." is not before its task, and others that begin with that name may be. */
static int by_task(const void *task, const void *rule)
{
	const char *name = ((const struct partitions_rule *)rule)->name;
	size_t len = strlen(task);
	int order = strncmp(task, name, len);

	return order ? order : name[len] < ':';
}

const struct partitions_rule *partitions_rule(const struct leaders *l, const char *task)
{
	const struct partitions *p = &l->partitions;
	size_t at = sort_place(task, p->rules, p->n, sizeof(*p->rules), by_task);

	return at < p->n && strcmp(p->rules[at].task, task) == 0 ? &p->rules[at] : NULL;
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

const char *partitions_name(const struct leaders *l, const char *task, size_t i, unsigned *ret_n)
{
	const struct folder *f = &l->partitions.folder;
	struct partitions_rule rule;

	for (size_t at = 0; at < f->n; at++) {
		if (!parse_name(f->names[at], &rule) || strcmp(rule.task, task) != 0 || i-- > 0)
			continue;
		*ret_n = rule.n;
		return f->names[at];
	}
	return NULL;
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
		partitions_add_rule(&l->partitions, &rule);
		if (listing)
			listing->making.unreadable = false;
		return;
	}
	/* The record is read repeatedly, as an operator may repair it, but logged once. */
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

/* --- questions ------------------------------------------------------------ */

enum partitions_state partitions_state(const struct listing *listing)
{
	return listing->state;
}

bool partitions_differ(const struct listing *listing, const struct member *m,
		       char text[PARTITIONS_TEXT_MAX])
{
	const struct worker *w = m->worker;
	const struct partitions_rule *rule = partitions_rule(listing->leaders, listing->name);
	unsigned theirs = worker_partitions(w, listing->name), in_force = rule ? rule->n : 1;

	bool lists = names_has(w->tasks, w->n_tasks, listing->name);

	if (!rule || w->unlisted || theirs == (in_force == 1 ? 0 : in_force))
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
	host_timer_init(&l->partitions.retry, l->session->host, partitions_retry, l);
}

void partitions_done(struct leaders *l)
{
	partitions_changes_done(l);
	host_timer_done(&l->partitions.retry);
	folder_done(&l->partitions.folder);
	free(l->partitions.rules);
}

bool partitions_problem(const struct listing *listing, char text[PARTITIONS_TEXT_MAX])
{
	const struct partitions_rule *rule = partitions_rule(listing->leaders, listing->name);
	unsigned wanted = listing->settings.partitions;

	switch (listing->state) {
	case PARTITIONS_PLAIN:
	case PARTITIONS_IN_FORCE: return false;
	case PARTITIONS_UNKNOWN:
		if (listing->making.problem)
			snprintf(text, PARTITIONS_TEXT_MAX, "%s", listing->making.problem);
		return listing->making.problem;
	case PARTITIONS_REFUSED: break;
	}
	if (wanted == 0)
		snprintf(text, PARTITIONS_TEXT_MAX,
			 "%s has %u partitions in force, and none in this host's file: write "
			 "partitions = %u there, or `zkleader partitions %s 1` makes it a plain "
			 "task",
			 listing->name, listing->in_force, listing->in_force, listing->name);
	else if (listing->in_force == 0)
		snprintf(text, PARTITIONS_TEXT_MAX,
			 "%s is in force as a plain task, and has %u partitions in this host's "
			 "file: `zkleader partitions %s %u` puts them in force",
			 listing->name, wanted, listing->name, wanted);
	else
		snprintf(text, PARTITIONS_TEXT_MAX,
			 "%s has %u partitions in force%s%s, and %u in this host's file: write "
			 "partitions = %u there, or `zkleader partitions %s %u` puts the other "
			 "number in force",
			 listing->name, listing->in_force, rule && rule->record.by[0] ? " by " : "",
			 rule ? rule->record.by : "", wanted, listing->in_force, listing->name,
			 wanted);
	return true;
}
