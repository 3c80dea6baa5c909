/*
 * The sections `notify` of the task files, only of files that nobody but root can write: their
 * commands are run, and they may hold secrets.
 */
#ifndef ZKLEADER_NOTIFY_CHANNELS_H
#define ZKLEADER_NOTIFY_CHANNELS_H

#include <stddef.h>
#include <stdint.h>

#include "config/keys/notify_config.h"
#include "config/tasks/taskfile.h"
#include "config/text/trusted.h"

#define CHANNELS_AGE_MS	      5000 /* time for which what was read is good */
#define CHANNELS_REFUSALS_MAX 10

struct channels {
	struct notify_configs good;
	struct channels_refusal {
		char *file;
		char why[TRUSTED_WHY_SIZE];
	} refusals[CHANNELS_REFUSALS_MAX];
	size_t n_refusals;
	int64_t read_ms; /* CLOCK_BOOTTIME; 0: never */
};

void channels_init(struct channels *c);
void channels_done(struct channels *c);
/* Reads those of the files in force that have one, each as it is when it is opened. */
void channels_read(struct channels *c, const struct task_files *files);
/* NULL: there is none of that name. */
const struct notify_config *channels_find(const struct channels *c, const char *name, size_t len);

#endif
