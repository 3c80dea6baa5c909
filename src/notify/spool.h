/*
 * The spool of messages, each a file. It is written to disk before the sidecar may forget the
 * event, and removed once the message was sent or is too old. Only the names are kept in memory.
 */
#ifndef ZKLEADER_NOTIFY_SPOOL_H
#define ZKLEADER_NOTIFY_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <jansson.h>

#define SPOOL_MAX	   10000       /* messages */
#define SPOOL_FILE_MAX	   (64 * 1024) /* bytes of one */
#define SPOOL_NAME_SIZE	   40
#define SPOOL_ID_SIZE	   65
#define SPOOL_CHANNEL_SIZE 120
#define SPOOL_WHY_SIZE	   400
#define SPOOL_REMEDY_SIZE  150

/* A message for one channel: "NAME/url" or "NAME/command". */
struct spooled {
	TAILQ_ENTRY(spooled) link;
	char name[SPOOL_NAME_SIZE]; /* name of the file; an older file has a smaller one */
	char channel[SPOOL_CHANNEL_SIZE];
	char id[SPOOL_ID_SIZE]; /* id of the event */
	int64_t since;		/* wall clock: when it was spooled */
	/* For sends.c. */
	int64_t due_ms; /* CLOCK_BOOTTIME: no try before */
	int tries;
	bool sending;
	char why[SPOOL_WHY_SIZE]; /* failure of the last try */
};

struct spool {
	char *path;
	int folder;				/* -1: it cannot be opened */
	TAILQ_HEAD(spooled_list, spooled) list; /* the oldest first */
	size_t n;
	uint32_t last;		      /* number of a file */
	char problem[SPOOL_WHY_SIZE]; /* why no message can be taken; "": it can */
};

/* Reads the spooled messages. A folder that cannot be used is a problem, and tried again. */
void spool_init(struct spool *s, const char *path);
void spool_done(struct spool *s);
/* Whether the spool can take a message now; sets the problem. */
bool spool_is_good(struct spool *s);
/* Writes a message. True: it is on the disk, or was there already. False: the problem says why. */
bool spool_add(struct spool *s, const char *channel, const char *id, const json_t *event);
/* The event of a message, NULL: its file cannot be read. */
json_t *spool_read(const struct spool *s, const struct spooled *m);
/* Removes a message that was sent or is given up. */
void spool_remove(struct spool *s, struct spooled *m);

#endif
