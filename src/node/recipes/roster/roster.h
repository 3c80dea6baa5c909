/*
 * The roster: each node that ever was in the fleet, under ROOT/roster, with a number that it keeps.
 * The first in rank of the fleet assigns the smallest free number to new nodes, and notes nodes
 * that leave or return. Each change is one transaction under the version of ROOT/roster, so two
 * nodes that both consider themselves first cannot both make it. Only roster_forget() frees a
 * number.
 */
#ifndef ZKLEADER_NODE_RECIPES_ROSTER_ROSTER_H
#define ZKLEADER_NODE_RECIPES_ROSTER_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "node/fleet/registry.h"
#include "wire/records/recipe_record.h"

#define ROSTER_MAX	 10000 /* nodes; one more gets no number */
#define ROSTER_WAIT_MS	 8000  /* for a list, or for forgetting a node */
#define ROSTER_ABSENT_MS 1000  /* a node has to be gone so long before it is noted */

struct roster_entry {
	char node[WORKER_NODE_MAX + 1];
	struct roster_record record; /* index -1: not known, as the record cannot be read */
	bool unread;	   /* unreadable record: the node keeps its number until forgotten */
	bool there;	   /* in the fleet, at the last check */
	int64_t absent_ms; /* CLOCK_BOOTTIME: since when it was seen gone; 0: not seen gone */
};

enum roster_result {
	ROSTER_DONE,
	ROSTER_NOT_KNOWN, /* no node of that name was ever in the fleet */
	ROSTER_SEVERAL,	  /* the name is ambiguous */
	ROSTER_THERE,	  /* the node is in the fleet */
	ROSTER_JUST_GONE, /* the node went so recently that this is not noted yet */
	ROSTER_UNKNOWN	  /* session lost, or refused by the servers: the outcome is unknown */
};

/* For a list, the entries are in r->entries during the call, sorted by name. */
typedef void (*roster_fn)(void *arg, enum roster_result result);

struct roster_ask;

struct roster {
	struct session *session;
	struct registry *registry;
	struct roster_entry *entries; /* sorted by node */
	size_t n, capacity;
	int32_t version; /* version of ROOT/roster, as of the entries; -1: missing */
	int64_t given;	 /* no number from here on was ever given out; -1: not known */
	bool ready;	 /* read completely, and no change seen since */
	bool reading, writing;
	bool changed;	/* changed while it was being read or written */
	bool full;	/* a node got no number: logged once */
	uint64_t round; /* number of this reading */
	uint64_t lists; /* of the fleet's folder, of which the last is newer than the reading */
	/* state of the current reading */
	struct roster_entry *found;
	size_t n_found, pending, next;
	char **names;
	size_t n_names;
	bool broken;
	int32_t begun; /* the version before */
	int64_t begun_given;
	bool refused;				      /* broken by a refusal, not by a change */
	unsigned refusals;			      /* in a row */
	TAILQ_HEAD(roster_ask_list, roster_ask) asks; /* the oldest first */
	struct host_timer due;
};

void roster_init(struct roster *r, struct session *session, struct registry *registry);
/* Answers all requesters. */
void roster_done(struct roster *r);
/* From the session's and the registry's handlers: takes the next step, if there is one. */
void roster_go_on(struct roster *r);
void roster_expired(struct roster *r);
void roster_watch(struct roster *r, const char *path);

/* Whether we are the first by id of the members that know rosters: all compute the same one. */
bool roster_is_assigner(const struct roster *r);
/* Reads the roster again; the result is ROSTER_DONE or ROSTER_UNKNOWN. */
void roster_list(struct roster *r, roster_fn fn, void *arg);
/* Frees the number of a node that is gone; text: its name, or only the hostname. */
void roster_forget(struct roster *r, const char *text, size_t len, roster_fn fn, void *arg);

/* Goes on in a moment, after refusals in a row later and later. */
void roster_retry(struct roster *r, bool refused);

/* roster_read.c: reads all of it, then calls roster_go_on(). */
void roster_read(struct roster *r);
void roster_read_done(struct roster *r);

#endif
