#include "node/election/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "base/text/name.h"
#include "node/election/candidates.h"
#include "node/election/inheritance.h"
#include "node/fleet/disagreement.h"
#include "node/tree/paths.h"

static bool is_gone(const struct task *t)
{
	return t->withdrawn && t->leader.pending == 0 && t->transaction.pending == 0 &&
	       t->reads.pending == 0 && t->holds == 0 && t->dying == 0 &&
	       (t->election.state == ELECTION_DOWN || t->election.state == ELECTION_FOLLOWING);
}

static void forget_own(struct task *t)
{
	free(t->own);
	free(t->description);
	t->own = NULL;
	t->description = NULL;
}

static void task_free(struct task *t)
{
	forget_own(t);
	free(t->listed);
	free(t->min_version);
	free(t->spread);
	t->leaders->handlers.forget(t);
	candidates_forget(t);
	leader_node_forget(t);
	transactions_task_gone(t);
	renames_task_gone(t);
	free(t);
}

/* Publishes our record: the listings, and those refused only because of their partitions. */
static void publish(struct leaders *l)
{
	size_t n = l->n_listings + 1, n_splits = 0, n_queues = 0;
	struct registry_tasks said = {.n = 0};
	const char **names = mem_calloc(n, sizeof(*names)),
		   **groups = mem_calloc(n, sizeof(*groups)), **keys = mem_calloc(n, sizeof(*keys)),
		   **renamed = mem_calloc(2 * n, sizeof(*renamed));
	uint32_t *digests = mem_calloc(n, sizeof(*digests));
	bool grouped = false, marked = true;

	for (size_t i = 0; i < l->n_listings; i++) {
		n_splits += l->listings[i]->settings.partitions > 0;
		n_queues += l->listings[i]->settings.queue != NULL;
	}
	struct worker_split *splits = mem_calloc(n_splits + 1, sizeof(*splits));
	struct worker_queue *queues = mem_calloc(n_queues + 1, sizeof(*queues));
	for (size_t i = 0; i < l->n_listings; i++) {
		const struct listing *listing = l->listings[i];
		if (listing->settings.partitions > 0) {
			struct worker_split *split = &splits[said.n_splits++];
			snprintf(split->task, sizeof(split->task), "%s", listing->name);
			split->partitions = listing->settings.partitions;
		}
		if (!listing_is_published(listing))
			continue;
		const struct queue_settings *q = listing->settings.queue;
		if (q) {
			struct worker_queue *queue = &queues[said.n_queues++];
			snprintf(queue->queue, sizeof(queue->queue), "%s", listing->name);
			queue->slots = q->slots;
		}
		const char *spread = listing->settings.spread;
		groups[said.n] = spread ? spread : "";
		grouped |= spread != NULL;
		keys[said.n] = listing->settings.keys;
		marked &= keys[said.n] != NULL;
		if (listing->settings.renamed_from) {
			renamed[said.n_renamed++] = listing->name;
			renamed[said.n_renamed++] = listing->settings.renamed_from;
		}
		digests[said.n] = disagreement_digest(&listing->settings);
		names[said.n++] = listing->name;
	}
	said.names = names;
	said.digests = digests;
	said.groups = grouped ? groups : NULL;
	said.keys = marked ? keys : NULL;
	said.renamed = renamed;
	said.splits = splits;
	said.queues = queues;
	registry_set_tasks(l->registry, &said);
	renames_remember(&l->renames, l->renamed, l->n_renamed);
	free(l->published);
	free(l->groups);
	free(l->keys);
	free(l->renamed);
	free(l->digests);
	free(l->splits);
	free(l->queues);
	l->published = names;
	l->groups = groups;
	l->keys = keys;
	l->renamed = renamed;
	l->n_renamed = said.n_renamed;
	l->digests = digests;
	l->splits = splits;
	l->queues = queues;
	l->n_published = said.n;
}

/* The paths of the leader nodes, as a reconnect carries them. */
static void reserve_watches(struct leaders *l)
{
	char folder[STORE_PATH_MAX];
	size_t bytes = 0;

	path_of(l->session->settings, PATH_LEADERS, "", folder);
	for (size_t i = 0; i < l->n_tasks; i++)
		bytes += strlen(folder) + strlen(l->tasks[i]->name) + WATCH_PATH_BYTES;
	watches_reserve(&l->session->watches, bytes);
}

void tasks_index(struct leaders *l)
{
	size_t n = 0, guest = 0;

	groups_collect(l);
	l->names = mem_resize(l->names, l->n_tasks + l->n_guests + 1, sizeof(*l->names));
	const struct contest **contests =
		mem_calloc(l->n_tasks + l->n_guests + 1, sizeof(*contests));
	for (size_t i = 0; i < l->n_tasks || guest < l->n_guests; n++) {
		bool is_guest =
			i == l->n_tasks || (guest < l->n_guests &&
					    strcmp(l->guests[guest]->name, l->tasks[i]->name) < 0);
		if (is_guest) {
			struct guest *g = l->guests[guest++];
			g->index = n;
			l->names[n] = g->name;
			contests[n] = &g->contest;
		} else {
			struct task *t = l->tasks[i++];
			t->index = n;
			l->names[n] = t->name;
			contests[n] = &t->contest;
		}
	}
	fleet_set_tasks(&l->registry->fleet, l->names, n);
	fleet_set_contests(&l->registry->fleet, contests);
	free(contests);
	reserve_watches(l);
	l->edition = 0;
	publish(l);
}

void tasks_drop_gone(struct leaders *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n_tasks; i++) {
		struct task *t = l->tasks[i];
		if (is_gone(t)) {
			leader_log_flush(&l->log);
			/* A node that leaves all elections keeps its listings. */
			if (t->listing)
				t->listing->n = 0;
			l->handlers.removed(l->handlers.arg, t);
			task_free(t);
		} else {
			l->tasks[kept++] = t;
		}
	}
	if (kept == l->n_tasks)
		return;
	l->n_tasks = kept;
	tasks_index(l);
}

static int by_key(const void *name, const void *task)
{
	return strcmp(name, (*(struct task *const *)task)->name);
}

struct task *tasks_find_any(const struct leaders *l, const char *name)
{
	struct task **at = l->n_tasks > 0
				   ? bsearch(name, l->tasks, l->n_tasks, sizeof(*l->tasks), by_key)
				   : NULL;

	return at ? *at : NULL;
}

static struct task *task_new(struct leaders *l, const char *name)
{
	size_t len = strlen(name);
	struct task *t = mem_calloc(1, sizeof(*t) + len + 1);

	t->leaders = l;
	memcpy(t->name, name, len);
	reads_item_init(&t->reads, t->name);
	return t;
}

static void set_text(char **text, const char *value)
{
	free(*text);
	*text = value ? mem_strdup(value) : NULL;
}

/* Copies the settings for when their listing is gone, without what is borrowed of its file. */
static void keep_own(struct task *t)
{
	if (t->own)
		return;
	t->own = mem_alloc(sizeof(*t->own));
	*t->own = *t->settings;
	set_text(&t->description, t->settings->description);
	t->own->name = t->name;
	t->own->description = t->description;
	t->own->min_version = t->min_version;
	t->own->spread = t->spread;
	t->own->renamed_from = NULL;
	t->own->schedule = NULL;
	t->own->queue = NULL;
	t->own->uids = NULL;
	t->own->n_uids = 0;
	t->settings = t->own;
}

/* Sets up the K-th election of the listing, which has no partitions, or as many as are in force. */
static void configure(struct task *t, struct listing *listing, unsigned partition, bool is_new)
{
	t->withdrawn = false;
	t->listing = listing;
	t->partition = partition;
	t->settings = &listing->settings;
	forget_own(t);
	set_text(&t->listed, listing->settings.partitions > 0 ? listing->name : NULL);
	set_text(&t->min_version, listing->settings.min_version);
	set_text(&t->spread, listing->settings.spread);
	candidates_configure(t, is_new);
	leaders_configure(t, is_new);
}

static int compare_tasks(const void *a, const void *b)
{
	return strcmp((*(struct task *const *)a)->name, (*(struct task *const *)b)->name);
}

/* Gives the listing its elections. Existing ones go on, new ones are added to the list. */
static void expand_one(struct listing *listing, struct task **added, size_t *n_added)
{
	struct leaders *l = listing->leaders;
	char name[NAME_ELECTION_MAX + 1];
	bool partitioned = listing->settings.partitions > 0;

	listing->state = partitions_judge(l, listing, &listing->in_force);
	listing->n = listing->state == PARTITIONS_PLAIN	     ? 1
		     : listing->state == PARTITIONS_IN_FORCE ? listing->in_force
							     : 0;
	for (unsigned k = 0; k < listing->n; k++) {
		if (partitioned)
			snprintf(name, sizeof(name), "%s:%u", listing->name, k);
		else
			snprintf(name, sizeof(name), "%s", listing->name);
		struct task *t = tasks_find_any(l, name);
		bool is_new = !t;
		if (is_new)
			t = added[(*n_added)++] = task_new(l, name);
		listing->tasks[k] = t;
		configure(t, listing, k, is_new);
	}
}

static size_t most_tasks(const struct leaders *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_listings; i++)
		n += l->listings[i]->settings.partitions > 0 ? l->listings[i]->settings.partitions
							     : 1;
	return n;
}

static void insert_added(struct leaders *l, struct task **added, size_t n_added)
{
	l->tasks = mem_resize(l->tasks, l->n_tasks + n_added + 1, sizeof(*l->tasks));
	memcpy(l->tasks + l->n_tasks, added, n_added * sizeof(*added));
	l->n_tasks += n_added;
	transactions_reserve(&l->transactions, l->n_tasks);
	reads_reserve(&l->reads, l->n_tasks);
	sort_pointers(l->tasks, l->n_tasks, compare_tasks);
}

/* Makes the elections match the listings and the numbers in force. */
static void expand(struct leaders *l)
{
	struct task **added = mem_calloc(most_tasks(l) + 1, sizeof(*added));
	size_t n_added = 0;

	for (size_t i = 0; i < l->n_tasks; i++) {
		l->tasks[i]->withdrawn = true;
		l->tasks[i]->listing = NULL;
	}
	for (size_t i = 0; i < l->n_listings; i++)
		expand_one(l->listings[i], added, &n_added);
	for (size_t i = 0; i < l->n_tasks; i++) {
		struct task *t = l->tasks[i];
		if (!t->withdrawn)
			continue;
		keep_own(t);
		/*
		 * A withdrawn partition leaves the draft. A task of a spread group stays: others
		 * may have it.
		 */
		if (t->contest.partitions > 0)
			candidates_configure(t, false);
	}
	insert_added(l, added, n_added);
	tasks_index(l);
	if (session_is_up(l->session)) {
		for (size_t i = 0; i < n_added; i++)
			leaders_step(added[i],
				     &(struct election_event){
					     .type = ELECTION_UP,
					     .up_timeout_ms = session_told_timeout(l->session)});
	}
	for (size_t i = 0; i < n_added; i++) {
		inheritance_task_added(added[i]);
		l->handlers.added(l->handlers.arg, added[i]);
	}
	free(added);
	struct member **all = l->registry->fleet.by_version;
	for (size_t i = 0; i < l->registry->fleet.n_members; i++)
		disagreement_count(l->published, l->digests, l->n_published, all[i],
				   i > 0 ? all[i - 1] : NULL);
	candidates_changed(l);
	tasks_drop_gone(l);
	int64_t now = host_now_ms(l->session->host);
	leaders_wake(l, now + 1000, now);
}

void tasks_apply(struct leaders *l, const struct node_timing *timing,
		 const struct task_settings *tasks, size_t n)
{
	if (timing->yield_delay_ms < l->timing.yield_delay_ms)
		inheritance_promised(l, host_now_ms(l->session->host) + leaders_promise_most(l));
	l->timing = *timing;
	listings_set(l, tasks, n);
	expand(l);
	listings_drop_old(l);
	partitions_advance(l);
}

void tasks_expand(struct leaders *l)
{
	bool *other = mem_calloc(l->n_listings + 1, sizeof(*other)), any = false;
	unsigned in_force;

	for (size_t i = 0; !l->leaving && i < l->n_listings; i++) {
		const struct listing *listing = l->listings[i];
		enum partitions_state state = partitions_judge(l, listing, &in_force);
		other[i] = state != listing->state || in_force != listing->in_force;
		any |= other[i];
	}
	if (any)
		expand(l);
	for (size_t i = 0; any && i < l->n_listings; i++)
		if (other[i])
			l->handlers.listing(l->handlers.arg, l->listings[i]);
	free(other);
}

struct task *tasks_find(const struct leaders *l, const char *name, size_t len)
{
	char text[NAME_ELECTION_MAX + 1];

	if (len > NAME_ELECTION_MAX || memchr(name, '\0', len))
		return NULL;
	memcpy(text, name, len);
	text[len] = '\0';
	struct task *t = tasks_find_any(l, text);
	return t && (!t->withdrawn || l->leaving) ? t : NULL;
}

bool tasks_have(const void *l, const char *name)
{
	return tasks_find(l, name, strlen(name)) != NULL;
}

void tasks_withdraw(struct leaders *l)
{
	l->leaving = true;
	for (size_t i = 0; i < l->n_tasks; i++)
		l->tasks[i]->withdrawn |= l->tasks[i]->holds == 0;
	tasks_index(l);
	candidates_changed(l);
}

void tasks_done(struct leaders *l)
{
	for (size_t i = 0; i < l->n_tasks; i++)
		task_free(l->tasks[i]);
	free(l->tasks);
	free(l->names);
	groups_done(l);
	free(l->published);
	free(l->keys);
	free(l->digests);
	free(l->groups);
	free(l->renamed);
	free(l->splits);
	free(l->queues);
	listings_done(l);
	ids_done(&l->ids);
}
