/*
 * The ZooKeeper client library's own thread as a sidecar has it: connects, reconnects, keeps the session,
 * sets its watches again. What it has for the sidecar goes to fn, which only queues it.
 */
#ifndef TESTS_SIMNODE_CLIENT_H
#define TESTS_SIMNODE_CLIENT_H

#include "net.h"

struct machine;

enum lib_state { LIB_CONNECTING, LIB_CONNECTED, LIB_EXPIRED, LIB_CLOSING, LIB_CLOSED };
enum item_kind {
	ITEM_CONNECTED,
	ITEM_CONNECTING,
	ITEM_EXPIRED,
	ITEM_WATCH,
	ITEM_REPLY,
	ITEM_CLOSED
};

/* A request as the sidecar asked it: kept until it is answered. */
struct asked {
	struct asked *next;
	struct request *request;
	int64_t sent_ms; /* by the host's clock, before it was given to the library */
	store_reply_fn fn;
	void *arg;
};

struct item {
	enum item_kind kind;
	struct asked *asked; /* REPLY: its receiver's from now on, with what the reply holds */
	struct reply reply;
	/* CONNECTED */
	int64_t session;
	int timeout_ms;
	unsigned server;
	/* WATCH */
	path_id path;
	enum store_watch watch;
};

typedef void (*item_fn)(void *arg, const struct item *item);

/* The fate of the next write. */
enum doom { DOOM_NONE, DOOM_REQUEST, DOOM_ANSWER };

struct lib {
	struct lib *next; /* of all of the machine */
	struct machine *machine;
	enum lib_state state;
	item_fn fn;
	void *arg;
	int64_t session;
	uint8_t password[STORE_PASSWORD_SIZE];
	int64_t timeout_ms; /* asked for, then granted */
	int64_t last_zxid;
	struct connection *connection; /* NULL: none is being tried */
	bool granted;
	unsigned order[SERVERS_MAX], next_server;
	int64_t last_sent, last_received;   /* by the library's clock, us */
	struct path_set data, exist, child; /* watched */
	struct asked *head, **tail;	    /* not answered yet, in order */
	uint64_t next_id;
	uint64_t timer; /* of all that were set, the one that counts */
	enum doom doom;
	uint64_t doomed; /* the request whose answer will not arrive, 0 */
};

struct lib *lib_open(struct machine *m, int64_t timeout_ms, int64_t session,
		     const uint8_t *password, item_fn fn, void *arg);
/* The server is told to end the session; ITEM_CLOSED follows when that is over, and nothing else. */
void lib_close(struct lib *l);
/* As the kernel does when the process has died, and to free one that is closed. */
void lib_free(struct lib *l);
/* Takes the request over. */
void lib_ask(struct lib *l, struct request *q, int64_t sent_ms, store_reply_fn fn, void *arg);
void lib_receive(struct message *m);
void lib_on_message(void *message, uint64_t number); /* the same as an event */
/* The connection is lost, as by a reset. */
void lib_lose(struct lib *l);
/* After a pause: the library's timers. */
void lib_resume(struct lib *l, bool timers_first);
void asked_free(struct asked *a);

#endif
