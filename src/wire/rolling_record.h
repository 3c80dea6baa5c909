/* The records of rolling restarts: what the znodes below ROOT/rolling hold. */
#ifndef ZKLEADER_WIRE_ROLLING_RECORD_H
#define ZKLEADER_WIRE_ROLLING_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/name.h"
#include "base/worker.h"
#include "wire/record.h"

#define RECORD_ROLLING_MAX  4096 /* bytes */
#define ROLLING_SLOTS_MAX   1000 /* of a group */
#define ROLLING_PROCESS_MAX 64

/* ROOT/rolling/GROUP */
struct rolling_group {
	int64_t max_unavailable;
	int64_t halted_since; /* ms since the epoch; 0: it is not halted, and the next two are "" */
	char halted_node[WORKER_NODE_MAX + 1];
	char halted_why[POLICY_TEXT_MAX + 1];
};

enum rolling_state {
	ROLLING_DRAINING, /* what it leads and runs comes to its end */
	ROLLING_RUNNING,  /* CMD, or the machine is booting */
	ROLLING_SOAKING,  /* CMD is done; it has to be healthy for a time */
	ROLLING_FAILED,	  /* CMD has failed: until somebody resumes the group, or releases it */
	ROLLING_STATES
};

/* ROOT/rolling/GROUP/slots/NODE */
struct rolling_slot {
	char id[NAME_ID_MAX + 1];    /* of this slot, another for each */
	char drain[NAME_ID_MAX + 1]; /* the name of the drain under ROOT/policy that goes with it */
	enum rolling_state state;
	char node[WORKER_NODE_MAX + 1];
	char machine[WORKER_MACHINE_MAX + 1];  /* "": not known */
	char boot_id[NAME_ID_MAX + 1];	       /* of the machine, when it was taken */
	char process[ROLLING_PROCESS_MAX + 1]; /* which one sees to it there; "" */
	char by[POLICY_TEXT_MAX + 1];	       /* the user */
	char host[NAME_HOST_MAX + 1];	       /* at which */
	int64_t since;			       /* ms since the epoch: when it was taken */
	int64_t exit_status;		       /* of CMD; -1: none yet */
};

/* ROOT/rolling/GROUP/waiting/… */
struct rolling_waiter {
	char node[WORKER_NODE_MAX + 1];
	int64_t since; /* ms since the epoch */
};

const char *rolling_state_name(enum rolling_state state);
bool rolling_state_parse(const char *text, size_t len, enum rolling_state *ret_state);
/* Printable ASCII of at most ROLLING_PROCESS_MAX bytes. */
bool rolling_process_is_good(const char *text, size_t len);

/* Each appends to out; 0 or -ENOBUFS. */
int record_pack_rolling_group(struct buffer *out, const struct rolling_group *g);
int record_pack_rolling_slot(struct buffer *out, const struct rolling_slot *s);
int record_pack_rolling_waiter(struct buffer *out, const struct rolling_waiter *w);
/* As the others (wire/record.h): 0, or -EBADMSG and *ret_why. */
int record_parse_rolling_group(const void *data, size_t len, struct rolling_group *ret_group,
			       const char **ret_why);
int record_parse_rolling_slot(const void *data, size_t len, struct rolling_slot *ret_slot,
			      const char **ret_why);
int record_parse_rolling_waiter(const void *data, size_t len, struct rolling_waiter *ret_waiter,
				const char **ret_why);

#endif
