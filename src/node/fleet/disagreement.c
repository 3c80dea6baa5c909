#include "node/fleet/disagreement.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/text/names.h"
#include "core/fleet/identity.h"
#include "core/fleet/rank.h"

uint32_t disagreement_digest(const struct task_settings *s)
{
	return rank_digest(&(struct rank_keys){.position = s->rank_position,
					       .min_version = s->min_version,
					       .version_policy = s->version_policy,
					       .partitions = s->partitions,
					       .limit = s->partition_limit,
					       .spread = s->spread});
}

/* A record without this field, of an older sidecar or another program, counts as agreeing. */
static bool says_its_keys(const struct worker *w)
{
	return w->scheme != 0 && w->n_tasks > 0 && w->n_digests == w->n_tasks;
}

bool disagreement_about(const struct task_settings *task, const struct member *m)
{
	const struct worker *w = m->worker;

	if (!says_its_keys(w))
		return false;
	const char *const *at =
		bsearch(&task->name, w->tasks, w->n_tasks, sizeof(*w->tasks), names_compare);
	return at && (w->scheme != RANK_SCHEME ||
		      w->digests[at - (const char *const *)w->tasks] != disagreement_digest(task));
}

/* Goes along both lists, which are sorted. */
void disagreement_count(const char *const *names, const uint32_t *digests, size_t n,
			struct member *m, const struct member *counted)
{
	const struct worker *w = m->worker;
	const char *first = NULL;

	m->n_disagreements = 0;
	if (counted && counted->worker->tasks == w->tasks && counted->worker->scheme == w->scheme &&
	    counted->n_disagreements == 0)
		return;
	for (size_t i = 0, j = 0; says_its_keys(w) && i < n && j < w->n_tasks;) {
		int order = strcmp(names[i], w->tasks[j]);
		if (order == 0 && (w->scheme != RANK_SCHEME || w->digests[j] != digests[i]) &&
		    m->n_disagreements++ == 0)
			first = names[i];
		if (order <= 0)
			i++;
		if (order >= 0)
			j++;
	}
	if (first)
		log_warning(
			"a worker goes by other keys", LOG_STR("id", m->worker->id),
			LOG_STR("hostname", m->worker->hostname), LOG_STR("node", identity_name(m)),
			LOG_INT("tasks", m->n_disagreements), LOG_STR("task", first),
			LOG_STR("remedy", "the same rank-position, min-version, version-policy, "
					  "partitions, partition-limit and spread on all "
					  "servers"));
}
