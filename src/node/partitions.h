/*
 * How many partitions of which task are in force, as ROOT/partitions says: a znode TASK:N for each.
 * Every change of the folder's content also writes the folder itself, by the version that its maker
 * has seen: so for a task there is one number at a time, whatever the files of the hosts say.
 */
#ifndef ZKLEADER_NODE_PARTITIONS_H
#define ZKLEADER_NODE_PARTITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/name.h"
#include "wire/record.h"
#include "node/folder.h"

#define PARTITIONS_TEXT_MAX (STORE_PATH_MAX + 400)

struct leaders;
struct listing;
struct member;

enum partitions_state {
	PARTITIONS_PLAIN,    /* it is led as a whole */
	PARTITIONS_UNKNOWN,  /* what is in force is not read yet, or has yet to be made so */
	PARTITIONS_IN_FORCE, /* as many as its file says: each is led */
	PARTITIONS_REFUSED   /* another number than its file's is in force: not led here */
};

/* A number that is in force. */
struct partitions_rule {
	char task[NAME_TASK_MAX + 1];
	unsigned n; /* 1: it is led as a whole again */
	char name[NAME_ELECTION_MAX + 1];
	struct split_record record;
	int64_t ctime; /* the server's wall clock */
};

/* Of a listing: only partitions.c writes it. */
struct partitions_making {
	bool marked;	  /* the marker is there already */
	bool unreadable;  /* the number in force is there, and has no record that can be read */
	int64_t retry_ms; /* not tried again before */
	char *problem;	  /* why it could not be made, NULL; the listing frees it */
};

enum partitions_result {
	PARTITIONS_DONE,
	PARTITIONS_NOTHING,    /* as many are in force already */
	PARTITIONS_LED,	       /* somebody leads a partition still; the text says who */
	PARTITIONS_NOT_PAUSED, /* the task is not paused */
	PARTITIONS_CLOCK,      /* this node's clock and the server's differ too much */
	PARTITIONS_NOT_KNOWN,  /* the connection went: it may or may not have happened */
	PARTITIONS_FAILED      /* refused by the server; the text says why */
};

typedef void (*partitions_fn)(void *arg, enum partitions_result result, const char *text);

struct partitions {
	struct leaders *leaders;
	struct folder folder;	       /* ready: it has been read whole in this session */
	struct partitions_rule *rules; /* sorted by the znodes' names; owned array */
	size_t n;
	bool busy;	/* a request for what is to be made is on its way */
	bool versioned; /* version is that of the folder that the rules are from */
	int32_t version;
	uint64_t due;			   /* folder.lists at which it is */
	struct partitions_change *changes; /* on their way */
	struct host_timer retry;
};

void partitions_init(struct leaders *l);
void partitions_done(struct leaders *l);

/* From the session's handlers. */
void partitions_up(struct leaders *l);
void partitions_cut(struct leaders *l);
void partitions_expired(struct leaders *l);
void partitions_watch(struct leaders *l, enum store_watch type, const char *path);

/* What is in force is not what was thought: it is read anew. */
void partitions_refresh(struct leaders *l);
/* Makes what the listings need and nothing else is in force for, as far as that can be done now. */
void partitions_advance(struct leaders *l);

/* What is in force for a task, NULL: nothing is. */
const struct partitions_rule *partitions_rule(const struct leaders *l, const char *task);
/* What its file and what is in force come to. */
enum partitions_state partitions_judge(const struct leaders *l, const struct listing *listing,
				       unsigned *ret_in_force);
/*
 * The moment (the server's wall clock) up to which ticks of the task, or of the partition T:K,
 * count as claimed, as its number of partitions was changed then; 0: there is none.
 */
int64_t partitions_floor_ms(const struct leaders *l, const char *name);

enum partitions_state partitions_state(const struct listing *listing);
/* 0: none, or it is not known; also where the task is refused here. */
unsigned partitions_in_force(const struct listing *listing);
/* Whether something keeps the task from being led here; if so a sentence that says what to do. */
bool partitions_problem(const struct listing *listing, char ret_text[PARTITIONS_TEXT_MAX]);
/*
 * Whether that member is no candidate for the partitions that are in force here, as its files have
 * another number, or its release knows none; if so a sentence.
 */
bool partitions_differ(const struct listing *listing, const struct member *m,
		       char ret_text[PARTITIONS_TEXT_MAX]);
/*
 * Puts another number in force, 1: it is led as a whole again. The task has to be paused; one
 * transaction proves that it is, and that nobody leads any partition. fn is called once, also
 * before this returns.
 */
void partitions_change(struct leaders *l, const char *task, unsigned n, const char *reason,
		       const char *by, partitions_fn fn, void *arg);

/* Of partitions_change(), for partitions.c: in node/repartition.c. */
void partitions_changes_run(struct leaders *l);
void partitions_changes_up(struct leaders *l);
void partitions_changes_done(struct leaders *l);

#endif
