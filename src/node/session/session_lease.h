/*
 * The lease of a session. Writes that check the registration confirm it, at regular times while
 * something is led. For session.c alone; the rest is declared in session.h.
 */
#ifndef ZKLEADER_NODE_SESSION_SESSION_LEASE_H
#define ZKLEADER_NODE_SESSION_SESSION_LEASE_H

#include "node/session/session.h"

void session_lease_init(struct session *s);
void session_lease_done(struct session *s);
/* Takes the timeout that the new connection was granted, and plans the next confirmation. */
void session_take_timeout(struct session *s, int64_t id);
void session_set_confirm_timer(struct session *s);
/* Logs the loss of all leaderships: the lease is over, and others may lead. */
void session_tell_loss(struct session *s, const char *why);

/* Defined in session.c: sets the state, and the problem, or NULL. */
void session_set_state(struct session *s, enum session_state state, const char *problem);

#endif
