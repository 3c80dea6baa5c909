/* The content of ROOT/schedules/TASK: the schedule that is in force, and since when. */
#ifndef ZKLEADER_WIRE_RECORDS_SCHEDULE_RECORD_H
#define ZKLEADER_WIRE_RECORDS_SCHEDULE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "wire/keys.h"

#define RECORD_SCHEDULE_MAX  1024 /* bytes */
#define SCHEDULE_RECORD_TEXT 200  /* bytes of the schedule */
#define SCHEDULE_RECORD_ZONE 100

struct schedule_record {
	char text[SCHEDULE_RECORD_TEXT + 1];
	char timezone[SCHEDULE_RECORD_ZONE + 1];
	int64_t since; /* ms since the epoch: no tick up to then is owed */
};

RECORD_DECLARE(schedule, schedule_record);
#endif
