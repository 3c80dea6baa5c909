/* Asks a port that gives ZooKeeper's client no answer what it speaks in place of ZooKeeper. */
#ifndef ZKLEADER_DAEMON_ZOOKEEPER_PORT_PROBE_H
#define ZKLEADER_DAEMON_ZOOKEEPER_PORT_PROBE_H

#include <stddef.h>

enum port_speaks { PORT_UNKNOWN, PORT_TLS, PORT_HTTP };

/* The protocol that an answer is of, by its first bytes. */
enum port_speaks port_speaks(const void *bytes, size_t len);
/* Connects to "address:port", numeric. Blocks for a second at most. */
enum port_speaks port_probe(const char *server);

#endif
