/*
 * A folder of znodes that never change once made: each is read once, and one child watch tells of
 * every change. Used for members and policies.
 */
#ifndef ZKLEADER_NODE_TREE_FOLDER_H
#define ZKLEADER_NODE_TREE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/session/session.h"

/* While a folder keeps changing, it is listed again at most this often. */
#define FOLDER_LIST_EVERY_MS 100
/*
 * Number of names for which the interval between lists grows by 1 ms, as readers of a big folder
 * load the network.
 */
#define FOLDER_LIST_NAMES_PER_MS 5
/*
 * Outstanding reads: with more, urgent requests would wait too long behind them. All who watch a
 * big folder read it at the same time, and share what the servers can answer soon.
 */
#define FOLDER_READS_MAX    100
#define FOLDER_READS_MIN    4
#define FOLDER_READS_OF_ALL 20000
/* Likewise of the one that the others wait for: its answers come late while all list the folder. */
#define FOLDER_READS_FIRST 1000

struct folder_handlers {
	/* A new node. The code is OK, NO_AUTH or FAILED; it is not read again. */
	void (*take)(void *arg, const char *name, const struct store_reply *reply);
	/* A node that was known is no longer there. */
	void (*gone)(void *arg, const char *name);
	/* The folder has been read whole, for the first time or after a change. */
	void (*changed)(void *arg);
	/* The folder itself is missing. */
	void (*missing)(void *arg);
	/*
	 * The folder has been listed; NULL: that is not wanted. True: new nodes are not read before
	 * folder_release(), as folder_supply() may know them.
	 */
	bool (*listed)(void *arg);
	void *arg;
};

struct folder {
	struct session *session;
	struct folder_handlers handlers;
	char path[STORE_PATH_MAX];
	size_t max;   /* number of names kept; further ones are ignored */
	bool ready;   /* the folder was read completely in this session */
	bool known;   /* or in an earlier one: later changes are reported as changes */
	char **names; /* names of the known nodes; sorted; owned, as is each */
	size_t n;
	bool due;     /* to be listed again */
	bool refused; /* the last list was refused, and this is logged */
	bool asked;   /* a list is wanted, whoever tells the changes */
	bool listing, again, dirty;
	bool quiet;	/* somebody else tells the changes: it is not watched */
	bool held;	/* new nodes are not read yet */
	bool supplied;	/* some are known now without a read, and nobody has been told of them */
	bool first;	/* others wait for what is read here: it is not slowed down for them */
	int64_t zxid;	/* of the last change that the last list had */
	uint64_t lists; /* number of listings answered */
	int64_t listed_ms;
	struct folder_wanted {
		char *name;
		bool asked;
	} * wanted; /* still to be read; sorted by name */
	size_t n_wanted;
	size_t reads; /* outstanding */
	struct host_timer timer;
};

void folder_init(struct folder *f, struct session *session, const char *path, size_t max,
		 const struct folder_handlers *handlers);
void folder_done(struct folder *f);

/* To be called by the session's handlers; watches of other paths are ignored. */
void folder_up(struct folder *f);
void folder_cut(struct folder *f);
/* The known nodes stay known: they may not have changed meanwhile. */
void folder_expired(struct folder *f);
void folder_watch(struct folder *f, enum store_watch type, const char *path);

/* The number of nodes that were listed: those that are known, and those that are to be read. */
static inline size_t folder_names(const struct folder *f)
{
	return f->n + f->n_wanted;
}
/* Whether all listed nodes have been read. */
bool folder_settled(const struct folder *f);
/*
 * Makes a node known that we made ourselves, or forgets one that we deleted: no read, no handler.
 */
void folder_add(struct folder *f, const char *name);
void folder_remove(struct folder *f, const char *name);
/*
 * Lists the folder again. Once `lists` reaches the returned number, the known nodes are as of this
 * call.
 */
uint64_t folder_refresh(struct folder *f);
/*
 * While it is quiet, changes are told by folder_joined() and folder_left(), and no watch is set.
 * Once it is no longer, it is listed again.
 */
void folder_quiet(struct folder *f, bool quiet);
/* A new node, and what reading it would say; NULL: it is read. Nothing happens if it is known. */
void folder_joined(struct folder *f, const char *name, const struct store_reply *reply);
void folder_left(struct folder *f, const char *name);
/* Takes what reading a new node would say; nothing happens if it is none, or is being read. */
void folder_supply(struct folder *f, const char *name, const struct store_reply *reply);
/* Ends a row of folder_supply(): new nodes that are held and were not supplied are read. */
void folder_release(struct folder *f);
/* The place of the name among those that are known or still to be read, or where it would be. */
size_t folder_place(const struct folder *f, const char *name);
/* Has the handler `changed` called, at once if the folder has settled. */
void folder_touch(struct folder *f);

#endif
