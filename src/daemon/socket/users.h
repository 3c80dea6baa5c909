/*
 * The uids of the users that tasks name. They are looked up off the loop, as a directory service
 * (LDAP) that does not answer must not block it; meanwhile the last answer counts.
 */
#ifndef ZKLEADER_DAEMON_SOCKET_USERS_H
#define ZKLEADER_DAEMON_SOCKET_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <uv.h>

struct user {
	char *name;
	uid_t uid;
	enum user_state {
		USER_ASKED, /* it is not known yet whether there is one */
		USER_THERE,
		USER_MISSING
	} state;
	bool wanted; /* since users_begin() */
};

struct users {
	uv_loop_t *loop;
	struct user *list; /* sorted by name */
	size_t n;
	bool busy, again; /* a look-up is in progress; another follows */
	void (*changed)(void *arg);
	void *arg;
};

/* changed is called whenever an answer has changed. */
void users_init(struct users *u, uv_loop_t *loop, void (*changed)(void *arg), void *arg);
void users_done(struct users *u);
/*
 * Between these two calls, users_find() is called for all users wanted. users_look_up() then looks
 * up all of them, known ones anew. If it gets no thread, it calls changed before it returns.
 */
void users_begin(struct users *u);
void users_look_up(struct users *u);
/* ret_uid is written for USER_THERE alone. */
enum user_state users_find(struct users *u, const char *name, uid_t *ret_uid);

#endif
