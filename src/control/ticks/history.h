/* The method `history`: the records of a task's ticks, as the ledger keeps them. */
#ifndef ZKLEADER_CONTROL_TICKS_HISTORY_H
#define ZKLEADER_CONTROL_TICKS_HISTORY_H

#include "control/ask/methods.h"
#include "wire/pack.h"
#include "wire/records/record.h"

struct registry;

/*
 * Answers, usually later. For a task with partitions: the records of all partitions, by tick;
 * without a task: those of all tasks.
 */
void history_method(struct call *call);

/*
 * The record of a tick as a map, with room for `more` pairs that the caller adds. output: NULL
 * where it is not to be told.
 */
void history_pack_run(struct pack *p, const struct registry *registry, const char *tick,
		      const struct run_record *record, const char *output, size_t more);
/*
 * The state of the run: "lost" if it was running and its session is gone; the record then says why.
 */
const char *history_state(const struct registry *registry, struct run_record *record);

#endif
