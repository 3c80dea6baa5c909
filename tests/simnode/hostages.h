/* Sessions that servers keep without doing their requests; with --hostages alone. */
#ifndef TESTS_SIMNODE_HOSTAGES_H
#define TESTS_SIMNODE_HOSTAGES_H

#include <stdbool.h>

/* In quiet times; false: nobody can be made one now. */
bool hostages_begin(void);
/* Whether a hostage is held: nothing else happens meanwhile. */
bool hostages_waiting(void);

#endif
