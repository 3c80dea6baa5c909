/*
 * The tasks as the configuration has them, each led as a whole or by its partitions. The elections
 * that follow from them are struct task.
 */
#ifndef ZKLEADER_NODE_ELECTION_LISTING_H
#define ZKLEADER_NODE_ELECTION_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/election/task_settings.h"
#include "core/fleet/fleet.h"
#include "node/election/partitions.h"

struct leaders;
struct task;

struct listing {
	struct leaders *leaders;
	const char *name;
	struct task_settings settings; /* of its file; its texts are the listing's */
	enum partitions_state state;
	unsigned in_force; /* partitions; 0: none, or it is not known; set also if it is refused */
	size_t n;	   /* 0 while no number of partitions is known to be in force */
	struct partitions_making making;
	int64_t due_ms, due_from_ms; /* as listing_due_ms() worked out at due_from_ms; 0: not yet */
	struct task *tasks[];	     /* its elections: one, or one for each partition, by K */
};

/* Replaces the listings, which are sorted by name; the settings are copied. */
void listings_set(struct leaders *l, const struct task_settings *tasks, size_t n);
/* Frees what listings_set() has replaced. */
void listings_drop_old(struct leaders *l);
void listings_done(struct leaders *l);
/* A task of the configuration, not a partition of it, NULL. */
struct listing *listings_find(const struct leaders *l, const char *name, size_t len);
/* The listing of a task or of a partition; NULL: none. */
struct listing *listings_find_of(const struct leaders *l, const char *name);
/* Whether this worker's record lists the task: not while another number is in force. */
bool listing_is_published(const struct listing *listing);
/*
 * When the task is due next by its schedule, in ms since the epoch; 0: no schedule. Cheap until
 * that time has come.
 */
int64_t listing_due_ms(struct listing *listing, int64_t wall_ms);
/*
 * The contest for the task as a whole: fleet_rank() tells the order of the draft. It borrows from
 * the listing.
 */
struct contest listing_contest(const struct listing *listing);
/* The task's index in the fleet's contests, for `contest`; SIZE_MAX: it has no elections. */
size_t listing_index(const struct listing *listing);

#endif
