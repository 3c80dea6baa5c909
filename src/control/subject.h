/*
 * What a request is about: a task that is led as a whole, one partition of a task, or all of the
 * partitions of one.
 */
#ifndef ZKLEADER_CONTROL_SUBJECT_H
#define ZKLEADER_CONTROL_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "control/methods.h"
#include "node/listing.h"

#define SUBJECT_LIST_SIZE 120 /* of a list of partitions in a text */

struct subject {
	struct listing *listing; /* NULL: the task is not configured any more */
	struct task *task;	 /* NULL: all partitions of the listing */
};

/* False: there is no such task, or partition. */
bool subject_find(const struct leaders *l, const char *name, size_t len, struct subject *ret);
/* The listing itself, whose election is meant where it has no partitions. */
struct subject subject_of(struct listing *l);
const char *subject_name(const struct subject *s);
/* Its elections, none where they are not known; good until the tasks are configured anew. */
struct task *const *subject_tasks(const struct subject *s, size_t *ret_n);
/* The next parameter; answers with an error and returns false if it is none. */
bool subject_take(struct call *call, struct subject *ret);
/*
 * The name of the task that a name of a partition belongs to; of a task its own. ret has room for
 * NAME_ELECTION_MAX + 1 bytes.
 */
void subject_task_of(const char *name, char *ret);

/* Those that a request names. */
struct subjects {
	struct task **tasks; /* their elections, each once; owned */
	size_t n_tasks;
	struct buffer names; /* of the subjects, each with its NUL */
	size_t n;
};

/*
 * All parameters that are left, each once, in their order; answers with an error and returns false
 * if one is none.
 */
bool subjects_take(struct call *call, struct subjects *ret);
void subjects_done(struct subjects *s);
/* The next of the names, beginning with NULL; NULL behind the last. */
const char *subjects_next(const struct subjects *s, const char *name);

/*
 * Those partitions of the listing for which `is` says so, as "0-3, 7", and how many they are; the
 * end is cut off where it is too long.
 */
size_t subject_list(const struct listing *l, bool (*is)(const struct task *t, const void *arg),
		    const void *arg, char ret_text[SUBJECT_LIST_SIZE]);

#endif
