/*
 * A folder of znodes that never change once made: each is read once, and one child watch tells of
 * all that happens. Members and policies are kept so.
 */
#ifndef ZKLEADER_NODE_FOLDER_H
#define ZKLEADER_NODE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/session.h"

/* While a folder keeps changing, it is listed again at most this often. */
#define FOLDER_LIST_EVERY_MS 100
/*
 * In a big folder more seldom, so that the lists of all who read it take the network no more than
 * so.
 */
#define FOLDER_LIST_NAMES_PER_MS 5
/* Reads on their way: more would keep what is urgent waiting behind them. */
#define FOLDER_READS_MAX 100

struct folder_handlers {
	/* A node that was not known. The code is OK, NO_AUTH or FAILED; it is not read again. */
	void (*take)(void *arg, const char *name, const struct store_reply *reply);
	/* A node that was known is no longer there. */
	void (*gone)(void *arg, const char *name);
	/* The folder has been read whole, for the first time or after a change. */
	void (*changed)(void *arg);
	/* The folder itself is missing. */
	void (*missing)(void *arg);
	void *arg;
};

struct folder {
	struct session *session;
	struct folder_handlers handlers;
	char path[STORE_PATH_MAX];
	size_t max;   /* names that are kept; those beyond are passed over */
	bool ready;   /* it has been read whole in this session */
	bool known;   /* or in one before: what comes and goes since then is news */
	char **names; /* known; sorted; owned, as is each */
	size_t n;
	bool due; /* to be listed again */
	bool listing, again, dirty;
	uint64_t lists; /* how many have been answered */
	int64_t listed_ms;
	struct folder_wanted {
		char *name;
		bool asked;
	} * wanted; /* still to be read; sorted by name */
	size_t n_wanted;
	size_t reads; /* on their way */
	struct host_timer timer;
};

void folder_init(struct folder *f, struct session *session, const char *path, size_t max,
		 const struct folder_handlers *handlers);
void folder_done(struct folder *f);

/* From the session's handlers; a watch of another path is none of it. */
void folder_up(struct folder *f);
void folder_cut(struct folder *f);
/* What is known stays: the nodes need not have changed meanwhile. */
void folder_expired(struct folder *f);
void folder_watch(struct folder *f, enum store_watch type, const char *path);

/* Whether all that it is known to hold has been read. */
bool folder_settled(const struct folder *f);
/* A node that we made, or took away, ourselves: known, or not, without being read or told. */
void folder_add(struct folder *f, const char *name);
void folder_remove(struct folder *f, const char *name);
/* Lists it anew; what is known is as new as now once `lists` is what this returns. */
uint64_t folder_refresh(struct folder *f);
/* Has changed called, at once if the folder has settled. */
void folder_touch(struct folder *f);

#endif
