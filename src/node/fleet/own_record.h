/* The words of this node's record, and its form: with a list apart, without one, or both. */
#ifndef ZKLEADER_NODE_FLEET_OWN_RECORD_H
#define ZKLEADER_NODE_FLEET_OWN_RECORD_H

#include "base/buffer.h"
#include "node/fleet/registry.h"

/*
 * Our record as of now, under the id of an attempt whose outcome is unknown, or a new one. ret_list
 * is empty, and gets the bytes of the list that the record names.
 */
struct worker *own_record(const struct registry *r, struct buffer *ret_list);
/* Whether a record describes us as we are, apart from the id and what was before us. */
bool own_record_is(const struct registry *r, const struct worker *w);
bool own_record_same_tasks(const struct registry_tasks *a, const struct registry_tasks *b);

/*
 * The fleet has changed: while it has a worker that knows no lists, our record says by itself what
 * we list. Workers change its form one after the other, within a session timeout; a node that has
 * just seen the fleet, at once.
 */
void own_record_look(struct registry *r);
void own_record_init(struct registry *r);
void own_record_done(struct registry *r);

#endif
