#include "node/election/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "base/text/name.h"
#include "core/time/schedule.h"
#include "node/election/leaders.h"
#include "wire/reader.h"

static void listing_free(struct listing *listing)
{
	free(listing->making.problem);
	free(listing);
}

static size_t size_of(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static const char *put(char **at, const char *text)
{
	char *to = *at;
	size_t n = size_of(text);

	if (n == 0)
		return NULL;
	memcpy(to, text, n);
	*at += n;
	return to;
}

/* A listing, its elections and its texts share one allocation, as there may be ten thousand. */
static struct listing *listing_new(struct leaders *l, const struct task_settings *settings)
{
	size_t n = settings->partitions > 0 ? settings->partitions : 1;
	struct listing *listing =
		mem_calloc(1, sizeof(*listing) + n * sizeof(struct task *) +
				      size_of(settings->name) + size_of(settings->description) +
				      size_of(settings->min_version) + size_of(settings->spread) +
				      size_of(settings->renamed_from) + size_of(settings->keys));
	char *texts = (char *)&listing->tasks[n];

	listing->leaders = l;
	listing->settings = *settings;
	listing->name = listing->settings.name = put(&texts, settings->name);
	listing->settings.description = put(&texts, settings->description);
	listing->settings.min_version = put(&texts, settings->min_version);
	listing->settings.spread = put(&texts, settings->spread);
	listing->settings.renamed_from = put(&texts, settings->renamed_from);
	listing->settings.keys = put(&texts, settings->keys);
	return listing;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct listing *const *)a)->name, (*(struct listing *const *)b)->name);
}

void listings_drop_old(struct leaders *l)
{
	for (size_t i = 0; i < l->n_old_listings; i++)
		listing_free(l->old_listings[i]);
	free(l->old_listings);
	l->old_listings = NULL;
	l->n_old_listings = 0;
}

void listings_set(struct leaders *l, const struct task_settings *tasks, size_t n)
{
	listings_drop_old(l);
	l->old_listings = l->listings;
	l->n_old_listings = l->n_listings;
	l->listings = mem_calloc(n + 1, sizeof(struct listing *));
	l->n_listings = n;
	for (size_t i = 0; i < n; i++)
		l->listings[i] = listing_new(l, &tasks[i]);
	sort_pointers(l->listings, n, by_name);
}

void listings_done(struct leaders *l)
{
	listings_set(l, NULL, 0);
	listings_drop_old(l);
	free(l->listings);
}

static int by_start(const void *name, const void *listing)
{
	const struct reader_text *key = name;
	const char *other = (*(struct listing *const *)listing)->name;
	int order = strncmp(key->data, other, key->len);

	return order ? order : -(other[key->len] != '\0');
}

struct listing *listings_find(const struct leaders *l, const char *name, size_t len)
{
	const struct reader_text key = {name, len};
	struct listing **at = NULL;

	/* A client may send anything. */
	if (len <= NAME_TASK_MAX && !memchr(name, '\0', len) && l->n_listings > 0)
		at = bsearch(&key, l->listings, l->n_listings, sizeof(*l->listings), by_start);
	return at ? *at : NULL;
}

struct listing *listings_find_of(const struct leaders *l, const char *name)
{
	size_t len = strlen(name);

	(void)name_partition_parse(name, len, &len, NULL);
	return listings_find(l, name, len);
}

int64_t listing_due_ms(struct listing *listing, int64_t wall_ms)
{
	const struct task_schedule *c = listing->settings.schedule;
	int64_t at;

	if (!c)
		return 0;
	if (wall_ms >= listing->due_from_ms && wall_ms < listing->due_ms)
		return listing->due_ms;
	listing->due_from_ms = wall_ms;
	listing->due_ms = schedule_next(c->schedule, c->zone, wall_ms / 1000, &at) ? at * 1000 : 0;
	return listing->due_ms;
}

bool listing_is_published(const struct listing *listing)
{
	const struct queue_settings *q = listing->settings.queue;
	bool wanted = !listing->leaders->leaving;

	if (q && q->slots == 0)
		return false; /* it takes submits alone */
	for (size_t i = 0; i < listing->n; i++)
		wanted |= !listing->tasks[i]->withdrawn;
	return wanted && listing->state != PARTITIONS_REFUSED;
}

struct contest listing_contest(const struct listing *listing)
{
	return (struct contest){.task = listing->name,
				.partitions = listing->settings.partitions,
				.min_version = listing->settings.min_version,
				.rank_position = listing->settings.rank_position,
				.version_policy = listing->settings.version_policy};
}

size_t listing_index(const struct listing *listing)
{
	return listing->n > 0 ? listing->tasks[0]->index : SIZE_MAX;
}
