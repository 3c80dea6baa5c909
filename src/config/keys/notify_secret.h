/* Files with secrets of a channel, which only their owner and group can read. */
#ifndef ZKLEADER_CONFIG_KEYS_NOTIFY_SECRET_H
#define ZKLEADER_CONFIG_KEYS_NOTIFY_SECRET_H

#include <stdbool.h>

#include "config/keys/notify_config.h"

#define NOTIFY_WHY_SIZE 300

/*
 * The headers of the channel, lines each with its end, for the caller to free(). NULL: its
 * headers-file cannot be used, and why says so without what it holds.
 */
char *notify_secret_headers(const struct notify_config *c, char why[NOTIFY_WHY_SIZE]);
/* The first line of the channel's routing-key-file likewise; "" without one. */
char *notify_secret_routing_key(const struct notify_config *c, char why[NOTIFY_WHY_SIZE]);

#endif
