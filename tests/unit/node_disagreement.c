/* Workers that go by other keys than this node: by their records, and only where those say it. */
#include "node_site.h"

#include "core/fleet/rank.h"
#include "node/fleet/disagreement.h"

static void begin(void)
{
	site_begin();
	configures("a", "b", "c", NULL);
}

TestSuite(disagreement, .init = begin);

/* A worker with these tasks, of which it goes by another rank-position for the first n_others. */
static struct worker *worker_with(size_t n_others)
{
	static const char *const names_of_tasks[] = {"a", "b", "x"};
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "w");
	w->scheme = RANK_SCHEME;
	worker_set_tasks(w, names_of_tasks, 3);
	w->n_digests = 3;
	w->digests = calloc(3, sizeof(*w->digests));
	for (size_t i = 0; i < 3; i++)
		w->digests[i] = rank_digest(&(struct rank_keys){.position = i < n_others ? 1 : 0});
	return w;
}

static const struct listing *listing_of(const char *name)
{
	return listings_find(&leaders, name, strlen(name));
}

static size_t count(struct worker *w)
{
	struct member m = {.worker = w};

	disagreement_count(leaders.published, leaders.digests, leaders.n_published, &m, NULL);
	return m.n_disagreements;
}

Test(disagreement, tasks_that_both_have_are_compared)
{
	for (size_t n = 0; n <= 3; n++) {
		struct worker *w = worker_with(n);
		struct member m = {.worker = w};
		cr_expect_eq(count(w), n < 2 ? n : 2, "%zu: \"x\" is not ours", n);
		cr_expect_eq(disagreement_about(&listing_of("a")->settings, &m), n > 0);
		cr_expect_eq(disagreement_about(&listing_of("b")->settings, &m), n > 1);
		cr_expect_not(disagreement_about(&listing_of("c")->settings, &m),
			      "it does not list it");
		worker_free(w);
	}
}

Test(disagreement, other_rules_are_another_order_for_every_task)
{
	struct worker *w = worker_with(0);

	w->scheme = RANK_SCHEME + 1;
	cr_expect_eq(count(w), 2);
	worker_free(w);
}

Test(disagreement, one_that_was_counted_vouches_for_who_shares_its_list_and_rules)
{
	struct worker *w = worker_with(2);
	struct worker *other = worker_new();
	struct member counted = {.worker = other}, m = {.worker = w};

	worker_adopt(other, w);
	other->scheme = RANK_SCHEME;
	disagreement_count(leaders.published, leaders.digests, leaders.n_published, &m, &counted);
	cr_expect_eq(m.n_disagreements, 0, "its word is taken");
	counted.n_disagreements = 2;
	disagreement_count(leaders.published, leaders.digests, leaders.n_published, &m, &counted);
	cr_expect_eq(m.n_disagreements, 2, "what it disagrees about is counted, and logged, again");
	counted.n_disagreements = 0;
	other->scheme = RANK_SCHEME + 1;
	disagreement_count(leaders.published, leaders.digests, leaders.n_published, &m, &counted);
	cr_expect_eq(m.n_disagreements, 2, "it goes by other rules");
	struct worker *apart = worker_with(2);
	counted.worker = apart;
	disagreement_count(leaders.published, leaders.digests, leaders.n_published, &m, &counted);
	cr_expect_eq(m.n_disagreements, 2, "it lists for itself");
	worker_free(apart);
	worker_free(other);
	worker_free(w);
}

Test(disagreement, a_record_that_does_not_say_is_given_credit)
{
	struct worker *w = worker_with(3);

	w->scheme = 0;
	cr_expect_eq(count(w), 0, "an older sidecar");
	w->scheme = RANK_SCHEME;
	w->n_digests = 2;
	cr_expect_eq(count(w), 0, "it cannot be told which is whose");
	worker_free(w);
}

Test(disagreement, each_key_that_decides_is_in_the_digest)
{
	struct listing l = {.settings = settings_of("a")};
	uint32_t plain = disagreement_digest(&l.settings);
	const struct task_settings as_before = l.settings;

#define differs(key, value)                                                              \
	l.settings.key = value;                                                          \
	cr_expect_neq(disagreement_digest(&l.settings), plain, "%s is not in it", #key); \
	l.settings = as_before
	differs(rank_position, 1);
	differs(min_version, "1.0");
	differs(version_policy, VERSION_OLDEST);
	differs(partitions, 8);
	differs(partition_limit, 2);
	differs(spread, "group");
	l.settings.history = 1;
	cr_expect_eq(disagreement_digest(&l.settings), plain, "it decides nothing of this");
}
