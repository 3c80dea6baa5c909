/*
 * What the clients of one local user cost together, and how much of it they may: so nobody can use
 * up what others need. Those of a user that may change something have an account of their own.
 */
#ifndef ZKLEADER_DAEMON_ACCOUNT_H
#define ZKLEADER_DAEMON_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Kept for its clients: unsent, and of frames that have not come whole. Then only what is cheap is
 * served.
 */
#define ACCOUNT_BYTES_MAX	  (2 * 1024 * 1024)
#define ACCOUNT_BYTES_TRUSTED_MAX (64 * 1024 * 1024)
#define ACCOUNTS_BYTES_MAX	  (8 * 1024 * 1024) /* of all that may not change anything */
/* Requests that wait: for elections, and for what has been asked of ZooKeeper for them. */
#define ACCOUNT_PARKED_MAX	   2000
#define ACCOUNT_PARKED_TRUSTED_MAX 20000
#define ACCOUNT_ASKING_MAX	   16
#define ACCOUNT_ASKING_TRUSTED_MAX 1000
/* Clients that subscribe, and the tasks to which they do, each counted. */
#define ACCOUNT_SUBSCRIBERS_MAX		100
#define ACCOUNT_SUBSCRIBERS_TRUSTED_MAX 1000
#define ACCOUNT_SUBSCRIBED_MAX		100000
#define ACCOUNT_SUBSCRIBED_TRUSTED_MAX	200000

struct client;

/* Of two kinds of requests on all connections the first is served before the second. */
enum urgency {
	URGENCY_HEARD, /* something has been read: it is to be found out what */
	URGENCY_JOB,   /* what keeps a job alive */
	URGENCY_CHECK, /* what a crontab line waits for */
	URGENCY_TABLE, /* all else */
	URGENCIES
};

struct account_use {
	size_t bytes, parked, asking, subscribed, subscribers;
};

struct account {
	struct account *next;
	uid_t uid;
	bool trusted; /* may change something */
	size_t clients;
	unsigned refs; /* clients that are not freed yet; those that are closing among them */
	struct account_use use;
	struct account_use *all; /* of all accounts that are not trusted */
	struct client *first[URGENCIES], *last[URGENCIES]; /* whose next request is of that kind */
};

struct accounts {
	struct account *list; /* whose turn it is first */
	struct account_use untrusted;
};

/* The account, with one reference more. */
struct account *account_get(struct accounts *all, uid_t uid, bool trusted);
/* Gives one reference back; the account goes with the last. */
void account_put(struct accounts *all, struct account *a);
/* It comes last from now on. */
void account_rotate(struct accounts *all, struct account *a);
/* A client's share of it was `was` and is `is`. */
void account_count(struct account *a, const struct account_use *was, const struct account_use *is);

/* Whether an answer of any size may be made for it. */
bool account_has_room(const struct account *a);
/* Whether a request of that kind may be begun for it. */
bool account_may(const struct account *a, enum urgency urgency);
/* Whether its clients may subscribe to so many tasks more, and so many clients more may. */
bool account_may_subscribe(const struct account *a, size_t tasks, size_t clients);
/* How many bytes may be unsent, between least and most, where so many clients share what it may. */
size_t account_share(const struct account *a, size_t clients, size_t least, size_t most);

#endif
