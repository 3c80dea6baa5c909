/* The common part of the simulated gangs' two files: who asks for them, and what is committed. */
#ifndef TESTS_SIMNODE_RECIPE_GANG_H
#define TESTS_SIMNODE_RECIPE_GANG_H

#include "node/recipes/party/party_ticket.h"
#include "recipes.h"

#define GANGS	       3
#define GANG_MEMBERS   3 /* at most */
#define GANG_ASKS_MAX  (1 << 14)
#define GANG_NODES_MAX 256

struct gang_ask {
	enum { NONE, ASKING, HELD, RUNNING, ENDED, OVER } phase;
	unsigned site, gang, key;
	uint64_t number, begun; /* begun: the gang that its command is of, by our count */
	int64_t deadline_ms;	/* of the command, its machine's CLOCK_BOOTTIME */
	int64_t since, timeout_ms;
	bool connected, attaching, told, interrupted;
	bool counted, denied, lost; /* lost: with all data */
};
extern struct gang_ask gang_asks[GANG_ASKS_MAX];
extern uint64_t n_gang_asks; /* an ask's id is its place, and one */

struct gang_seen {
	char name[8];
	path_id path;
	unsigned count;
	bool goes_on;
	struct gang_record record;     /* as it is committed */
	uint64_t begun;		       /* how many there were */
	int64_t left_by[GANG_MEMBERS]; /* by index the session that has left it in order, or 0 */
	int64_t empty_at;	       /* since then no node is there; 0: one is */
	int64_t left_since, stop_since,
		open_since; /* since when something is not as it should be */
};
extern struct gang_seen gangs[GANGS];

struct gang_node {
	path_id path;
	int64_t session;
	uint64_t id;
	unsigned gang;
};
extern struct gang_node gang_nodes[GANG_NODES_MAX];
extern unsigned n_gang_nodes;

#endif
