/*
 * The name of what the loop is doing, for the last words of a process whose loop hangs. Setting the
 * name costs a few instructions: the texts are constant, and another thread reads them.
 */
#ifndef ZKLEADER_BASE_DOING_H
#define ZKLEADER_BASE_DOING_H

/* Sets the name. Returns the one from before, for doing_end(). */
const char *doing_begin(const char *what);
void doing_end(const char *before);
/* The present name. Safe from any thread. NULL: none was set. */
const char *doing_now(void);

#endif
