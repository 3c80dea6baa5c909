/* The keys of a task about its schedule: when it is due, and what is run then, as whom. */
#ifndef ZKLEADER_CONFIG_KEYS_SCHEDULE_CONFIG_H
#define ZKLEADER_CONFIG_KEYS_SCHEDULE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/keys/command_config.h"
#include "config/keys/zone_file.h"
#include "config/text/settings.h"
#include "core/election/task_settings.h"
#include "core/time/owed.h"
#include "core/time/schedule.h"

#define SCHEDULE_WINDOW_MAX_MS	(INT64_C(30) * 24 * 3600 * 1000)
#define SCHEDULE_SPLAY_MAX_MS	(INT64_C(24) * 3600 * 1000)
#define SCHEDULE_TIMEOUT_MIN_MS 1000
#define SCHEDULE_RETRIES_MAX	100

extern const char
	*const schedule_catch_ups[]; /* the words for enum owed_catch_up; NULL ends them */

struct schedule_config {
	char *text;
	struct schedule schedule;
	char *timezone;		/* as the task names it; NULL: that of the main file */
	struct zone_file *zone; /* the one in use; owned reference */
	struct command_config command;
	char *user;
	enum owed_catch_up catch_up;
	int64_t window_ms, splay_ms;
	int64_t timeout_ms; /* 0: none */
	int64_t retries, retry_delay_ms;
	struct task_schedule told; /* the node's part; borrowed from the fields above */
};

/* Checks what the table of keys cannot; adds a problem for each bad value. */
void schedule_config_check(const struct settings *s, const struct section *section,
			   struct problems *problems);
/*
 * Whether the section takes a default of the key: without a schedule, none that means nothing then.
 */
bool schedule_config_takes(const struct settings *s, const struct section *section,
			   const char *key);
/*
 * Makes a schedule from a section without a problem; for the caller to free. NULL: the section has
 * no schedule; copy, equal and free below take this NULL. The zone is still to be set.
 */
struct schedule_config *schedule_config_take(const struct settings *s,
					     const struct section *section);
/* Takes a reference of its own to the zone. */
void schedule_config_set_zone(struct schedule_config *c, struct zone_file *zone);
struct schedule_config *schedule_config_copy(const struct schedule_config *c);
bool schedule_config_equal(const struct schedule_config *a, const struct schedule_config *b);
void schedule_config_free(struct schedule_config *c);

#endif
