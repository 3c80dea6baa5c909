/* The names of local users, which another thread looks up: they are kept for a while. */
#ifndef ZKLEADER_CONTROL_ASK_USER_H
#define ZKLEADER_CONTROL_ASK_USER_H

#include "control/ask/ask.h"
#include "wire/records/record.h"

#define USERS_MAX     1000 /* users whose names are kept; all others are called by number */
#define USERS_KEPT_MS INT64_C(60000)
#define USER_NAME_MAX POLICY_TEXT_MAX

/*
 * The name of the client's user, as far as it is known; NULL: ask_user() looks it up. A user
 * without a name is called "uid 1000".
 */
const char *user_known(struct methods *m, uid_t uid);
/*
 * Calls `then` with the name of the user in `name`, which has room for USER_NAME_MAX + 1 bytes: at
 * once if it is known. Requests of one user are served in their order.
 */
void ask_user(struct ask *a, char *name, ask_fn then);

/* Names that are being looked up are not freed: a thread uses them, and the process ends. */
void user_names_done(struct methods *m);

#endif
