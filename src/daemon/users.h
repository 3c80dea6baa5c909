/*
 * The numbers of local users by their names, as tasks name them. They are looked up off the loop,
 * as a directory of users that does not answer (LDAP) must not hold it up; until then the answer of
 * the last time counts.
 */
#ifndef ZKLEADER_DAEMON_USERS_H
#define ZKLEADER_DAEMON_USERS_H

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
	bool busy, again; /* a look-up goes on; another is to follow */
	void (*changed)(void *arg);
	void *arg;
};

/* changed is called whenever an answer is another than before. */
void users_init(struct users *u, uv_loop_t *loop, void (*changed)(void *arg), void *arg);
void users_done(struct users *u);
/*
 * Between these two all that are wanted are asked for; then they are looked up, the known ones
 * anew. Where no thread can be had, changed is called before users_look_up() returns.
 */
void users_begin(struct users *u);
void users_look_up(struct users *u);
/* ret_uid is written for USER_THERE alone. */
enum user_state users_find(struct users *u, const char *name, uid_t *ret_uid);

#endif
