#include "control/answer/disagreements.h"

#include "control/ask/subject.h"
#include "core/fleet/identity.h"
#include "node/election/partitions.h"
#include "node/fleet/disagreement.h"

#define SHOWN_MAX 100

struct differences {
	struct pack *p; /* NULL: only counts the differences */
	size_t n;
};

static void add_difference(struct differences *d, const char *task, const struct member *m,
			   const char *why)
{
	if (d->n++ >= SHOWN_MAX || !d->p)
		return;
	pack_map(d->p, 5);
	pack_kv_str(d->p, "task", task);
	pack_kv_str(d->p, "id", m->worker->id);
	pack_kv_str(d->p, "hostname", m->worker->hostname);
	pack_kv_str(d->p, "node", identity_name(m));
	pack_kv_str(d->p, "why", why);
}

static bool is_plain(const struct listing *listing)
{
	return partitions_state(listing) == PARTITIONS_PLAIN;
}

/*
 * Adds the tasks for which the member has other rules or keys. add_partitions() adds those for
 * which it has another number of partitions.
 */
static void add_keys(struct differences *d, const struct leaders *l, const struct member *m)
{
	char why[PARTITIONS_TEXT_MAX];

	for (size_t i = 0; m->n_disagreements > 0 && i < l->n_listings && d->n < SHOWN_MAX; i++) {
		const struct listing *listing = l->listings[i];
		if (listing_is_published(listing) && disagreement_about(&listing->settings, m) &&
		    (is_plain(listing) || !partitions_differ(listing, m, why)))
			add_difference(d, listing->name, m, NULL);
	}
}

/* Adds the members that have another number of partitions for the task. */
static void add_partitions(struct differences *d, const struct node *s, const struct listing *l)
{
	const struct fleet *f = &s->registry.fleet;
	char why[PARTITIONS_TEXT_MAX];

	for (size_t i = 0; i < f->n_members && d->n < SHOWN_MAX; i++)
		if (partitions_differ(l, f->by_id[i], why))
			add_difference(d, l->name, f->by_id[i], why);
}

/* Adds the workers whose configuration of a task differs from ours, up to the number shown. */
static void each_difference(struct differences *d, const struct node *s)
{
	const struct fleet *f = &s->registry.fleet;
	const struct leaders *l = &s->leaders;

	for (size_t i = 0; i < f->n_members && d->n < SHOWN_MAX; i++)
		add_keys(d, l, f->by_id[i]);
	for (size_t i = 0; i < l->n_listings; i++)
		if (!is_plain(l->listings[i]))
			add_partitions(d, s, l->listings[i]);
}

void disagreements_pack(struct pack *p, const struct node *s)
{
	struct differences counted = {NULL, 0}, packed = {p, 0};

	each_difference(&counted, s);
	pack_str(p, "disagreements");
	pack_array(p, counted.n);
	each_difference(&packed, s);
}
