/* Names that nobody else ever makes. */
#ifndef ZKLEADER_NODE_SESSION_ID_H
#define ZKLEADER_NODE_SESSION_ID_H

#include "base/text/name.h"
#include "node/host.h"

/* A UUID by the host's random bytes, so that the simulator can repeat it. */
void id_new(struct host *h, char id[NAME_ID_MAX + 1]);

#endif
