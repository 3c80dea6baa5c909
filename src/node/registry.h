/*
 * Membership: this sidecar's registration under ROOT/workers, and the fleet as the others' make it.
 * A worker node never changes, so a record is read once and one child watch tells all that happens.
 */
#ifndef ZKLEADER_NODE_REGISTRY_H
#define ZKLEADER_NODE_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/fleet.h"
#include "node/clocks.h"
#include "node/folder.h"
#include "node/handoff.h"
#include "node/session.h"

#define REGISTRY_REFUSED_MAX 100 /* that are shown */

/* What our record says of our tasks; the arrays are borrowed. */
struct registry_tasks {
	const char *const *names; /* sorted */
	const uint32_t *digests;  /* for each: of what decides who leads it */
	const char **groups;	  /* for each: the spread group, ""; NULL: none is in one */
	size_t n;
	const struct worker_split *splits; /* sorted; those too that names leaves out */
	size_t n_splits;
	const struct worker_queue *queues; /* of jobs, that this worker serves; sorted */
	size_t n_queues;
};

struct registry_handlers {
	void (*joined)(void *arg, struct member *m);
	void (*left)(void *arg, const struct member *m); /* still in the fleet during the call */
	void (*changed)(void *arg); /* after one or more of these: rank again */
	void *arg;
};

struct registry {
	const struct node_settings *settings;
	struct session *session;
	struct registry_handlers handlers;
	struct fleet fleet;
	struct registry_refusal {	  /* a worker node that is no member */
		char id[NAME_ID_MAX + 1]; /* of its name as much as fits */
		const char *why;	  /* a constant text */
	} refused[REGISTRY_REFUSED_MAX];
	size_t n_refused;
	struct clocks clocks;
	struct folder workers; /* ready: the fleet has been read whole in this session */

	/* what we are */
	int32_t random_ints[WORKER_RANDOM_INTS];
	int64_t started_at;
	char hostname[NAME_HOST_MAX + 1];
	char node[WORKER_NODE_MAX + 1]; /* which sidecar this is, the same over its restarts */
	char machine[WORKER_MACHINE_MAX + 1]; /* that it is on, "" */
	char version[NAME_VERSION_MAX + 1];
	char ip[NAME_IP_MAX + 1];
	struct registry_tasks tasks;
	bool health_known; /* before, nothing is registered */
	bool sick;
	char *sick_says;       /* why, NULL */
	char **unhealthy;      /* names of tasks; owned, as is each */
	char **unhealthy_says; /* likewise: why */
	size_t n_unhealthy;

	/* of the sidecar before us on this host */
	int64_t kept_session; /* 0: none */
	char kept_id[NAME_ID_MAX + 1];
	bool recovers; /* its session goes on, and what it led is not known yet */

	/* registering */
	char id[NAME_ID_MAX + 1];    /* registered in this session, "" */
	char maybe[NAME_ID_MAX + 1]; /* an attempt whose outcome is unknown, "" */
	struct worker *attempt;	     /* on its way, NULL */
	bool was_there;		     /* under whatever id, since this process began */
	bool again;		     /* what we are changed meanwhile: register once more */
	size_t parents_pending;
	struct host_timer retry;

	struct notices *notices; /* what notices.c notes is about this node; NULL: nothing is */
};

void registry_init(struct registry *r, const struct node_settings *settings,
		   struct session *session, const struct registry_handlers *handlers);
void registry_done(struct registry *r);

/* What is to be published; takes effect with the next registration, which these ask for if needed.
 */
void registry_set_version(struct registry *r, const char *version);
/* Valid until the next call has returned. */
void registry_set_tasks(struct registry *r, const struct registry_tasks *tasks);

/* Copied. Until it is known, nothing is registered. */
void registry_set_health(struct registry *r, const struct node_health *health);

/*
 * The sidecar before us on this host had this session and was this worker. If the session is taken
 * over, its record goes on, or another takes its place, and nothing moves.
 */
void registry_take_over(struct registry *r, const struct handoff *h);
/* Whether what the one before us led is to be found out. */
bool registry_recovers(const struct registry *r);
void registry_recovered(struct registry *r);

/* From the session's handlers. */
void registry_connected(struct registry *r);
/* The session's timeout, or what is said of our clock, is another now. */
void registry_retimed(struct registry *r);
/* It is known now how our clock differs, for a registration that waits for it, and for claims. */
void registry_clocked(struct registry *r);
void registry_up(struct registry *r);
void registry_cut(struct registry *r);
void registry_expired(struct registry *r);
void registry_watch(struct registry *r, enum store_watch type, const char *path);
/* A request met a missing parent: ROOT and what is in it are made again. */
void registry_make_parents(struct registry *r);

/* Whether the fleet is read, and nothing of it is on its way. */
bool registry_settled(const struct registry *r);
/* This sidecar among the members, NULL while it is not registered. */
const struct member *registry_self(const struct registry *r);
/*
 * Our record as it will be for what is sent now: that of a registration which is on its way; NULL:
 * none.
 */
const struct worker *registry_coming(const struct registry *r);

#endif
