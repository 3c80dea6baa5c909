/*
 * The number of partitions in force for each task: a znode TASK:N for each under ROOT/partitions.
 * Every change in the folder also writes the folder itself, under the version that was read. So a
 * task has one number at a time, even if the files of the hosts differ.
 */
#ifndef ZKLEADER_NODE_ELECTION_PARTITIONS_H
#define ZKLEADER_NODE_ELECTION_PARTITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/text/name.h"
#include "node/tree/folder.h"
#include "wire/records/record.h"

#define PARTITIONS_TEXT_MAX (STORE_PATH_MAX + 400)

struct leaders;
struct listing;
struct member;

enum partitions_state {
	PARTITIONS_PLAIN,    /* the task is led as a whole */
	PARTITIONS_UNKNOWN,  /* the number in force is not read yet, or not made yet */
	PARTITIONS_IN_FORCE, /* the number of its file: each partition is led */
	PARTITIONS_REFUSED   /* not the number of its file: not led here */
};

/* A number that is in force. */
struct partitions_rule {
	char task[NAME_TASK_MAX + 1];
	unsigned n; /* 1: the task is led as a whole again */
	char name[NAME_ELECTION_MAX + 1];
	struct split_record record;
	int64_t ctime; /* the server's wall clock */
};

/* The partitions state of a listing: only partitions.c writes it. */
struct partitions_making {
	bool marked;	  /* the marker is there already */
	bool unreadable;  /* the znode of the number exists, but its record is not readable */
	int64_t retry_ms; /* no attempt before; CLOCK_BOOTTIME */
	char *problem;	  /* why it could not be made, NULL; the listing frees it */
};

enum partitions_result {
	PARTITIONS_DONE,
	PARTITIONS_NOTHING,    /* that number is in force already */
	PARTITIONS_LED,	       /* a partition still has a leader; the text names it */
	PARTITIONS_NOT_PAUSED, /* the task is not paused */
	PARTITIONS_CLOCK,      /* this node's clock differs too much from the server's */
	PARTITIONS_NOT_KNOWN,  /* the connection was lost: the outcome is unknown */
	PARTITIONS_FAILED      /* refused by the server; the text says why */
};

typedef void (*partitions_fn)(void *arg, enum partitions_result result, const char *text);

struct partitions {
	struct leaders *leaders;
	struct folder folder;	       /* ready: read completely in this session */
	struct partitions_rule *rules; /* sorted by the znodes' names; owned array */
	size_t n;
	bool busy;	/* a request that makes znodes is outstanding */
	bool versioned; /* `version` is that of the folder which the rules were read from */
	int32_t version;
	uint64_t due; /* folder.lists from which on it is so */
	LIST_HEAD(partitions_change_list, partitions_change) changes; /* outstanding */
	struct host_timer retry;
};

void partitions_init(struct leaders *l);
void partitions_done(struct leaders *l);

/* Called by the session's handlers. */
void partitions_up(struct leaders *l);
void partitions_cut(struct leaders *l);
void partitions_expired(struct leaders *l);
void partitions_watch(struct leaders *l, enum store_watch type, const char *path);

/* A request met a number other than the known one: read it again. */
void partitions_refresh(struct leaders *l);
/* Makes the numbers that listings need and that have none in force, as far as possible now. */
void partitions_advance(struct leaders *l);

/* The rule in force for a task; NULL: none. */
const struct partitions_rule *partitions_rule(const struct leaders *l, const char *task);
/*
 * The i-th znode that there is about the task's number, readable or not, and the number by its
 * name; NULL: no more.
 */
const char *partitions_name(const struct leaders *l, const char *task, size_t i, unsigned *ret_n);
/* Compares the number in the task's file with the one in force. */
enum partitions_state partitions_judge(const struct leaders *l, const struct listing *listing,
				       unsigned *ret_in_force);
/*
 * The time (the server's wall clock) of the last change of the number of partitions: earlier ticks
 * of the task, or of the partition T:K, count as claimed. 0: never.
 */
int64_t partitions_floor_ms(const struct leaders *l, const char *name);

enum partitions_state partitions_state(const struct listing *listing);
/* Whether the task cannot be led here; if so ret_text says what to do. */
bool partitions_problem(const struct listing *listing, char ret_text[PARTITIONS_TEXT_MAX]);
/*
 * Whether the member is no candidate for the partitions in force, as its files have another number
 * or its release has no partitions; if so ret_text says so.
 */
bool partitions_differ(const struct listing *listing, const struct member *m,
		       char ret_text[PARTITIONS_TEXT_MAX]);
/*
 * Puts another number in force; 1: the task is led as a whole again. The task has to be paused; one
 * transaction proves that it is, and that no partition has a leader. fn is called once, maybe
 * before this returns.
 */
void partitions_change(struct leaders *l, const char *task, unsigned n, const char *reason,
		       const char *by, partitions_fn fn, void *arg);

/* Shared with partitions_making.c; partitions_retry() is called when the timer `retry` rings. */
void partitions_add_rule(struct partitions *p, const struct partitions_rule *rule);
void partitions_retry(void *arg);

/* Parts of partitions_change(), called by partitions.c; in node/election/repartition.c. */
void partitions_changes_run(struct leaders *l);
void partitions_changes_up(struct leaders *l);
void partitions_changes_done(struct leaders *l);

#endif
