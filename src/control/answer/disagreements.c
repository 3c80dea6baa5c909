/*
 * The keys in which hosts' files differ. Hosts whose files are the same are one variant, and there
 * are few: each is compared once.
 */
#include "control/answer/disagreements.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/marks.h"
#include "base/text/names.h"
#include "config/keys/key_marks.h"
#include "config/tasks/taskfile.h"
#include "core/fleet/identity.h"
#include "node/election/partitions.h"
#include "node/fleet/disagreement.h"

#define VARIANTS_MAX 16 /* of more hosts whose files all differ the rest is left out */
#define KEYS_SHOWN   64
#define TASKS_SHOWN  100
#define OTHER_KEYS   "who leads" /* of a worker that tells no more of its keys than that */
#define NEWER_KEY    "a key that this release does not know"

struct variant {
	const struct member *member; /* the first of them */
	const struct worker *worker; /* its record */
	size_t workers;
};

/* A key in which variants differ. */
struct difference {
	const char *key;
	size_t count;
	const char *tasks[TASKS_SHOWN];
	bool has[VARIANTS_MAX]; /* the variant lists one of the tasks */
	bool differs[VARIANTS_MAX][VARIANTS_MAX];
	size_t group_of[VARIANTS_MAX]; /* the variant that stands for its group */
};

struct comparison {
	const struct node *node;
	struct variant variants[VARIANTS_MAX];
	size_t n_variants;
	size_t *variant_of; /* of each member of the fleet, by id; VARIANTS_MAX: none */
	struct difference *list;
	size_t n;
};

/* --- variants ------------------------------------------------------------------ */

static bool same_files(const struct worker *a, const struct worker *b)
{
	return (a->tasks == b->tasks && a->keys == b->keys && a->digests == b->digests) ||
	       (names_same((const char *const *)a->tasks, a->n_tasks, (const char *const *)b->tasks,
			   b->n_tasks) &&
		names_same((const char *const *)a->keys, a->n_keys, (const char *const *)b->keys,
			   b->n_keys) &&
		a->scheme == b->scheme && a->n_digests == b->n_digests &&
		(a->n_digests == 0 ||
		 memcmp(a->digests, b->digests, a->n_digests * sizeof(*a->digests)) == 0));
}

static void find_variants(struct comparison *c)
{
	const struct fleet *f = &c->node->registry.fleet;

	c->variant_of = mem_calloc(f->n_members + 1, sizeof(*c->variant_of));
	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		size_t v = 0;

		if (w->unlisted) { /* it may be of any */
			c->variant_of[i] = VARIANTS_MAX;
			continue;
		}
		while (v < c->n_variants && !same_files(c->variants[v].worker, w))
			v++;
		c->variant_of[i] = v;
		if (v == VARIANTS_MAX)
			continue;
		if (v == c->n_variants) {
			c->variants[c->n_variants].member = f->by_id[i];
			c->variants[c->n_variants++].worker = w;
		}
		c->variants[v].workers++;
	}
}

/* --- differences ---------------------------------------------------------------- */

/* Keys that decide who leads come first. */
static size_t weight(const char *key)
{
	static const char *const deciding[] = {OTHER_KEYS,	"version-policy", "min-version",
					       "rank-position", "spread",	  "partitions"};
	size_t n = sizeof(deciding) / sizeof(deciding[0]), i = 0;

	while (i < n && strcmp(deciding[i], key) != 0)
		i++;
	return i;
}

static struct difference *difference_of(struct comparison *c, const char *key)
{
	size_t at = 0;

	while (at < c->n && strcmp(c->list[at].key, key) != 0)
		at++;
	if (at == KEYS_SHOWN)
		return NULL;
	if (at == c->n)
		c->list[c->n++].key = key;
	return &c->list[at];
}

/* The values of a key of a task: of each variant a mark, "" for the default; NULL: not known. */
static void add_difference(struct comparison *c, const char *key, const char *task,
			   const char *const values[VARIANTS_MAX])
{
	struct difference *d = difference_of(c, key);

	if (!d)
		return;
	if (d->count < TASKS_SHOWN)
		d->tasks[d->count] = task;
	d->count++;
	for (size_t a = 0; a < c->n_variants; a++) {
		d->has[a] |= values[a] != NULL;
		for (size_t b = 0; b < c->n_variants; b++)
			d->differs[a][b] |= values[a] && values[b] &&
					    strncmp(values[a], values[b], MARK_LEN) != 0;
	}
}

/* The mark of a key in a text of them; "": it has its default. */
static const char *mark_of(const char *marks, const char *name)
{
	for (; *marks; marks += MARK_LEN)
		if (memcmp(marks, name, MARK_NAME) == 0)
			return marks;
	return "";
}

static bool are_equal(const struct comparison *c, const char *const values[VARIANTS_MAX])
{
	const char *first = NULL;

	for (size_t v = 0; v < c->n_variants; v++) {
		if (values[v] && first && strncmp(values[v], first, MARK_LEN) != 0)
			return false;
		first = values[v] ? values[v] : first;
	}
	return true;
}

/* Compares each key that a variant has marked; one that several have is compared once. */
static void compare_marks(struct comparison *c, const char *task,
			  const char *const marks[VARIANTS_MAX])
{
	for (size_t v = 0; v < c->n_variants; v++) {
		for (const char *m = marks[v]; m && *m; m += MARK_LEN) {
			const char *values[VARIANTS_MAX] = {NULL};
			bool done = false;

			for (size_t u = 0; u < v; u++)
				done |= marks[u] && *mark_of(marks[u], m);
			for (size_t u = 0; u < c->n_variants; u++)
				values[u] = marks[u] ? mark_of(marks[u], m) : NULL;
			const char *key = taskfile_key_of(m);
			if (!done && !are_equal(c, values))
				add_difference(c, key ? key : NEWER_KEY, task, values);
		}
	}
}

/* A worker that has no marks, of an older release, tells a digest of what decides who leads. */
static void compare_digests(struct comparison *c, const char *task, const uint32_t *digests,
			    const bool *has)
{
	static const char *const words[] = {"a", "b", "c", "d", "e", "f", "g", "h",
					    "i", "j", "k", "l", "m", "n", "o", "p"};
	const char *values[VARIANTS_MAX] = {NULL};
	bool older = false;

	for (size_t v = 0; v < c->n_variants; v++) {
		size_t same = 0;

		if (!has[v])
			continue;
		while (same < v && (!has[same] || digests[same] != digests[v]))
			same++;
		values[v] = words[same];
		older |= c->variants[v].worker->n_keys == 0;
	}
	if (older && !are_equal(c, values))
		add_difference(c, OTHER_KEYS, task, values);
}

static void compare_task(struct comparison *c, const char *task)
{
	const char *marks[VARIANTS_MAX] = {NULL};
	uint32_t digests[VARIANTS_MAX] = {0};
	bool has[VARIANTS_MAX] = {false}, differ = false;

	for (size_t v = 0; v < c->n_variants; v++) {
		const struct worker *w = c->variants[v].worker;
		char *const *at = w->n_tasks == 0 ? NULL
						  : bsearch(&task, w->tasks, w->n_tasks,
							    sizeof(*w->tasks), names_compare);

		if (at && w->n_keys == w->n_tasks)
			marks[v] = w->keys[at - w->tasks];
		has[v] = at && w->scheme != 0 && w->n_digests == w->n_tasks;
		if (has[v])
			digests[v] = w->digests[at - w->tasks] ^ (uint32_t)w->scheme;
		differ |= v > 0 && marks[v] && marks[v - 1] && strcmp(marks[v], marks[v - 1]) != 0;
		differ |= !marks[v] || (v > 0 && !marks[v - 1]);
	}
	if (!differ)
		return;
	compare_marks(c, task, marks);
	compare_digests(c, task, digests, has);
}

/* Each task once: by the first variant that lists it. */
static void compare_tasks(struct comparison *c)
{
	for (size_t v = 0; c->n_variants > 1 && v < c->n_variants; v++) {
		const struct worker *w = c->variants[v].worker;

		for (size_t i = 0; i < w->n_tasks; i++) {
			bool done = false;
			for (size_t u = 0; u < v && !done; u++)
				done = names_has(c->variants[u].worker->tasks,
						 c->variants[u].worker->n_tasks, w->tasks[i]);
			if (!done)
				compare_task(c, w->tasks[i]);
		}
	}
}

static bool has_task(const struct difference *d, const char *task)
{
	for (size_t i = 0; i < d->count && i < TASKS_SHOWN; i++)
		if (strcmp(d->tasks[i], task) == 0)
			return true;
	return false;
}

/*
 * A worker with another number of partitions than the one in force, or that knows none, does not
 * list the task.
 */
static void compare_partitions(struct comparison *c)
{
	const struct leaders *l = &c->node->leaders;
	char why[PARTITIONS_TEXT_MAX];

	for (size_t i = 0; i < l->n_listings; i++) {
		const struct listing *listing = l->listings[i];
		const char *values[VARIANTS_MAX] = {NULL};

		if (partitions_state(listing) == PARTITIONS_PLAIN)
			continue;
		for (size_t v = 0; v < c->n_variants; v++) {
			const struct worker *w = c->variants[v].worker;
			if (partitions_differ(listing, c->variants[v].member, why))
				values[v] = "b";
			else if (worker_partitions(w, listing->name) > 0)
				values[v] = "a";
		}
		if (are_equal(c, values))
			continue;
		struct difference *d = difference_of(c, "partitions");
		if (d && !has_task(d, listing->name))
			add_difference(c, "partitions", listing->name, values);
	}
}

/* --- groups ------------------------------------------------------------------------ */

static size_t workers_of(const struct comparison *c, const struct difference *d, size_t group)
{
	size_t n = 0;

	for (size_t v = 0; v < c->n_variants; v++)
		n += d->has[v] && d->group_of[v] == group ? c->variants[v].workers : 0;
	return n;
}

/* Puts each variant into the group of the first one that differs from none in it. */
static void make_groups(const struct comparison *c, struct difference *d)
{
	for (size_t v = 0; v < c->n_variants; v++) {
		size_t group = 0;

		for (; group < v; group++) {
			bool fits = d->has[group] && d->group_of[group] == group;
			for (size_t u = 0; u < v && fits; u++)
				fits = d->group_of[u] != group || !d->differs[u][v];
			if (fits)
				break;
		}
		d->group_of[v] = group;
	}
}

static void pack_group(struct pack *p, const struct comparison *c, const struct difference *d,
		       size_t group)
{
	const struct fleet *f = &c->node->registry.fleet;

	pack_array(p, workers_of(c, d, group));
	for (size_t i = 0; i < f->n_members; i++) {
		size_t v = c->variant_of[i];
		if (v < VARIANTS_MAX && d->has[v] && d->group_of[v] == group)
			pack_str(p, identity_name(f->by_id[i]));
	}
}

/* The biggest group that is not packed yet; VARIANTS_MAX: none is left. */
static size_t biggest_left(const struct comparison *c, const struct difference *d,
			   const bool packed[VARIANTS_MAX])
{
	size_t best = VARIANTS_MAX;

	for (size_t v = 0; v < c->n_variants; v++)
		if (d->has[v] && d->group_of[v] == v && !packed[v] &&
		    (best == VARIANTS_MAX || workers_of(c, d, v) > workers_of(c, d, best)))
			best = v;
	return best;
}

static void pack_groups(struct pack *p, const struct comparison *c, const struct difference *d)
{
	bool packed[VARIANTS_MAX] = {false};
	size_t n = 0;

	for (size_t v = 0; v < c->n_variants; v++)
		n += d->has[v] && d->group_of[v] == v;
	pack_array(p, n);
	for (size_t v; (v = biggest_left(c, d, packed)) < VARIANTS_MAX; packed[v] = true)
		pack_group(p, c, d, v);
}

static int by_weight(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;
	size_t wx = weight(x->key), wy = weight(y->key);

	return wx != wy ? (wx > wy) - (wx < wy) : strcmp(x->key, y->key);
}

static void pack_difference(struct pack *p, const struct comparison *c, struct difference *d)
{
	size_t n = d->count < TASKS_SHOWN ? d->count : TASKS_SHOWN;

	make_groups(c, d);
	pack_map(p, 4);
	pack_kv_str(p, "key", d->key);
	pack_kv_uint(p, "count", d->count);
	pack_str(p, "tasks");
	pack_array(p, n);
	for (size_t i = 0; i < n; i++)
		pack_str(p, d->tasks[i]);
	pack_str(p, "groups");
	pack_groups(p, c, d);
}

void disagreements_pack(struct pack *p, const struct node *s)
{
	struct comparison c = {.node = s, .list = mem_calloc(KEYS_SHOWN, sizeof(*c.list))};

	find_variants(&c);
	compare_tasks(&c);
	compare_partitions(&c);
	if (c.n > 1)
		qsort(c.list, c.n, sizeof(*c.list), by_weight);
	pack_str(p, "disagreements");
	pack_array(p, c.n);
	for (size_t i = 0; i < c.n; i++)
		pack_difference(p, &c, &c.list[i]);
	free(c.variant_of);
	free(c.list);
}

bool disagreements_may_set(const struct worker *w, size_t at, const char *key)
{
	return w->n_keys != w->n_tasks || key_marks_have(w->keys[at], key);
}
