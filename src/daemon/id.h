/* New names that nothing else has: of workers, decisions and claims. */
#ifndef ZKLEADER_DAEMON_ID_H
#define ZKLEADER_DAEMON_ID_H

#include "base/name.h"

/* A random uuid in small letters. */
void id_new(char id[NAME_ID_MAX + 1]);

#endif
