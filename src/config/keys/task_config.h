/* The configuration of one task or queue, as values. */
#ifndef ZKLEADER_CONFIG_KEYS_TASK_CONFIG_H
#define ZKLEADER_CONFIG_KEYS_TASK_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/worker.h"
#include "config/keys/command_config.h"
#include "config/keys/health_config.h"
#include "config/keys/queue_config.h"
#include "config/keys/schedule_config.h"
#include "core/election/task_settings.h"

/* A task, or a queue of jobs, which is led as a task is. */
struct task_config {
	char *name;
	char *description; /* NULL: none */
	enum election_yield yield;
	int rank_position;  /* 0..4, -1: a ranking of its own */
	char *min_version;  /* NULL: none */
	char *renamed_from; /* NULL: it never had another name */
	enum version_policy version_policy;
	unsigned partitions; /* 0: not set; so the next two */
	unsigned partition_limit;
	unsigned partition_jobs;
	char *spread; /* a group's name, NULL: none */
	int64_t tick_ms;
	int64_t wait_ms;
	enum task_on_crash on_crash;
	enum task_overlap overlap;
	int64_t hold_max_ms;
	int64_t alert_after_ms; /* 0: never */
	char *ping_url;		/* NULL: none */
	char **users;		/* users who may run it; for a queue, its submitters */
	size_t n_users;
	int users_line; /* 0: the key is not set */
	int history;
	struct schedule_config *schedule; /* NULL: none */
	struct queue_config *queue;	  /* NULL: a task */
	struct health_config health;
	char *keys; /* marks of its keys, for other hosts to compare: see key_marks.h */
	char *file; /* file that it comes from, as shown to people */
	int line;
	bool index;
	bool keep_output; /* of `zkleader run`, for the record */
};

struct task_config *task_config_copy(const struct task_config *t);
void task_config_free(struct task_config *t);
/* The word for it in messages: "task" or "queue". */
const char *task_config_kind(const struct task_config *t);
/* The user as whom a runner on this host starts its runs or jobs; NULL: no runner does. */
const char *task_config_user(const struct task_config *t);
/* The command that a runner starts; NULL: there is none. */
const struct command_config *task_config_command(const struct task_config *t);
/* The number of the task's elections: its partitions, or one. */
size_t task_config_elections(const struct task_config *t);
/* Whether two tasks are the same, even if their files are not. */
bool task_config_equal(const struct task_config *a, const struct task_config *b);

#endif
