/* The score that spreads the tasks over equal workers; docs/ELECTION.md publishes the formula. */
#ifndef ZKLEADER_CORE_FLEET_RANK_H
#define ZKLEADER_CORE_FLEET_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/worker.h"
#include "core/fleet/version.h"

/* The version of the rules that order candidates: each change of them takes another number. */
#define RANK_SCHEME 1

/* A worker's key: XXH64 of its five random ints as 20 little-endian bytes, seed 0. */
uint64_t rank_key(const int32_t random_ints[WORKER_RANDOM_INTS]);
/*
 * A task's score at a worker: XXH64 of the task's name seeded with the worker's key, shifted right
 * by 11, so that it is exact in a double and in JSON. Rendezvous hashing (Thaler and Ravishankar,
 * 1996): the biggest wins, and a join or a leave moves only the tasks that the worker gains or
 * loses.
 */
uint64_t rank_score(uint64_t key, const char *task);
/* The keys of a task's configuration that decide on its candidates and their order. */
struct rank_keys {
	int position;		 /* 0..4, or -1 */
	const char *min_version; /* NULL: none */
	enum version_policy version_policy;
	unsigned partitions, limit; /* 0: none */
	const char *spread;	    /* NULL: none */
};

/*
 * A digest of these keys: sidecars with different digests may disagree on the task's best
 * candidate.
 */
uint32_t rank_digest(const struct rank_keys *keys);
/* Orders two address literals: IPv4 before IPv6, then by number; others first, by strcmp. */
int rank_compare_ip(const char *a, const char *b);

#endif
