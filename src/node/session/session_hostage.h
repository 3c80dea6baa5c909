/*
 * A session as a hostage: servers keep it alive, but no write confirms it. Its owner may not lead,
 * and nobody else can, as its ephemeral nodes stay. So whatever the reason, the session is given up
 * once a confirmation was owed for T, and others lead. An outage of ZooKeeper does not count: the
 * time begins when a server takes the session again. For session.c and session_lease.c alone.
 */
#ifndef ZKLEADER_NODE_SESSION_SESSION_HOSTAGE_H
#define ZKLEADER_NODE_SESSION_SESSION_HOSTAGE_H

#include "node/session/session.h"

void hostage_init(struct session *s);
void hostage_done(struct session *s);
/* A server has taken the session; inherited: it may own nodes of the previous sidecar. */
void hostage_accepted(struct session *s, bool inherited);
void hostage_cut(struct session *s);
/* A confirmation was asked for. */
void hostage_owed(struct session *s);
/* A confirmation that was sent at sent_ms has succeeded. */
void hostage_confirmed(struct session *s, int64_t sent_ms);
/* A confirmation was refused. Returns whether it is the first refusal since a success. */
bool hostage_refused(struct session *s, const char *text);
/* The session has ended. */
void hostage_ended(struct session *s);
/* Whether the next session is to watch less, as servers have hung up on one before. */
bool hostage_is_frugal(const struct session *s);
/* Whether a session was given up a short time ago. */
bool hostage_is_recent(const struct session *s);

/* Defined in session.c: ends the session, and begins the next one after a pause. */
void session_give_up(struct session *s, enum session_state state, const char *problem);

#endif
