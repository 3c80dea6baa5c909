/*
 * Membership: this sidecar's registration under ROOT/workers, and the fleet made of all of them. A
 * worker node never changes, so each record is read once and one child watch tells of every change.
 */
#ifndef ZKLEADER_NODE_FLEET_REGISTRY_H
#define ZKLEADER_NODE_FLEET_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/fleet/fleet.h"
#include "node/fleet/clocks.h"
#include "node/fleet/lists.h"
#include "node/fleet/roll/roll.h"
#include "node/session/handoff.h"
#include "node/session/session.h"
#include "node/tree/folder.h"

#define REGISTRY_REFUSED_MAX 100 /* nodes shown by status */

/* The part of our record about our tasks; the arrays are borrowed. */
struct registry_tasks {
	const char *const *names; /* sorted */
	const uint32_t *digests;  /* for each: of the settings that decide its leader */
	const char **groups;	  /* for each: its spread group or ""; NULL: no task has one */
	const char **keys;	  /* for each: marks of its keys; NULL: not of all */
	size_t n;
	const char **renamed; /* each with renamed-from, and behind it that */
	size_t n_renamed;
	const struct worker_split *splits; /* sorted; also of tasks that are not in names */
	size_t n_splits;
	const struct worker_queue *queues; /* job queues that this worker serves; sorted */
	size_t n_queues;
};

struct registry_handlers {
	void (*joined)(void *arg, struct member *m);
	void (*left)(void *arg, const struct member *m); /* still in the fleet during the call */
	void (*listed)(void *arg, struct member *m);	 /* what a member lists is known now */
	void (*changed)(void *arg); /* after one or more joined or left: rank again */
	void *arg;
};

struct registry {
	const struct node_settings *settings;
	struct session *session;
	struct registry_handlers handlers;
	struct fleet fleet;
	struct registry_refusal {	  /* a worker node whose record was refused */
		char id[NAME_ID_MAX + 1]; /* its name, cut to fit */
		const char *why;	  /* a constant text */
	} refused[REGISTRY_REFUSED_MAX];
	size_t n_refused;
	struct clocks clocks;
	struct folder workers; /* ready: the fleet has been read whole in this session */
	struct lists lists;
	struct roll roll;
	/* A good part of a big fleet is still to be read, which may take seconds. */
	bool reads_many;
	/* CLOCK_BOOTTIME when others may be expected to have read that, too; 0: nobody has to */
	int64_t read_ms;

	/* this worker */
	int32_t random_ints[WORKER_RANDOM_INTS];
	int64_t started_at;
	char hostname[NAME_HOST_MAX + 1];
	char node[WORKER_NODE_MAX + 1];	      /* the name of this node, kept over restarts */
	char machine[WORKER_MACHINE_MAX + 1]; /* its machine, "" */
	char version[NAME_VERSION_MAX + 1];
	char ip[NAME_IP_MAX + 1];
	struct registry_tasks tasks;
	/*
	 * Names the queues that this worker answers for without serving them; NULL: there are none.
	 */
	void (*add_answers)(void *arg, struct worker *w);
	void *answers_arg;
	bool health_known; /* until then nothing is registered */
	bool sick;
	char *sick_says;       /* why, NULL */
	char **unhealthy;      /* names of tasks; owned, as is each */
	char **unhealthy_says; /* likewise: why */
	size_t n_unhealthy;

	/* the previous sidecar on this host */
	int64_t kept_session; /* 0: none */
	char kept_id[NAME_ID_MAX + 1];
	bool recovers;	/* its session goes on, but what it led is not known yet */
	bool same_node; /* its record had our name, under which its jobs are found */

	/* registering */
	char id[NAME_ID_MAX + 1];    /* registered in this session, "" */
	char maybe[NAME_ID_MAX + 1]; /* an attempt whose outcome is unknown, "" */
	struct worker *attempt;	     /* outstanding; NULL: none */
	bool was_there;		     /* registered under any id since this process began */
	bool again;		     /* our record changed meanwhile: register once more */
	bool both;		     /* the record says by itself what its list says */
	bool form_seen;		     /* whether that has to be so was seen in this session */
	int list_op;		     /* index of the operation that checks our list; 0: none */
	struct host_timer form;
	size_t parents_pending;
	struct host_timer retry;

	struct notices *notices; /* notices about this node; NULL: none are noted */
};

void registry_init(struct registry *r, const struct node_settings *settings,
		   struct session *session, const struct registry_handlers *handlers);
void registry_done(struct registry *r);

/* Sets what is published. These functions register anew if needed. */
void registry_set_version(struct registry *r, const char *version);
/* Sets the tasks, which have to stay valid until the next call has returned. */
void registry_set_tasks(struct registry *r, const struct registry_tasks *tasks);
/* To be called when the answer of add_answers() may have changed. */
void registry_answers_changed(struct registry *r);

/* Sets the health, which is copied. Until then nothing is registered. */
void registry_set_health(struct registry *r, const struct node_health *health);

/*
 * Takes over from the previous sidecar on this host, which had this session and was this worker. If
 * the session is taken over, its record stays or is replaced, and no leadership moves.
 */
void registry_take_over(struct registry *r, const struct handoff *h);
/* Whether the tasks that the previous sidecar led have yet to be found out. */
bool registry_recovers(const struct registry *r);
void registry_recovered(struct registry *r);

/* To be called by the session's handlers. */
void registry_connected(struct registry *r);
/*
 * Registers anew after a change of the session's timeout, or of our record's words about our clock.
 */
void registry_retimed(struct registry *r);
/* To be called once our clock's offset is known: registrations and claims wait for it. */
void registry_clocked(struct registry *r);
void registry_up(struct registry *r);
void registry_cut(struct registry *r);
void registry_expired(struct registry *r);
void registry_watch(struct registry *r, enum store_watch type, const char *path);
/* Makes ROOT and its folders again, as a request met a missing parent. */
void registry_make_parents(struct registry *r);

/* Whether the fleet has been read whole in this session, and what all of its workers list. */
bool registry_ready(const struct registry *r);
/* Likewise, with no read outstanding. */
bool registry_settled(const struct registry *r);
/*
 * Whether no worker has that session, for certain. Where that is not known yet, `changed` is called
 * once it may be.
 */
bool registry_is_gone(struct registry *r, int64_t session);
/*
 * Whether the fleet is settled, and not by the roll alone, which is a hint: for what must not be
 * done beside a worker that it leaves out. Where it is not, `changed` is called once it may be.
 */
bool registry_is_proven(struct registry *r);
/*
 * Once workers.lists reaches this number, the fleet is as of now, whatever the roll has said; then
 * `changed` is called.
 */
uint64_t registry_relist(struct registry *r);
/* This sidecar among the members, NULL while it is not registered. */
const struct member *registry_self(const struct registry *r);
/*
 * Our record as requests sent now will find it: that of the outstanding registration, if there is
 * one. NULL: not registered.
 */
const struct worker *registry_coming(const struct registry *r);

#endif
