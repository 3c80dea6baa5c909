/* Ids that many have at a time: each is kept once. */
#ifndef ZKLEADER_BASE_IDS_H
#define ZKLEADER_BASE_IDS_H

#include <stddef.h>

struct shared_id;

/* All zero has none. */
struct ids {
	struct shared_id **list; /* sorted */
	size_t n, room;
};

/*
 * *place, NULL or set by this before, is that id from now on, until it is set anew; "" takes up
 * nothing. Whoever goes sets what it has to "".
 */
void ids_set(struct ids *t, const char **place, const char *id);
/* Nobody has any of them. */
void ids_done(struct ids *t);

#endif
