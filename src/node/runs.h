/*
 * Runs of tasks on this host: the `claim` requests of `zkleader run` and `zkleader-check --once` that
 * wait for their tick, and the jobs that are going on and hold their task here.
 */
#ifndef ZKLEADER_NODE_RUNS_H
#define ZKLEADER_NODE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/control.h"
#include "node/leaders.h"

struct sidecar;
struct run;

struct runs {
	struct sidecar *sidecar;
	struct host *host;
	struct run *list;
	uint32_t last_id;
	bool dirty;	  /* something has changed: look at the runs again */
	bool revoked;	  /* the sidecar is going: no job may run on */
	int64_t quiet_ms; /* before this nothing begins: jobs of our predecessor may live */
	struct host_turn turn;
	struct host_timer due;
};

struct run_options {
	char id[NAME_ID_MAX + 1]; /* by which the caller knows its claim again; "" */
	bool again;		  /* it has sent it before, to a sidecar that went */
	bool once;		  /* nothing runs under our eyes: the claim is all */
	int64_t now_ms;		  /* the caller's wall clock */
	int64_t zone_ms;	  /* by which its local time is ahead of UTC */
	int64_t tick_ms;	  /* 0: no tick, no ledger */
	int64_t wait_ms;
};

void runs_init(struct runs *r, struct sidecar *s, struct host *host);
/* Once nothing calls back any more. */
void runs_done(struct runs *r);

/* The methods; each answers the client, now or later. The caller has checked that the peer may. */
void runs_claim(struct runs *r, struct client *c, uint32_t msgid, struct task *t,
		const struct run_options *options);
void runs_renew(struct runs *r, struct client *c, uint32_t msgid, uint64_t id);
void runs_finish(struct runs *r, struct client *c, uint32_t msgid, uint64_t id, int64_t exit_status,
		 bool interrupted);

/*
 * The supervisor of a run whose connection went is there again: it is known by the id of its claim. Its answer
 * comes when this node leads as it did when the job began, or is that it is not attached.
 */
void runs_attach(struct runs *r, struct client *c, uint32_t msgid, const struct task *t,
		 const char *id);

/* How many jobs are going on, or may be until their lease is over. */
size_t runs_going(const struct runs *r);
bool runs_hold(const struct runs *r, const struct task *t);
/* Our session was taken over: its jobs are dead when its lease is over, or attach. */
void runs_take_over(struct runs *r, int64_t timeout_ms);
/* From now on `renew` tells every job that the leadership is lost. */
void runs_revoke(struct runs *r);

/* What happens elsewhere. */
void runs_changed(struct runs *r);
void runs_client_gone(struct runs *r, const struct client *c);
void runs_task_removed(struct runs *r, const struct task *t);
void runs_expired(struct runs *r);
void runs_watch(struct runs *r, enum store_watch type, const char *path);

#endif
