/*
 * The lease of a session: confirmed by writes that the quorum commits and that check the
 * registration, at regular times while something is led. For session.c alone; the rest is declared
 * in session.h.
 */
#ifndef ZKLEADER_NODE_SESSION_LEASE_H
#define ZKLEADER_NODE_SESSION_LEASE_H

#include "node/session.h"

void session_lease_init(struct session *s);
void session_lease_done(struct session *s);
/* On a connection: the timeout that it has granted, and the next confirmation. */
void session_take_timeout(struct session *s, int64_t id);
void session_set_confirm_timer(struct session *s);
/* Nobody here may say "leads" any more: what runs is being ended, and others lead. */
void session_tell_loss(struct session *s, const char *why);

/* session.c's: another state, and what stands in the way, NULL. */
void session_set_state(struct session *s, enum session_state state, const char *problem);

#endif
