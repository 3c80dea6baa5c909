/* Settings of the ZooKeeper client library behind node/store.h. */
#ifndef ZKLEADER_DAEMON_ZOOKEEPER_ZK_H
#define ZKLEADER_DAEMON_ZOOKEEPER_ZK_H

#include <stdbool.h>

/* With detail, the library's informational lines go to our log at debug level as well. */
void zk_log_detail(bool detail);

#endif
