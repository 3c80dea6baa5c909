/*
 * Trouble with the connections to servers, as the library's lines tell, in words for people. A port
 * that hangs up or keeps silent is asked beside the loop what else it speaks.
 */
#ifndef ZKLEADER_DAEMON_ZOOKEEPER_ZK_TROUBLE_H
#define ZKLEADER_DAEMON_ZOOKEEPER_ZK_TROUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/zookeeper/port_probe.h"

#define TROUBLE_SERVER_MAX  128
#define TROUBLE_MESSAGE_MAX 320

/* The end of a connection to a server, or of a try to connect. */
struct trouble {
	char server[TROUBLE_SERVER_MAX]; /* "address:port" */
	int error;			 /* errno, positive, as the library has it */
	bool hung_up;
	bool refused; /* by SASL */
	char *why;    /* what TLS or SASL say, with the remedy; owned; NULL: nothing */
};

struct trouble_probe;

/* All on the loop. */
struct troubles {
	uv_loop_t *loop;
	void (*said)(void *arg, const char *server, const char *message);
	void *arg;
	bool tls; /* our side speaks it */
	struct trouble last;
	unsigned hung_up;		 /* how often since a server has answered */
	char probed[TROUBLE_SERVER_MAX]; /* the port that was asked last; "": none */
	enum port_speaks speaks;	 /* what that speaks */
	int64_t probed_ms;		 /* CLOCK_BOOTTIME */
	struct trouble_probe *probe;	 /* outstanding; NULL: none */
};

/* Parses a line of the library, in any thread; false: it tells of no such end. */
bool trouble_parse(const char *line, struct trouble *ret_trouble);
/* times: how often in a row a server has hung up. */
void trouble_say(const struct trouble *t, unsigned times, enum port_speaks speaks, bool tls,
		 char message[TROUBLE_MESSAGE_MAX]);
/* Takes t->why over, and calls said, now and again once more is known. */
void troubles_heard(struct troubles *all, const struct trouble *t);
/* said is not called any more. */
void troubles_done(struct troubles *all);

#endif
