/*
 * The subject of a request: a task without partitions, one partition, or all partitions of a task.
 */
#ifndef ZKLEADER_CONTROL_ASK_SUBJECT_H
#define ZKLEADER_CONTROL_ASK_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "control/ask/methods.h"
#include "node/election/listing.h"

#define SUBJECT_LIST_SIZE 120 /* bytes of a list of partitions in a text */

struct subject {
	struct listing *listing; /* NULL: the task is not configured any more */
	struct task *task;	 /* NULL: all partitions of the listing */
};

/* False: there is no such task, or partition. */
bool subject_find(const struct leaders *l, const char *name, size_t len, struct subject *ret);
/*
 * Appends the file that is refused, if there is one: that may be the reason why a name is not
 * known.
 */
void subject_say_refused(const struct call *call, char *text);
/* The listing itself: all its partitions, or its one election if it has none. */
struct subject subject_of(struct listing *l);
const char *subject_name(const struct subject *s);
/* The elections of the subject, none if not known; valid until the tasks are configured anew. */
struct task *const *subject_tasks(const struct subject *s, size_t *ret_n);
/* The next parameter; answers with an error and returns false if it is none. */
bool subject_take(struct call *call, struct subject *ret);
/*
 * The name of the task of a partition; for a task the name itself. ret has room for
 * NAME_ELECTION_MAX + 1 bytes.
 */
void subject_task_of(const char *name, char *ret);

/* The subjects that a request names. */
struct subjects {
	struct task **tasks; /* their elections, each once; owned */
	size_t n_tasks;
	struct buffer names; /* names of the subjects, each with its NUL */
	size_t n;
};

/*
 * Takes all remaining parameters, each once, in their order; answers with an error and returns
 * false if one is no subject.
 */
bool subjects_take(struct call *call, struct subjects *ret);
void subjects_done(struct subjects *s);
/* The name behind `name`; NULL: the first name. Returns NULL behind the last. */
const char *subjects_next(const struct subjects *s, const char *name);

/*
 * The partitions of the listing for which `is` returns true, as "0-3, 7"; a list that is too long
 * is cut off. Returns their number.
 */
size_t subject_list(const struct listing *l, bool (*is)(const struct task *t, const void *arg),
		    const void *arg, char ret_text[SUBJECT_LIST_SIZE]);

#endif
