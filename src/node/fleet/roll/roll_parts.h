/* The parts of following and keeping the roll. */
#ifndef ZKLEADER_NODE_FLEET_ROLL_ROLL_PARTS_H
#define ZKLEADER_NODE_FLEET_ROLL_ROLL_PARTS_H

#include "node/fleet/roll/roll.h"

#define ROLL_KEEPER   "keeper"
#define ROLL_AGAIN_MS 200 /* until a write that was refused is tried again */

/* No server has answered. */
/* Lists the folder after a while, in which no more is done; from then on it is watched. */
void roll_seek(struct roll *r, int64_t ms);
/* Whoever keeps the roll, or is about to, has some time, in which the folder is not listed. */
void roll_be_patient(struct roll *r);
/* As reading the worker's node would say; it borrows the record. */
struct store_reply roll_reply_of(const struct roll_entry *e);
/* The head is as it was read last: it is followed, or listing goes on. */
void roll_consider(struct roll *r);
/* roll_read.c: reads the head, and new workers from it if they are held. */
void roll_ask(struct roll *r);
/* A worker has that session after all. */
void roll_is_back(struct roll *r, int64_t session);
/* All whose worker nodes are known to be there, for the head. */
int64_t roll_set_of(const struct roll *r);
/* Whether so many new workers are to be read that it is not done one by one. */
static inline bool roll_are_many(const struct roll *r)
{
	return r->folder->n_wanted > ROLL_READS_MIN + r->from / 10;
}
/* Some did not fit into the write that made the head. */
static inline bool roll_lacks_chunks(const struct roll *r)
{
	size_t k = 0;

	while (k < r->head.n_chunks && r->head.chunks[k] != 0)
		k++;
	return k < r->head.n_chunks;
}
/* Whether the head is newer than our first list, and its log does not go back to our last one. */
bool roll_has_gap(const struct roll *r);
/* Our place among the workers. */
size_t roll_index(const struct roll *r);
void roll_path(const struct roll *r, const char *name, char path[STORE_PATH_MAX]);

/*
 * roll_keep.c: watches the keeper. Where there is none, those who follow or seek the roll try to
 * keep it, one after the other.
 */
void keep_watch(struct roll *r);
void keep_watched(struct roll *r);
/* The folder is listed, and the roll is sought: true if we are about to keep it. */
bool keep_claim(struct roll *r);
/* There is a keeper, and the roll is not kept. */
void keep_doubt(struct roll *r);
/* Has our turn come, after so many ms; nothing happens if it is to come sooner anyway. */
void keep_turn(struct roll *r, int64_t ms);
/* roll_write.c: writes what there is to be written, if that is possible now. */
void keep_publish(struct roll *r);
/* A worker of that chunk has come or gone. */
void keep_dirty(struct roll *r, size_t chunk);
/* The head has been read. */
void keep_heard(struct roll *r);
/* We do not keep it, nor are we about to. */
void keep_forget(struct roll *r);
void keep_up(struct roll *r);
void keep_init(struct roll *r);
void keep_done(struct roll *r);

#endif
