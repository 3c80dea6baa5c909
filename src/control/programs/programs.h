/* What the programs that connect, runners and the notifier, have in common. */
#ifndef ZKLEADER_CONTROL_PROGRAMS_PROGRAMS_H
#define ZKLEADER_CONTROL_PROGRAMS_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/name.h"
#include "control/ask/methods.h"

#define PROGRAMS_TEXT_MAX 400 /* bytes of a problem, and of the path that it is about */

/* Problems that a program reports of files. */
struct program_problem {
	char task[NAME_TASK_MAX + 1]; /* "": of none */
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
