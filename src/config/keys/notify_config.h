/* Sections `notify "NAME" { }` of a task file: who is told of which events, and how. */
#ifndef ZKLEADER_CONFIG_KEYS_NOTIFY_CONFIG_H
#define ZKLEADER_CONFIG_KEYS_NOTIFY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/notice.h"
#include "config/text/settings.h"

#define NOTIFY_COMMAND_MAX (64 * 1024) /* bytes of a command, its words together */

#define NOTIFY_HEADERS_MAX 50	       /* in `headers`, and in a headers-file */
#define NOTIFY_HEADER_MAX  1000	       /* bytes of one */
#define NOTIFY_SECRET_MAX  (64 * 1024) /* bytes of a headers-file, and of a routing-key-file */

enum notify_template {
	NOTIFY_JSON,
	NOTIFY_SLACK,
	NOTIFY_ALERTMANAGER,
	NOTIFY_PAGERDUTY,
	NOTIFY_TEAMS
};

struct notify_config {
	char *name;
	unsigned events; /* bits: 1 << enum notice_event */
	char **tasks;	 /* patterns; none: all */
	size_t n_tasks;
	bool first; /* of failures in a row, only the first */
	char *url;  /* NULL: none */
	enum notify_template form;
	char **headers; /* "Name: value" */
	size_t n_headers;
	char *headers_file, *routing_key_file; /* their paths; NULL: none */
	char **command;			       /* NULL: none */
	size_t n_command;
	char *file; /* file that it stands in, as shown to people */
	int line;
};

struct notify_configs {
	struct notify_config *list; /* owned, as is all in it */
	size_t n;
};

extern const struct settings_form notify_config_form;

/* Checks what the table of keys cannot; adds a problem for each bad value. */
void notify_config_check(const struct settings *s, const struct section *section,
			 struct problems *problems);
/* Appends the channel of a section without a problem. */
void notify_configs_take(struct notify_configs *all, const struct settings *s,
			 const struct section *section);
struct notify_configs notify_configs_copy(const struct notify_configs *all);
bool notify_configs_equal(const struct notify_configs *a, const struct notify_configs *b);
void notify_configs_done(struct notify_configs *all);
/* Whether a line is a header that may be sent: "Name: value", but for those of the request. */
bool notify_header_is_good(const char *line);
/* The events and tasks that the channel wants to be told of; borrowed. */
struct notice_rule notify_config_rule(const struct notify_config *c);

#endif
