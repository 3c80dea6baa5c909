/*
 * Events about this node and ZooKeeper, or the whole fleet: that it is disconnected, as soon as its
 * lease is over; and that all workers have one version, another than that was told of last, which
 * the data of ROOT/notices are.
 */
#ifndef ZKLEADER_NODE_NOTICES_OUTAGES_H
#define ZKLEADER_NODE_NOTICES_OUTAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/name.h"
#include "node/host.h"

#define ROLLOUTS_WAIT_MS    1000 /* that all workers have had one version for */
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
	char version[NAME_VERSION_MAX + 1]; /* that ROOT/notices was seen to say, "" */
	bool asking;
};

void outages_init(struct outages *o, struct session *session, struct registry *registry);
/* Behind the session's end. */
void outages_done(struct outages *o);
/* From the session's handlers. */
void outages_up(struct outages *o);
void outages_cut(struct outages *o);
void outages_fleet_changed(struct outages *o);

#endif
