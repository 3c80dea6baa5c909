/*
 * The content of ROOT/seen/TASK: since when the task has had no run that ended well; and that of
 * ROOT/troubles/TASK: people were told that it failed, and not yet that it is well again.
 */
#ifndef ZKLEADER_WIRE_RECORDS_SEEN_RECORD_H
#define ZKLEADER_WIRE_RECORDS_SEEN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/keys.h"

#define RECORD_SEEN_MAX 512 /* bytes */

struct seen_record {
	int64_t since; /* ms since the epoch */
	bool ok;       /* a run ended well then; else a leader saw the task for the first time */
	bool told;     /* people were told that this is too long ago */
};

struct trouble_record {
	int64_t since; /* ms since the epoch: when the first of them was */
	/*
	 * How many they are, but for one for each version of the znode: another failure writes it
	 * anew, which counts it. None: the task was overdue.
	 */
	int64_t failed;
};

RECORD_DECLARE(seen, seen_record);
RECORD_DECLARE(trouble, trouble_record);
#endif
