/* Reading the configuration again: by HUP, by order of a client, or as a file has changed. */
#ifndef ZKLEADER_DAEMON_RELOAD_H
#define ZKLEADER_DAEMON_RELOAD_H

#include "daemon/sidecar.h"

#define RELOAD_TEXT_MAX (1024 * 1024) /* bytes of what a reload says */

/* Reads the task files; what is refused leaves the last good state in force. */
void reload_tasks(struct sidecar *s, struct problems *problems, struct changes *changes);
/* Puts the new list in the place of the old one, and logs what was not in that. */
void reload_set_problems(struct sidecar *s, struct problems *problems);

/* Handlers of files.c, users.c and of the signal; arg is the sidecar. */
void reload_on_users(void *arg);
void reload_on_tasks(void *arg);
void reload_on_version(void *arg);
void reload_on_hup(uv_signal_t *handle, int number);

#endif
