/* What goes between clients and servers, and between servers: in order on each link, unless it is lost. */
#ifndef TESTS_SIM_NET_H
#define TESTS_SIM_NET_H

#include "tree.h"

enum request_type {
	REQUEST_CONNECT, /* session 0: a new one */
	REQUEST_CLOSE,
	REQUEST_WATCHES, /* sets the watches again after zxid */
	REQUEST_PING,
	REQUEST_GET,	/* target: task, or WATCH_WORKERS for the record `record` */
	REQUEST_EXISTS, /* the same */
	REQUEST_LIST,	/* workers */
	REQUEST_LEADERS,
	REQUEST_TICK,	/* the record of `tick` of the task, and a watch */
	REQUEST_LEDGER, /* version and floor of the task's ledger */
	REQUEST_TICKS,	/* the names in it */
	REQUEST_MULTI
};

struct tick_watch {
	unsigned task;
	uint32_t tick;
	bool exists;
};

struct request {
	enum request_type type;
	uint64_t id;
	unsigned target;
	uint32_t record;
	bool watch;
	int64_t session, zxid, timeout_ms; /* CONNECT, WATCHES */
	uint64_t data_watches, exist_watches;
	bool child_watch;
	struct op ops[OPS_MAX];
	unsigned n_ops;
	uint32_t tick;
	uint64_t run; /* for the asker */
	struct ledger_write ledger;
	struct tick_watch *ticks; /* WATCHES; owned by the message */
	size_t n_ticks;
	uint32_t heir; /* MULTI that releases: to whom, 0 */
};

struct reply {
	uint64_t id;
	enum code code;
	int failed_op;
	int64_t zxid;
	struct leader_node node;
	int64_t session; /* CONNECT: 0 if it has expired; a record: its owner */
	int64_t timeout_ms;
	bool session_only; /* the answer to CONNECT */
	uint64_t leaders;
	struct tick_node tick;
	int32_t ledger_version;
	uint32_t ledger_floor;
	uint32_t *list; /* owned by the message */
	size_t n_list;
};

enum message_type {
	/* client to server, server to client */
	MESSAGE_REQUEST,
	MESSAGE_HANG_UP, /* the connection is closed by its other end */
	MESSAGE_REPLY,
	MESSAGE_WATCH,
	/* server to server */
	MESSAGE_FORWARD,    /* follower to leader: transaction */
	MESSAGE_PROPOSE,    /* number in the log */
	MESSAGE_ACK,	    /* log length */
	MESSAGE_COMMIT,	    /* log length */
	MESSAGE_BEAT,	    /* leader to follower */
	MESSAGE_TOUCHED,    /* follower to leader: the answer, with the sessions heard of */
	MESSAGE_REVALIDATE, /* follower to leader */
	MESSAGE_VALID	    /* the answer */
};

struct message {
	struct message *next;
	enum message_type type;
	struct connection *connection;
	unsigned from, to; /* servers */
	uint64_t term;	   /* of the follower's time with this leader */
	union {
		struct request request;
		struct reply reply;
		struct {
			unsigned task;
			uint32_t tick;
			enum watch_type watch;
		};
		struct transaction transaction;
		struct {
			int64_t number; /* a transaction, a length, or a session */
			int64_t answer;
			int64_t *list; /* owned: sessions */
			size_t n_list;
		};
	};
};

/* A request that a server has not answered yet. */
struct pending {
	struct request request;
	bool done; /* a write: committed */
	struct reply reply;
};

struct connection {
	struct lib *lib;
	unsigned sidecar, server;
	bool client_open, server_open;
	bool granted; /* the server knows the session */
	int64_t session;
	int64_t closing; /* the client's request to end the session is on its way */
	uint64_t watches;
	bool child_watch;
	struct tick_watch *ticks; /* watched */
	size_t n_ticks, ticks_capacity;
	struct pending *queue;
	size_t n_queue, capacity;
	struct connection *next; /* of all in the run */
};

void net_reset(void);
struct connection *net_connect(struct lib *lib, unsigned sidecar, unsigned server);
struct message *message_new(enum message_type type);
void message_free(struct message *m);
void net_to_server(struct connection *c, struct message *m);
void net_to_client(struct connection *c, struct message *m);
void net_between(unsigned from, unsigned to, struct message *m);
/* Links: cut ones keep what is sent until they are whole again. */
void net_cut_client(unsigned sidecar, unsigned server, bool up, bool down);
void net_heal_client(unsigned sidecar, unsigned server);
void net_cut_servers(unsigned a, unsigned b);
void net_heal_servers(unsigned a, unsigned b);
bool net_servers_linked(unsigned a, unsigned b);
bool net_client_linked(unsigned sidecar, unsigned server);

/* What a process that is stopped finds when it goes on. */
struct inbox {
	bool paused, waking;
	int64_t ready_at; /* when it has woken up */
	event_fn fn;
	uint64_t wakes;
	struct message *head, **tail;
};
void inbox_init(struct inbox *in);
/* True if the message has been put aside: it will be given to fn again. */
bool inbox_holds(struct inbox *in, struct message *m, event_fn fn);
void inbox_resume(struct inbox *in);
void inbox_clear(struct inbox *in);

#endif
