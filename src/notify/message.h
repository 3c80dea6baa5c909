/* The text of an event for a channel. */
#ifndef ZKLEADER_NOTIFY_MESSAGE_H
#define ZKLEADER_NOTIFY_MESSAGE_H

#include <jansson.h>

#include "config/keys/notify_config.h"

/* A heap string for the caller: JSON in that form. key: for PagerDuty. */
char *message_text(const json_t *event, enum notify_template form, const char *key);

#endif
