/*
 * Events about the connection and the fleet: this node is disconnected, told as soon as its lease
 * is over; and a rollout is complete, as all workers have one version other than the last one
 * announced. That one is the data of ROOT/notices.
 */
#ifndef ZKLEADER_NODE_NOTICES_OUTAGES_H
#define ZKLEADER_NODE_NOTICES_OUTAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/name.h"
#include "node/host.h"

#define ROLLOUTS_WAIT_MS    1000 /* time for which all workers have one version */
#define ROLLOUTS_STAGGER_MS 100	 /* between nodes, so that one tells and the others see it */

struct registry;
struct session;

struct outages {
	struct session *session;
	struct registry *registry;
	struct host_timer lost;		    /* the end of the lease of a connection that went */
	int64_t since;			    /* wall clock: when it went; 0: it is there */
	bool told;			    /* of this one */
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
