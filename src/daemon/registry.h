/*
 * Membership: this sidecar's registration under ROOT/workers, and the fleet as the others' make it.
 * A worker node never changes, so a record is read once and one child watch tells all that happens.
 */
#ifndef ZKLEADER_DAEMON_REGISTRY_H
#define ZKLEADER_DAEMON_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/fleet.h"
#include "daemon/config.h"
#include "daemon/session.h"

/* While membership keeps changing, it is listed again at most this often. */
#define REGISTRY_LIST_EVERY_MS 100

struct registry_handlers {
	void (*joined)(void *arg, const struct member *m);
	void (*left)(void *arg, const struct member *m); /* still in the fleet during the call */
	void (*changed)(void *arg); /* after one or more of these: rank again */
	void *arg;
};

struct registry {
	const struct config *config;
	struct session *session;
	struct registry_handlers handlers;
	struct fleet fleet;
	bool ready; /* the fleet has been read whole in this session */

	/* what we are */
	int32_t random_ints[WORKER_RANDOM_INTS];
	int64_t started_at;
	char hostname[NAME_HOST_MAX + 1];
	char version[NAME_VERSION_MAX + 1];
	char ip[NAME_IP_MAX + 1];
	const char *const *tasks; /* sorted; borrowed from registry_set_tasks() */
	size_t n_tasks;

	/* registering */
	char id[NAME_ID_MAX + 1];    /* registered in this session, "" */
	char maybe[NAME_ID_MAX + 1]; /* an attempt whose outcome is unknown, "" */
	struct worker *attempt;	     /* on its way, NULL */
	bool again;		     /* what we are changed meanwhile: register once more */
	size_t parents_pending;
	uv_timer_t retry;

	/* reading */
	bool listing;
	bool list_again;
	int64_t listed_ms;
	size_t reads_pending;
	bool dirty; /* joined or left was called since the last changed */
	uv_timer_t list_timer;
	char **refused; /* ids whose records were refused, sorted by nothing; owned */
	size_t n_refused;
};

void registry_init(struct registry *r, uv_loop_t *loop, const struct config *config,
		   struct session *session, const struct registry_handlers *handlers);
void registry_done(struct registry *r);

/* What is to be published; takes effect with the next registration, which these ask for if needed.
 */
void registry_set_version(struct registry *r, const char *version);
/* Sorted names, valid until the next call has returned. */
void registry_set_tasks(struct registry *r, const char *const *names, size_t n);

/* From the session's handlers. */
void registry_connected(struct registry *r);
void registry_up(struct registry *r);
void registry_cut(struct registry *r);
void registry_expired(struct registry *r);
void registry_watch(struct registry *r, enum zk_watch type, const char *path);
/* A request met a missing parent: ROOT and what is in it are made again. */
void registry_make_parents(struct registry *r);

/* This sidecar among the members, NULL while it is not registered. */
const struct member *registry_self(const struct registry *r);
/* ROOT/folder/name, or ROOT/folder without a name. */
void registry_path(const struct registry *r, const char *folder, const char *name,
		   char path[ZK_PATH_MAX]);

#endif
