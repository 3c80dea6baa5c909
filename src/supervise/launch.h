/* The start of a job: its own process, as a child of the guard. */
#ifndef ZKLEADER_SUPERVISE_LAUNCH_H
#define ZKLEADER_SUPERVISE_LAUNCH_H

#include "supervise/job.h"

/*
 * Starts the command, or the call. foreground: its process group gets the terminal. Returns its
 * pid, or -1 and errno. To be called by the guard, with all signals blocked.
 */
pid_t launch(struct job *job, bool foreground);
/*
 * Executes a command, in its own process and from the directory, NULL: this one. Returns only if
 * that fails: the exit status, and the reason with the name of the file, which may be that of the
 * script's interpreter.
 */
int launch_exec(const char *const *argv, const char *directory, char ret_why[JOB_WHY_SIZE]);

#endif
