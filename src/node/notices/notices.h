/*
 * Notices of events, for people. An event made by a transaction is noted by that transaction, in a
 * znode of its own:
 *
 *     ROOT/notices/TIME.SESSION.ID      (both hexadecimal; ms since the epoch, the maker)
 *
 * It is sent to the notifier of this host, and the znode is deleted once the notifier has it on
 * disk. After the end of the session another node with a notifier takes the notice over. So it is
 * sent at least once, and as a rule once in the fleet; its id stays the same.
 *
 * How to make an event: fill in a record, and send the transaction by notices_multi() instead of
 * store_multi(). That costs one more operation if a `notify` block of this host wants the event,
 * and nothing otherwise. It never makes the transaction fail: if the notice itself cannot be
 * written, the transaction is sent again without it.
 *
 *     struct notice_record event;
 *
 *     notice_init(registry, &event, NOTICE_DEAD, queue);
 *     event.attempt = 5;
 *     snprintf(event.text, sizeof(event.text), "job %s is dead: its attempts are used up", id);
 *     notices_multi(registry, ops, n_ops, &event, on_reply, arg);
 */
#ifndef ZKLEADER_NODE_NOTICES_NOTICES_H
#define ZKLEADER_NODE_NOTICES_NOTICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/text/notice.h"
#include "node/host.h"
#include "node/store.h"
#include "wire/records/notice_record.h"

#define NOTICES_MAX	   1000 /* notices that nobody has taken; more are not noted */
#define NOTICES_TOLD_MAX   100	/* notices sent to the notifier at a time */
#define NOTICES_TASKS_MAX  50	/* events of one transaction, as TRANSACTION_MAX */
#define NOTICES_KEEP_MS	   (INT64_C(2) * 24 * 3600 * 1000) /* age at which an untaken notice goes */
#define NOTICES_RETRY_MS   1000
#define NOTICES_STAGGER_MS 200 /* between nodes that look for what others left behind */

struct notice;
struct registry;
struct session;
struct task;

struct notices {
	struct session *session;
	struct registry *registry;
	struct notice_wish {
		unsigned events;
		char **patterns; /* owned, as is each */
		size_t n_patterns;
	} * rules; /* owned */
	size_t n_rules;
	TAILQ_HEAD(notice_list, notice) list; /* not spooled yet, the oldest first */
	size_t n;
	uint64_t dropped; /* notices beyond the limit, since the start */
	bool drops;	  /* notices are being dropped, which was logged */
	/* Tells the notifier. False: it takes no more now. */
	bool (*tell)(void *arg, const struct notice_record *record);
	void *arg;
	bool listening; /* the notifier is there */
	bool there;	/* ROOT/notices is, as far as is known */
	bool making;
	bool looking; /* at what others left behind, or we do not remember */
	bool look_due;
	int64_t look_ms; /* CLOCK_BOOTTIME: not before */
	struct host_timer timer;
};

/* registry->notices is this from then on. */
void notices_init(struct notices *n, struct session *session, struct registry *registry);
/* Called after session_done(). */
void notices_done(struct notices *n);
/* Sets the events that are wanted on this host; the rules are copied. */
void notices_set_rules(struct notices *n, const struct notice_rule *rules, size_t n_rules);
/* Called by node.c's handlers. */
void notices_up(struct notices *n);
void notices_left(struct notices *n); /* a worker has */

/* Whether anybody is to be told; task: or queue, "" for an event that is about none. */
bool notices_wanted(const struct registry *r, enum notice_event event, const char *task);
/* A record of an event that happens here now, for the caller to complete; its id comes later. */
void notice_init(const struct registry *r, struct notice_record *record, enum notice_event event,
		 const char *task);
/*
 * Like store_multi(), with a note of the event added behind the operations if it is wanted; NULL:
 * there is none. The event is copied. fn is answered as if the note was not there. An event that
 * counts for a streak changes that as well, see streak.h; `recovered` is noted only if it ends one.
 */
void notices_multi(const struct registry *r, const struct store_op *ops, size_t n,
		   const struct notice_record *event, store_reply_fn fn, void *arg);
/*
 * The same. may (NULL: always) is asked with arg each time before the operations are sent; false:
 * fn is answered STORE_NO_NODE. Something may be read first, and without a note they are sent
 * again.
 */
void notices_multi_if(const struct registry *r, const struct store_op *ops, size_t n,
		      const struct notice_record *event, bool (*may)(const void *arg),
		      store_reply_fn fn, void *arg);
/*
 * The same for claims, with several events, none of which counts. If a note fails, the claims are
 * not sent again but answered STORE_NO_NODE.
 */
void notices_claim(const struct registry *r, const struct store_op *ops, size_t n,
		   const struct notice_record *events, size_t n_events, store_reply_fn fn,
		   void *arg);
/* Notes an event that no transaction makes, if it is wanted. */
void notices_note(const struct registry *r, const struct notice_record *event);
/* The same, kept in memory only: the event is that ZooKeeper is away. */
void notices_note_here(const struct registry *r, const struct notice_record *event);

/* The notifier is connected, and gets all notices that it has not taken; or it is away. */
void notices_listen(struct notices *n, bool on);
/* The notifier can take more now. */
void notices_go_on(struct notices *n);
/* The notifier has this notice on disk, or nobody is to be told of it. */
void notices_taken(struct notices *n, const char *id, size_t len);

#endif
