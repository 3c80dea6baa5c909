/* The ZooKeeper client library as a sidecar has it: connects, reconnects, sets its watches again. */
#ifndef TESTS_SIM_CLIENT_H
#define TESTS_SIM_CLIENT_H

#include "net.h"

#define LIB_QUEUE_MAX 256

enum lib_state { LIB_CLOSED, LIB_CONNECTING, LIB_CONNECTED, LIB_EXPIRED };
enum item_kind { ITEM_CONNECTED, ITEM_CONNECTING, ITEM_EXPIRED, ITEM_WATCH, ITEM_REPLY };

/* A request as the sidecar asked it: kept until it is answered. */
struct asked {
	struct request request;
	int64_t sent_ms; /* CLOCK_BOOTTIME, before it was given to the library */
	unsigned what;	 /* for the asker */
	bool sent;
};

struct item {
	enum item_kind kind;
	struct asked asked;
	struct reply reply;
	unsigned task;
	uint32_t tick;
	enum watch_type watch;
};

typedef void (*item_fn)(void *arg, const struct item *item);

struct lib {
	unsigned sidecar;
	enum lib_state state;
	item_fn fn;
	void *arg;
	int64_t session;
	int64_t timeout_ms;
	int64_t last_zxid;
	struct connection *connection; /* NULL: none is being tried */
	bool granted;
	unsigned order[SERVERS_MAX], next_server;
	int64_t last_sent, last_received; /* by the library's clock, us */
	uint64_t data_watches, exist_watches;
	bool child_watch;
	struct tick_watch *ticks; /* watched; owned */
	size_t n_ticks, ticks_capacity;
	struct asked queue[LIB_QUEUE_MAX]; /* in order; answered from the front */
	size_t n_queue;
	uint64_t next_id;
	uint64_t life;	     /* of the handle */
	uint64_t timer_life; /* of its timer */
};

void lib_open(struct lib *l, unsigned sidecar, item_fn fn, void *arg, int64_t session);
/* Nothing follows. With farewell the server is told to end the session. */
void lib_close(struct lib *l, bool farewell);
/* Asks; the answer comes as an item with what. */
void lib_ask(struct lib *l, const struct request *request, int64_t sent_ms, unsigned what);
void lib_receive(struct message *m);
void lib_on_message(void *message, uint64_t number); /* the same as an event */
/* The connection is lost, as by a reset. */
void lib_lose(struct lib *l);
/* After a pause: the library's timers. */
void lib_resume(struct lib *l, bool timers_first);

#endif
