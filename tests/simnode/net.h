/* Messages between clients and servers, and between servers: in order on each link, unless lost. */
#ifndef TESTS_SIMNODE_NET_H
#define TESTS_SIMNODE_NET_H

#include "tree.h"

enum request_type {
	REQUEST_CONNECT, /* session 0: a new one */
	REQUEST_CLOSE,
	REQUEST_WATCHES, /* sets the watches again after zxid */
	REQUEST_PING,
	REQUEST_GET,
	REQUEST_EXISTS,
	REQUEST_CHILDREN,
	REQUEST_UNWATCH,
	REQUEST_CREATE,
	REQUEST_MULTI
};

/* Paths, each once. Zeroed memory is an empty set. */
struct path_set {
	path_id *list;
	size_t n, capacity;
};

bool path_set_add(struct path_set *s, path_id p);
bool path_set_take(struct path_set *s, path_id p); /* false: it was not in it */
void path_set_copy(struct path_set *s, const struct path_set *from);
void path_set_done(struct path_set *s);

struct request {
	unsigned refs;
	enum request_type type;
	uint64_t id;
	path_id path;
	bool watch;
	bool children; /* UNWATCH */
	/* CONNECT, WATCHES */
	int64_t session, zxid, timeout_ms;
	uint8_t password[STORE_PASSWORD_SIZE];
	struct path_set data, exist, child;
	/* CREATE, MULTI */
	size_t n_ops;
	struct op ops[];
};

struct request *request_new(enum request_type type, size_t n_ops);
struct request *request_keep(struct request *q);
/* WATCHES: bytes of the packet. */
int64_t watches_bytes(const struct request *q);
void request_drop(struct request *q);

struct reply {
	uint64_t id;
	enum store_code code;
	int failed_op;
	int64_t zxid;
	struct store_stat stat;
	struct blob *data;
	path_id *names; /* owned */
	size_t n_names;
	int64_t session; /* CONNECT: 0 if it has expired */
	int64_t timeout_ms;
};

void reply_done(struct reply *r);

enum message_type {
	/* client to server, server to client */
	MESSAGE_REQUEST,
	MESSAGE_HANG_UP, /* the connection is closed by its other end */
	MESSAGE_REPLY,
	MESSAGE_WATCH,
	/* server to server */
	MESSAGE_FORWARD,    /* follower to leader: transaction */
	MESSAGE_PROPOSE,    /* leader to follower: transaction */
	MESSAGE_ACK,	    /* log length */
	MESSAGE_COMMIT,	    /* log length */
	MESSAGE_BEAT,	    /* leader to follower */
	MESSAGE_TOUCHED,    /* follower to leader: the answer, with the sessions heard of */
	MESSAGE_REVALIDATE, /* follower to leader */
	MESSAGE_VALID	    /* the answer */
};

/* A session that a follower heard of, with the timeout of its connection. */
struct touched {
	int64_t session, timeout_ms;
};

struct message {
	struct message *next;
	enum message_type type;
	struct connection *connection;
	unsigned from, to; /* servers */
	uint64_t term;	   /* of the follower's time with this leader */
	union {
		struct request *request;
		struct reply reply;
		struct {
			path_id path;
			enum store_watch watch;
		};
		struct transaction *transaction;
		struct {
			int64_t number; /* a length, or a session */
			int64_t timeout_ms;
			bool valid;
			struct touched *list; /* owned */
			size_t n_list;
		};
	};
};

/* A request that a server has not answered yet. */
struct pending {
	struct request *request;
	bool done; /* a write: committed */
	struct reply reply;
};

struct connection {
	unsigned refs; /* by both ends, and by what is on its way */
	struct lib *lib;
	unsigned host, server;
	bool client_open, server_open;
	bool granted; /* the server knows the session */
	int64_t session, timeout_ms;
	struct path_set data, child; /* watches */
	struct pending *queue;
	size_t n_queue, capacity;
};

void net_reset(void);
/* For events_reset(): frees what was on its way. */
void net_dispose(event_fn fn, void *arg);
struct connection *net_connect(struct lib *lib, unsigned host, unsigned server);
struct connection *connection_ref(struct connection *c);
void connection_unref(struct connection *c); /* takes NULL */
struct message *message_new(enum message_type type);
void message_free(struct message *m);
/*
 * For who measures, NULL: what a client has sent; and for how long what a server sends waits there, microseconds.
 */
extern void (*net_asked)(const struct connection *c, const struct message *m);
extern int64_t (*net_waits)(unsigned server, const struct message *m);
void net_to_server(struct connection *c, struct message *m);
void net_to_client(struct connection *c, struct message *m);
void net_between(unsigned from, unsigned to, struct message *m);
/* Links: cut ones keep what is sent until they are whole again. */
void net_cut_client(unsigned host, unsigned server, bool up, bool down);
void net_heal_client(unsigned host, unsigned server);
void net_cut_servers(unsigned a, unsigned b);
void net_heal_servers(unsigned a, unsigned b);
bool net_servers_linked(unsigned a, unsigned b);

/* Messages for a process that is stopped, which it finds when it goes on. */
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
