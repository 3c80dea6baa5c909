/* The records of rolling restarts: the content of the znodes below ROOT/rolling. */
#ifndef ZKLEADER_WIRE_RECORDS_ROLLING_RECORD_H
#define ZKLEADER_WIRE_RECORDS_ROLLING_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/name.h"
#include "base/text/worker.h"
#include "base/text/rolling.h"
#include "wire/keys.h"
#include "wire/records/record.h"

#define RECORD_ROLLING_MAX  4096 /* bytes */
#define ROLLING_SLOTS_MAX   1000 /* slots of a group */
#define ROLLING_PROCESS_MAX 64

/* ROOT/rolling/GROUP: a group of nodes. */
struct rolling_group {
	int64_t max_unavailable;
	int64_t halted_since; /* ms since the epoch; 0: not halted, and the next two are "" */
	char halted_node[WORKER_NODE_MAX + 1];
	char halted_why[POLICY_TEXT_MAX + 1];
};

/* ROOT/rolling/GROUP/slots/NODE: a slot that a node has taken. */
struct rolling_slot {
	char id[NAME_ID_MAX + 1];    /* differs for each slot that is taken */
	char drain[NAME_ID_MAX + 1]; /* name of the drain under ROOT/policy for this slot */
	enum rolling_state state;
	char node[WORKER_NODE_MAX + 1];
	char machine[WORKER_MACHINE_MAX + 1];  /* "": not known */
	char boot_id[NAME_ID_MAX + 1];	       /* boot of the machine when the slot was taken */
	char process[ROLLING_PROCESS_MAX + 1]; /* the process in charge; "": none */
	char by[POLICY_TEXT_MAX + 1];	       /* the user who took the slot */
	char host[NAME_HOST_MAX + 1];	       /* the host of that user */
	int64_t since;			       /* ms since the epoch: when the slot was taken */
	int64_t exit_status;		       /* exit status of CMD; -1: none yet */
};

/* ROOT/rolling/GROUP/waiting/…: a node that waits for a slot. */
struct rolling_waiter {
	char node[WORKER_NODE_MAX + 1];
	int64_t since; /* ms since the epoch: when it began to wait */
};

const char *rolling_state_name(enum rolling_state state);
bool rolling_state_parse(const char *text, size_t len, enum rolling_state *ret_state);
/* Whether the text is printable ASCII of at most ROLLING_PROCESS_MAX bytes. */
bool rolling_process_is_good(const char *text, size_t len);

RECORD_DECLARE(rolling_group, rolling_group);
RECORD_DECLARE(rolling_slot, rolling_slot);
RECORD_DECLARE(rolling_waiter, rolling_waiter);
#endif
