/* Functions shared by the programs that connect: runners and the notifier. */
#ifndef ZKLEADER_CONTROL_PROGRAMS_PROGRAMS_H
#define ZKLEADER_CONTROL_PROGRAMS_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/name.h"
#include "control/ask/methods.h"

#define PROGRAMS_TEXT_MAX 400 /* bytes of a problem, and of the path that it is about */

/* A problem that a program reports of a file. */
struct program_problem {
	char task[NAME_TASK_MAX + 1]; /* "": not of a task */
	char *file, *text;
};

/*
 * Adds n problems that come next, {"task", "file", "message"}, to the list. False: one is bad, or
 * has no task where each is to have one. Those before it stay.
 */
bool program_problems_take(struct program_problems *all, struct reader *r, size_t n, bool of_tasks);
void program_problems_forget(struct program_problems *all);

/* A runner or the notifier may have gone. */
void programs_client_gone(struct methods *m, const struct peer *c);

#endif
