/* The keys of a queue of jobs: who does them, how many at a time, and how often they are tried. */
#ifndef ZKLEADER_CONFIG_KEYS_QUEUE_CONFIG_H
#define ZKLEADER_CONFIG_KEYS_QUEUE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/keys/command_config.h"
#include "config/text/settings.h"
#include "core/fleet/version.h"
#include "core/queue/queue_settings.h"

#define QUEUE_RATE_MAX	    1000000
#define QUEUE_RATE_MIN_MS   100
#define QUEUE_RATE_MAX_MS   (INT64_C(30) * 24 * 3600 * 1000)
#define QUEUE_BACKOFF_MAX   (INT64_C(30) * 24 * 3600 * 1000)
#define QUEUE_TIMEOUT_MIN   INT64_C(100)
#define QUEUE_TIMEOUT_MAX   (INT64_C(30) * 24 * 3600 * 1000)
#define QUEUE_KEEP_MAX	    (INT64_C(90) * 24 * 3600 * 1000)
#define QUEUE_CALLBACKS_MAX 32 /* entries of callback-allow */

struct queue_config {
	struct queue_settings told;
	struct command_config
		command; /* none: a url is posted to, or this host only takes submits */
	char *url;
	char *rate; /* as it is written; NULL: none */
	char *user;
	char **callback_allow;
	size_t n_callback_allow;
};

/* The sections `queue "NAME" { }` of a task file. */
extern const struct settings_form queue_config_form;

/* Checks what the table of keys cannot; adds a problem for each bad value. */
void queue_config_check(const struct settings *s, const struct section *section,
			struct problems *problems);
/* Makes a queue from a section without a problem; for the caller to free. */
struct queue_config *queue_config_take(const struct settings *s, const struct section *section);
enum version_policy queue_config_policy(const struct settings *s, const struct section *section);
/* These accept NULL: a task has no queue. */
struct queue_config *queue_config_copy(const struct queue_config *c);
bool queue_config_equal(const struct queue_config *a, const struct queue_config *b);
void queue_config_free(struct queue_config *c);

#endif
