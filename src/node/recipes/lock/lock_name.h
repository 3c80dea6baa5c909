/* The names of the nodes below a lock: SESSION-ID-NUMBER, so each names its owner. */
#ifndef ZKLEADER_NODE_RECIPES_LOCK_LOCK_NAME_H
#define ZKLEADER_NODE_RECIPES_LOCK_LOCK_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/settings.h"
#include "node/store.h"

#define LOCK_ID_LEN   32 /* hexadecimal digits */
#define LOCK_NODE_MAX 62 /* bytes of a name */

struct lock_name {
	int64_t session;
	char id[LOCK_ID_LEN + 1];
	/* The order of creation; it wraps, so compare with lock_name_is_before(). */
	uint32_t number;
};

bool lock_is_id(const char *text, size_t len);
/* False: not a name of this form. */
bool lock_name_parse(const char *text, struct lock_name *ret);
bool lock_name_is_before(const struct lock_name *a, const struct lock_name *b);
/* ROOT/locks/LOCK/SESSION-ID-, for the server to number. */
void lock_path_new(const struct node_settings *s, const char *lock, int64_t session, const char *id,
		   char path[STORE_PATH_MAX]);
/* ROOT/locks/LOCK/NODE. */
void lock_path_of(const struct node_settings *s, const char *lock, const char *node,
		  char path[STORE_PATH_MAX]);

#endif
