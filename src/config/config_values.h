/*
 * The values of the configuration's keys, which are checked and taken into struct config: a part of
 * config.c.
 */
#ifndef ZKLEADER_CONFIG_CONFIG_VALUES_H
#define ZKLEADER_CONFIG_CONFIG_VALUES_H

#include "config/config.h"
#include "config/text/problem.h"
#include "config/text/settings.h"

/* A configuration being made from its settings. */
struct config_values {
	struct config *c;
	const struct config *running; /* NULL: this is the start */
	const struct settings *settings;
	struct problems *problems;
};

/* Adds a problem with the line and the name of the key. */
void config_problem(const struct config_values *v, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The text of a key; NULL: it has none, or a bad one, for which a problem was added. */
const char *config_text(const struct config_values *v, const char *key);
int64_t config_number(const struct config_values *v, const char *key);
/*
 * The text of a key on the heap, for the caller. config_path() takes a relative path as beside the
 * file.
 */
char *config_copy(const struct config_values *v, const char *key);
char *config_path(const struct config_values *v, const char *key);

/* Whether it can be the name, or the v4 address, of a host. */
bool config_is_host_name(const char *text);

/* Each checks a group of keys, and what they name, and takes them into the configuration. */
void config_take_zookeeper(struct config_values *v);
void config_take_root(struct config_values *v);
void config_take_version(struct config_values *v);
void config_take_socket(struct config_values *v);
void config_take_auth(struct config_values *v);
void config_take_secure(struct config_values *v);

#endif
