/*
 * Lists by digest: what a worker lists, in ROOT/lists/DIGEST, where it is too long for each record.
 * A list never changes, and its name is the digest of its bytes; so each is read once, and whoever
 * lists the same shares it. A list that is missing, or has other bytes than its name says, leaves
 * its workers as what may list anything. The worker whose own list it is makes it again.
 */
#ifndef ZKLEADER_NODE_FLEET_LISTS_H
#define ZKLEADER_NODE_FLEET_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "core/fleet/fleet.h"
#include "node/host.h"
#include "node/store.h"

#define LISTS_FROM	1024		  /* bytes above which what a worker lists is apart */
#define LISTS_KEEP_MS	INT64_C(86400000) /* for which a list stays that no worker has */
#define LISTS_AGAIN_MS	2000		  /* until one that cannot be used is read again */
#define LISTS_READS_MAX 20		  /* outstanding */
#define LISTS_UNUSED	"unused" /* the child that says since when no worker has the list */

struct registry;

struct lists_entry {
	char digest[WORKER_LIST_LEN + 1];
	struct worker *list; /* what it says; NULL: not known */
	const char *why;     /* it cannot be used, a constant text; NULL: it can, or is not read */
	bool asked, final;   /* final: its bytes are those of its name, and will not change */
	bool left;	     /* a worker that named it has left: perhaps the last one */
};

struct lists {
	struct registry *registry;
	struct lists_entry *entries; /* those that other workers' records name */
	size_t n, n_unread, reads;
	struct host_timer again;

	/* our own */
	struct buffer own;
	char own_digest[WORKER_LIST_LEN + 1]; /* "": none */
	bool own_asked, own_there, refused;   /* refused: the server takes none of ours */

	struct {
		struct host_timer due;
		char **names; /* found under ROOT/lists; owned, as is each */
		size_t n, next;
		uint64_t lists; /* of the workers: the one that a list must be unused by */
		bool busy;
	} audit;
};

void lists_init(struct lists *l, struct registry *registry);
void lists_done(struct lists *l);
/* A worker is about to join: it gets what its list says, or that is read. */
void lists_joined(struct lists *l, struct worker *w);
/*
 * A worker that named this list has left. The list is forgotten by lists_sweep(), to be called once
 * the fleet is known again, if no other worker has come that names it.
 */
void lists_left(struct lists *l, const char *digest);
void lists_sweep(struct lists *l);
/* Whether each list has been read, or cannot be used. */
bool lists_settled(const struct lists *l);
/*
 * Whether our own list is there, so that a record may name it. If not, it is made, and
 * registration_send() is called where it is due again.
 */
bool lists_publish(struct lists *l, const char *digest, const void *bytes, size_t len);
/* The server says that our own list is not there. */
void lists_own_gone(struct lists *l);

/* From the session's handlers. */
void lists_up(struct lists *l);
void lists_cut(struct lists *l);
void lists_expired(struct lists *l);
void lists_watch(struct lists *l, enum store_watch type, const char *path);

/*
 * The audit, in lists_audit.c: the first worker of the fleet notes in ROOT/lists/DIGEST/unused that
 * no worker has a list, and a day later removes both in one transaction. Who is about to name the
 * list removes the note before; so that transaction fails, or the one that names the list does.
 */
void lists_audit_init(struct lists *l);
void lists_audit_done(struct lists *l);

#endif
