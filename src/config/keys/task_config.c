#include "config/keys/task_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/text/words.h"

void task_config_free(struct task_config *t)
{
	if (!t)
		return;
	words_free(t->users, t->n_users);
	free(t->name);
	free(t->description);
	free(t->min_version);
	free(t->renamed_from);
	free(t->spread);
	free(t->ping_url);
	schedule_config_free(t->schedule);
	queue_config_free(t->queue);
	health_config_done(&t->health);
	free(t->keys);
	free(t->file);
	free(t);
}

struct task_config *task_config_copy(const struct task_config *t)
{
	struct task_config *copy = mem_alloc(sizeof(*copy));

	*copy = *t;
	copy->name = mem_strdup(t->name);
	copy->description = word_copy(t->description);
	copy->min_version = word_copy(t->min_version);
	copy->renamed_from = word_copy(t->renamed_from);
	copy->spread = word_copy(t->spread);
	copy->ping_url = word_copy(t->ping_url);
	copy->users = words_copy(t->users, t->n_users);
	copy->file = mem_strdup(t->file);
	copy->keys = word_copy(t->keys);
	copy->schedule = schedule_config_copy(t->schedule);
	copy->queue = queue_config_copy(t->queue);
	health_config_copy(&copy->health, &t->health);
	return copy;
}

size_t task_config_elections(const struct task_config *t)
{
	return t->partitions ? t->partitions : 1;
}

static bool same_spread(const struct task_config *a, const struct task_config *b)
{
	return a->partitions == b->partitions && a->partition_limit == b->partition_limit &&
	       a->partition_jobs == b->partition_jobs && word_same(a->spread, b->spread);
}

bool task_config_equal(const struct task_config *a, const struct task_config *b)
{
	return words_same(a->users, a->n_users, b->users, b->n_users) &&
	       word_same(a->name, b->name) && word_same(a->description, b->description) &&
	       a->yield == b->yield && a->rank_position == b->rank_position &&
	       word_same(a->min_version, b->min_version) &&
	       word_same(a->renamed_from, b->renamed_from) &&
	       a->version_policy == b->version_policy && same_spread(a, b) &&
	       a->tick_ms == b->tick_ms && a->wait_ms == b->wait_ms && a->on_crash == b->on_crash &&
	       a->overlap == b->overlap && a->index == b->index &&
	       a->keep_output == b->keep_output && a->hold_max_ms == b->hold_max_ms &&
	       a->alert_after_ms == b->alert_after_ms && word_same(a->ping_url, b->ping_url) &&
	       a->history == b->history && schedule_config_equal(a->schedule, b->schedule) &&
	       queue_config_equal(a->queue, b->queue) &&
	       health_config_equal(&a->health, &b->health);
}

const char *task_config_kind(const struct task_config *t)
{
	return t->queue ? "queue" : "task";
}

const char *task_config_user(const struct task_config *t)
{
	if (t->queue)
		return t->queue->told.slots > 0 ? t->queue->user : NULL;
	return t->schedule ? t->schedule->user : NULL;
}

const struct command_config *task_config_command(const struct task_config *t)
{
	const struct command_config *c = t->queue      ? &t->queue->command
					 : t->schedule ? &t->schedule->command
						       : NULL;

	return c && c->n_words > 0 ? c : NULL;
}
