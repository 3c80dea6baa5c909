/*
 * Events about the connection and the fleet: this node was disconnected for longer than its lease,
 * which it notes as it comes back (returns.h), or tells by itself after ten minutes; and a rollout
 * is complete, as all workers have one version other than the last one
 * announced. That one is the data of ROOT/notices.
 */
#ifndef ZKLEADER_NODE_NOTICES_OUTAGES_H
#define ZKLEADER_NODE_NOTICES_OUTAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/name.h"
#include "node/host.h"
#include "node/notices/returns.h"

#define ROLLOUTS_WAIT_MS    1000 /* time for which all workers have one version */
#define ROLLOUTS_STAGGER_MS 100	 /* between nodes, so that one tells and the others see it */

#define OUTAGES_OWN_MS	    600000 /* after which a node tells people by itself */

struct registry;
struct session;

struct outages {
	struct session *session;
	struct registry *registry;
	struct returns returns;
	/* The end of the lease of a connection that went, and then the ten minutes. */
	struct host_timer lost;
	int64_t since;			    /* wall clock: when it went; 0: it is there */
	int64_t since_ms;		    /* the same by CLOCK_BOOTTIME */
	bool over;			    /* the lease is over: people are to be told */
	bool told;			    /* of this one, by this node */
	struct host_timer rolled;	    /* a rollout may be complete */
	char version[NAME_VERSION_MAX + 1]; /* last seen in ROOT/notices, "" */
	bool asking;
};

void outages_init(struct outages *o, struct session *session, struct registry *registry);
/* Called after session_done(). */
void outages_done(struct outages *o);
/* Called by the session's handlers. */
void outages_up(struct outages *o);
void outages_cut(struct outages *o);
void outages_fleet_changed(struct outages *o);

#endif
