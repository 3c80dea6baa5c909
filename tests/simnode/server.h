/*
 * The servers: one that leads, others that follow behind it. What clients can notice is as in
 * ZooKeeper 3.8; how a leader is chosen is shortened. docs/SIMULATION.md says what is left out.
 */
#ifndef TESTS_SIMNODE_SERVER_H
#define TESTS_SIMNODE_SERVER_H

#include "net.h"

#ifndef SESSIONS_MAX
#define SESSIONS_MAX (64 * HOSTS_MAX)
#endif
#define CONNECTIONS_MAX (4 * HOSTS_MAX)

enum role { ROLE_LOOKING, ROLE_FOLLOWING, ROLE_LEADING };

/* A leader's notes about a session, beside its node. */
struct track {
	int64_t session;
	int64_t expiry_ms; /* by the server's clock, a multiple of the tick */
	unsigned owner;	   /* the server that its client is connected to */
	bool closing;
};

struct server {
	unsigned id;
	bool alive;
	bool blank; /* lost its data, and has not been given them again */
	struct inbox inbox;
	struct clock clock;
	int64_t wall_ms;	   /* its wall clock is wrong by so much */
	int64_t least_ms, most_ms; /* session timeouts that it grants */
	enum role role;
	uint64_t life; /* of its timer */
	int64_t epoch;
	struct transaction *
		*log; /* the entry at i is number i + trimmed of all, as messages tell it */
	size_t n_log, capacity, applied;
	struct tree tree;
	/* following */
	unsigned leader;
	uint64_t term;
	int64_t heard_ms;
	struct touched touched[SESSIONS_MAX];
	size_t n_touched;
	/* leading */
	struct tree prepared; /* with what is proposed and not yet committed */
	int64_t next_zxid;
	uint64_t terms[SERVERS_MAX]; /* of each follower, 0: it is none */
	size_t acked[SERVERS_MAX];
	int64_t heard[SERVERS_MAX];
	struct track tracks[SESSIONS_MAX];
	size_t n_tracks;
	struct connection *connections[CONNECTIONS_MAX];
	size_t n_connections;
};

extern struct server servers[SERVERS_MAX];

#define SERVER_PACKET_MAX (1024 * 1024) /* bytes that a server takes: jute.maxbuffer */

/* A session that servers keep, and whose requests they do not do. */
struct hostage {
	enum hostage_how {
		HOSTAGE_NONE,
		HOSTAGE_REFUSED, /* no write is allowed, as by an ACL */
		HOSTAGE_SILENT,	 /* pings alone are answered */
		HOSTAGE_HUNG_UP	 /* each connection is closed as soon as the session is taken */
	} how;
	int64_t session;
};
extern struct hostage serve_hostage;
/* For who judges, NULL: the watches of a client were too many for a packet. */
extern void (*serve_refused_packet)(const struct connection *c, int64_t bytes);

void servers_reset(void);
void server_receive(struct message *m);
/* Faults. */
void server_pause(unsigned s);
void server_resume(unsigned s);
void server_stop(unsigned s);
void server_start(unsigned s, bool with_data);
void server_reset_connection(struct connection *c);
/* The one that leads and can commit, -1. */
int servers_leader(void);
bool server_usable(unsigned s);
/* The leader's tree, with what it has proposed; NULL: there is no leader. */
const struct tree *servers_tree(void);
/* Something done by hand, through the leader, which takes x over; false: there is none. */
bool servers_by_hand(struct transaction *x);
/* Whether all servers are up and follow the same one. */
bool servers_agree(void);
/* And are linked and have everything. */
bool servers_whole(void);

/*
 * For the oracle, NULL: what is about to be proposed; what a server has as committed, each by itself; and
 * what a session's new connection was granted.
 */
extern void (*servers_propose)(const struct transaction *x, const struct tree *before);
extern void (*servers_commit)(const struct transaction *x);
extern void (*servers_grant)(int64_t session, int64_t timeout_ms);

/* The parts. */
void server_look(struct server *s);
void quorum_submit(struct server *leader, struct transaction *x); /* takes it over */
void quorum_receive(struct server *s, struct message *m);
bool quorum_touch(struct server *leader, int64_t session, int64_t timeout_ms, int own);
void quorum_tick(struct server *s);
void quorum_reset(void);
int64_t server_ms(const struct server *s);
void serve_reset(void);
void serve_receive(struct server *s, struct message *m);
void serve_committed(struct server *s, const struct transaction *x);
void serve_watch(void *arg, path_id path, enum store_watch type);
void serve_close_all(struct server *s);
void serve_granted(struct server *s, struct connection *c, bool valid);
void serve_password(int64_t session, uint8_t password[STORE_PASSWORD_SIZE]);

#endif
