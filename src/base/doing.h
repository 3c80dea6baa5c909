/*
 * What the loop is doing, for the last words of a process whose loop hangs. A handler tells it in a
 * few instructions: the texts are constant, and another thread reads them.
 */
#ifndef ZKLEADER_BASE_DOING_H
#define ZKLEADER_BASE_DOING_H

/* From now on the loop does this. Returns what it did, for doing_end(). */
const char *doing_begin(const char *what);
void doing_end(const char *before);
/* Safe from any thread. NULL: nothing that was told. */
const char *doing_now(void);

#endif
