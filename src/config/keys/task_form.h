/*
 * The sections `task "NAME" { }` of a task file: their keys, and the checks that the table of keys
 * cannot make.
 */
#ifndef ZKLEADER_CONFIG_KEYS_TASK_FORM_H
#define ZKLEADER_CONFIG_KEYS_TASK_FORM_H

#include <stdint.h>

#include "config/text/settings.h"

#define TASK_PARTITIONS_MIN 2
#define TASK_HISTORY_MAX    10000
/* A tick is named by its second, so it lasts a whole number of seconds. */
#define TASK_TICK_MIN_MS  INT64_C(1000)
#define TASK_TICK_MAX_MS  (INT64_C(24) * 3600 * 1000)
#define TASK_WAIT_MAX_MS  (INT64_C(24) * 3600 * 1000)
#define TASK_HOLD_MIN_MS  INT64_C(1000)
#define TASK_HOLD_MAX_MS  (INT64_C(30) * 24 * 3600 * 1000)
#define TASK_ALERT_MIN_MS INT64_C(1000)
#define TASK_ALERT_MAX_MS (INT64_C(400) * 24 * 3600 * 1000)

extern const struct settings_form task_form;

/* Adds a problem for each value of a task alone that is bad. */
void task_form_check(const struct settings *s, const struct section *section,
		     struct problems *problems);

#endif
