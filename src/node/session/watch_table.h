/* The paths that are watched, or looked at by time, and who waits for them. For watches.c alone. */
#ifndef ZKLEADER_NODE_SESSION_WATCH_TABLE_H
#define ZKLEADER_NODE_SESSION_WATCH_TABLE_H

#include "node/session/watches.h"

struct watch_owner {
	LIST_ENTRY(watch_owner) link;
	const void *key;
	unsigned flying; /* its outstanding requests */
	bool dropped;	 /* listed for these requests alone */
};

struct watch_entry {
	struct watches *watches; /* NULL: the session has ended */
	SLIST_ENTRY(watch_entry) link;
	TAILQ_ENTRY(watch_entry) look, removal;
	LIST_HEAD(watch_owner_list, watch_owner) owners;
	size_t n_owners; /* owners that have not dropped it */
	enum watch_class class;
	enum watch_kind kind;
	unsigned flying; /* outstanding requests that set it */
	bool set;	 /* the server has it, or may have it */
	bool by_time;	 /* not to be set: in `looks` */
	bool queued;	 /* in `removals` */
	bool removing;	 /* outstanding */
	bool counted, leaving;
	size_t bytes;
	int64_t look_ms; /* CLOCK_BOOTTIME */
	char path[];
};

struct watch_entry *watch_find(struct watches *w, const char *path, enum watch_kind kind);
struct watch_entry *watch_add(struct watches *w, const char *path, enum watch_kind kind,
			      enum watch_class class);
void watch_unlink(struct watches *w, struct watch_entry *e);

/* NULL: it is not listed. */
struct watch_owner *watch_find_owner(const struct watch_entry *e, const void *key);
struct watch_owner *watch_add_owner(struct watch_entry *e, const void *key);
/* An owner with outstanding requests is listed until they are answered. */
void watch_drop_owner(struct watch_entry *e, struct watch_owner *o);
/* Drops the owners of a watch that has fired, unless their outstanding requests may set it anew. */
void watch_drop_told(struct watch_entry *e);
void watch_drop_all(struct watch_entry *e);

#endif
