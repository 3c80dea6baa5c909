/*
 * Accounts: what the clients of one local user use together, and the limits of that, so that no
 * user can use up what others need. Clients that may change something have an account of their own.
 */
#ifndef ZKLEADER_DAEMON_SOCKET_ACCOUNT_H
#define ZKLEADER_DAEMON_SOCKET_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include <sys/types.h>

/*
 * Bytes buffered for its clients: unsent answers and incomplete frames. Beyond that only cheap
 * requests are served.
 */
#define ACCOUNT_BYTES_MAX	  (2 * 1024 * 1024)
#define ACCOUNT_BYTES_TRUSTED_MAX (64 * 1024 * 1024)
#define ACCOUNTS_BYTES_MAX	  (8 * 1024 * 1024) /* of all accounts that are not trusted */
/* Requests that wait: parked for elections, and asking for ZooKeeper. */
#define ACCOUNT_PARKED_MAX	   2000
#define ACCOUNT_PARKED_TRUSTED_MAX 20000
#define ACCOUNT_ASKING_MAX	   16
#define ACCOUNT_ASKING_TRUSTED_MAX 1000
/* Clients that subscribe, and the tasks of all subscriptions together. */
#define ACCOUNT_SUBSCRIBERS_MAX		100
#define ACCOUNT_SUBSCRIBERS_TRUSTED_MAX 1000
#define ACCOUNT_SUBSCRIBED_MAX		100000
#define ACCOUNT_SUBSCRIBED_TRUSTED_MAX	200000

struct client;

TAILQ_HEAD(client_queue, client);

/* Kinds of requests; over all connections, an earlier kind is served first. */
enum urgency {
	URGENCY_HEARD, /* something was read: its kind is to be determined */
	URGENCY_JOB,   /* keeps a job alive */
	URGENCY_CHECK, /* a crontab line waits for it */
	URGENCY_TABLE, /* all else */
	URGENCIES
};

struct account_use {
	size_t bytes, parked, asking, subscribed, subscribers;
};

struct account {
	TAILQ_ENTRY(account) link;
	uid_t uid;
	bool trusted; /* may change something */
	size_t clients;
	unsigned refs; /* clients not freed yet, including closing ones */
	struct account_use use;
	struct account_use *all;		/* of all accounts that are not trusted */
	struct client_queue waiting[URGENCIES]; /* by the kind of their next request */
};

struct accounts {
	TAILQ_HEAD(account_list, account) list; /* the next to be served first */
	struct account_use untrusted;
};

/* The account, with one reference more. */
struct account *account_get(struct accounts *all, uid_t uid, bool trusted);
/* Gives one reference back; the account goes with the last. */
void account_put(struct accounts *all, struct account *a);
/* Moves the account to the end of the list. */
void account_rotate(struct accounts *all, struct account *a);
/* A client's use has changed from `was` to `is`. */
void account_count(struct account *a, const struct account_use *was, const struct account_use *is);

/* Whether an answer of any size may be made for it. */
bool account_has_room(const struct account *a);
/* Whether a request of that kind may begin. */
bool account_may(const struct account *a, enum urgency urgency);
/* Whether another request of its clients may wait for hours. */
bool account_may_wait(const struct account *a);
/* Whether its clients may subscribe to so many more tasks, and so many more clients may. */
bool account_may_subscribe(const struct account *a, size_t tasks, size_t clients);
/* Unsent bytes allowed for each of so many clients, between least and most. */
size_t account_share(const struct account *a, size_t clients, size_t least, size_t most);

#endif
