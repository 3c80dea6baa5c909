/*
 * The names of ZooKeeper's servers by their addresses, as they were looked up last: the library
 * knows addresses alone, and certificates names. Any thread.
 */
#ifndef ZKLEADER_DAEMON_MACHINE_SERVER_NAMES_H
#define ZKLEADER_DAEMON_MACHINE_SERVER_NAMES_H

#include <stddef.h>

#define SERVER_NAME_SIZE     256
#define SERVER_NAMES_MAX     4	 /* of one address */
#define SERVER_ADDRESSES_MAX 128 /* of all names */

/* Forgets the addresses with that port that the name had. */
void server_names_forget(const char *name, const char *port);
/* The name has the address "address:port", a v6 one with or without brackets. */
void server_names_add(const char *address, const char *name);
/* Returns how many names the address has. */
size_t server_names_find(const char *address, char names[SERVER_NAMES_MAX][SERVER_NAME_SIZE]);

#endif
