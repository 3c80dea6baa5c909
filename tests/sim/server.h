/*
 * The servers: one that leads, others that follow behind it. What clients can notice is as in
 * ZooKeeper 3.8; how a leader is chosen is shortened. docs/SIMULATION.md says what is left out.
 */
#ifndef TESTS_SIM_SERVER_H
#define TESTS_SIM_SERVER_H

#include "net.h"

enum role { ROLE_LOOKING, ROLE_FOLLOWING, ROLE_LEADING };

/* What a leader knows of a session beside its node. */
struct track {
	int64_t session;
	int64_t timeout_ms;
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
	enum role role;
	uint64_t life; /* of its timer */
	int64_t epoch;
	int64_t *log; /* numbers of transactions */
	size_t n_log, capacity, applied;
	struct tree tree;
	/* following */
	unsigned leader;
	uint64_t term;
	int64_t heard_ms;
	int64_t touched[SESSIONS_MAX];
	size_t n_touched;
	/* leading */
	struct tree prepared; /* with what is proposed and not yet committed */
	int64_t next_zxid;
	uint64_t terms[SERVERS_MAX]; /* of each follower, 0: it is none */
	size_t acked[SERVERS_MAX];
	int64_t heard[SERVERS_MAX];
	struct track tracks[SESSIONS_MAX];
	size_t n_tracks;
	struct connection *connections[4 * SIDECARS_MAX];
	size_t n_connections;
};

extern struct server servers[SERVERS_MAX];

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
/* Something done by hand, through the leader; false: there is none. */
bool servers_by_hand(const struct op *ops, unsigned n_ops);
/* Whether all servers are up and follow the same one. */
bool servers_agree(void);
/* And are linked and have everything. */
bool servers_whole(void);

/* The parts. */
struct transaction *transaction_at(int64_t number);
void server_look(struct server *s);
void quorum_submit(struct server *leader, const struct transaction *x);
void quorum_receive(struct server *s, struct message *m);
bool quorum_touch(struct server *leader, int64_t session, int own);
void quorum_tick(struct server *s);
void quorum_reset(void);
int64_t server_ms(const struct server *s);
void serve_reset(void);
void serve_receive(struct server *s, struct message *m);
void serve_committed(struct server *s, const struct transaction *x);
void serve_watch(void *arg, unsigned task, uint32_t tick, enum watch_type type);
void serve_close_all(struct server *s);
void serve_granted(struct server *s, struct connection *c, bool valid);
void serve_pass_on(struct server *s, struct transaction *x);

#endif
