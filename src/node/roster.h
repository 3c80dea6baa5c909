/*
 * The roster: each node that ever was in the fleet, under ROOT/roster, with a number that it keeps.
 * The first in rank of the fleet gives numbers out, the smallest that is free, and notes who goes
 * and comes back; each change is one transaction under the version of ROOT/roster, so that two who
 * take themselves for the first do not both make it. A number is freed by roster_forget() alone.
 */
#ifndef ZKLEADER_NODE_ROSTER_H
#define ZKLEADER_NODE_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/registry.h"
#include "wire/recipe_record.h"

#define ROSTER_MAX	 10000 /* nodes; one more gets no number */
#define ROSTER_WAIT_MS	 8000  /* for a list, or to forget a node */
#define ROSTER_ABSENT_MS 1000  /* for which a node is gone before that is noted */

struct roster_entry {
	char node[WORKER_NODE_MAX + 1];
	struct roster_record record;
	bool there;	   /* in the fleet, when that was last looked at */
	int64_t absent_ms; /* CLOCK_BOOTTIME: since when it was seen to be gone; 0: it was not */
};

enum roster_result {
	ROSTER_DONE,
	ROSTER_NOT_KNOWN, /* no node of that name ever was */
	ROSTER_SEVERAL,	  /* more than one may be meant */
	ROSTER_THERE,	  /* it is in the fleet */
	ROSTER_JUST_GONE, /* it went so recently that it is not noted yet */
	ROSTER_UNKNOWN	  /* the session went, or the servers refused: it may or may not be done */
};

/* Of a list: the entries are in r->entries during the call, sorted by name. */
typedef void (*roster_fn)(void *arg, enum roster_result result);

struct roster_ask;

struct roster {
	struct session *session;
	struct registry *registry;
	struct roster_entry *entries; /* sorted by node */
	size_t n, capacity;
	int32_t version; /* of ROOT/roster, that the entries are of; -1: it is not there */
	bool ready;	 /* they were read whole, and nobody has told of a change since */
	bool reading, writing;
	bool changed;	/* while it was being read or written */
	bool full;	/* a node got no number: told once */
	uint64_t round; /* which reading this is */
	/* of the reading that goes on */
	struct roster_entry *found;
	size_t n_found, pending, next;
	char **names;
	size_t n_names;
	bool broken;
	int32_t begun; /* the version before */
	struct roster_ask *asks;
	struct host_timer due;
};

void roster_init(struct roster *r, struct session *session, struct registry *registry);
/* Tells all who wait. */
void roster_done(struct roster *r);
/* From the session's and the registry's handlers: there may be something to do. */
void roster_go_on(struct roster *r);
void roster_expired(struct roster *r);
void roster_watch(struct roster *r, const char *path);

/* Whether we are the first by id of those that know of it: all compute alike who that is. */
bool roster_is_assigner(const struct roster *r);
/* Reads it anew, for ROSTER_DONE or ROSTER_UNKNOWN. */
void roster_list(struct roster *r, roster_fn fn, void *arg);
/* Frees the number of a node that is gone: its whole name, or the hostname alone. */
void roster_forget(struct roster *r, const char *text, size_t len, roster_fn fn, void *arg);

/* roster_read.c: reads all of it, and calls roster_go_on() then. */
void roster_read(struct roster *r);
void roster_read_done(struct roster *r);

#endif
