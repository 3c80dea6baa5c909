/*
 * Puts the configuration that was read in force: at the start, on HUP, by order of a client, or
 * when a file has changed.
 */
#ifndef ZKLEADER_DAEMON_RELOAD_H
#define ZKLEADER_DAEMON_RELOAD_H

#include "daemon/sidecar.h"

#define RELOAD_TEXT_MAX (1024 * 1024) /* bytes of the result of a reload */

/* Reads the task files now; takes over the problems of the main file. */
void reload_at_start(struct sidecar *s, struct problems *problems);
/*
 * Reads all files again; a refused file leaves the last good state in force. fn, if not NULL, is
 * called with the changes.
 */
void reload_all(struct sidecar *s, process_reload_fn fn, void *arg);

/* Handlers of reading.c, files.c, users.c and of the signal; arg is the sidecar. */
void reload_base(void *arg, struct reading_base *ret_base);
void reload_apply(void *arg, struct reading *r);
void reload_on_users(void *arg);
void reload_on_tasks(void *arg);
void reload_on_version(void *arg);
void reload_on_hup(uv_signal_t *handle, int number);

#endif
