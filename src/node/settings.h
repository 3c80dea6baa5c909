/* The settings of a node: plain data, from a configuration or from a test. */
#ifndef ZKLEADER_NODE_SETTINGS_H
#define ZKLEADER_NODE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "core/election/task_settings.h"

/*
 * These stay the same while the node lives. The texts belong to the creator, and outlive the node.
 */
struct node_settings {
	void *world; /* for the implementation of store.h; set by the program around the node */
	const char *servers;	    /* ZooKeeper's, "name:port,[v6]:port" */
	const char *root;	    /* path of the znode in which everything is, "/myapps" */
	int64_t session_timeout_ms; /* asked for */
	int64_t server_tick_ms;	    /* tickTime of the servers; 0: not known */
	const char *auth_scheme;    /* NULL: no identity */
	const char *auth_credential;
	const char *address;   /* NULL: that of the route to ZooKeeper */
	const char *hostname;  /* good by name_is_host() */
	const char *name;      /* which sidecar it is, the same over its restarts: "HOST:SOCKET" */
	const char *machine;   /* the machine, good by name_is_host(); NULL: not known */
	size_t watches_max;    /* bytes of the watches of a session; 0: WATCHES_MAX */
	size_t lists_from;     /* bytes of a list above which it is apart; 0: LISTS_FROM */
	size_t roll_from;      /* workers from which a roll is kept; 0: never */
	int64_t lists_keep_ms; /* for which a list stays that nobody has; 0: LISTS_KEEP_MS */
};

/* When leadership is handed over, and to which nodes not. */
struct node_timing {
	int64_t yield_delay_ms;
	int64_t tick_guard_ms;
	int64_t clock_tolerance_ms; /* a node whose clock is further off leads last */
};

/* The results of the health checks. */
struct node_health {
	bool known;	  /* each has told something */
	bool sick;	  /* the node is no candidate for any task */
	const char *says; /* why it is sick, "" */
	struct node_unhealthy {
		const char *task; /* for which it is no candidate */
		const char *says; /* why, "" */
		bool runner;	  /* the reason is that no working runner is there */
	} const *unhealthy;
	size_t n_unhealthy;
};

#endif
