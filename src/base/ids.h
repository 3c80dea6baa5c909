/* Interned ids: each text is stored once, however many users it has. */
#ifndef ZKLEADER_BASE_IDS_H
#define ZKLEADER_BASE_IDS_H

#include <stddef.h>

struct shared_id;

/* A set of ids. All zero: none. */
struct ids {
	struct shared_id **list; /* sorted */
	size_t n, room;
};

/*
 * Sets *place, which is NULL or was set by this, to the id; "" takes no memory. To release an id
 * set its place to "".
 */
void ids_set(struct ids *t, const char **place, const char *id);
/* Frees the set, whose ids have all been released. */
void ids_done(struct ids *t);

#endif
