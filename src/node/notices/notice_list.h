/* A notice of this node, from the event until the notifier has taken it; for notice*.c alone. */
#ifndef ZKLEADER_NODE_NOTICES_NOTICE_LIST_H
#define ZKLEADER_NODE_NOTICES_NOTICE_LIST_H

#include "base/buffer.h"
#include "node/notices/notices.h"

#define NOTICE_NAME_SIZE 100 /* TIME.SESSION.ID */

enum notice_state {
	NOTICE_TO_NOTE, /* its znode is to be made */
	NOTICE_NOTING,
	NOTICE_THERE,
	NOTICE_GOING, /* its znode is being deleted */
	NOTICE_HERE   /* a notice without a znode */
};

struct notice {
	TAILQ_ENTRY(notice) link;
	struct notices *notices;
	struct notice_record record; /* its output is the next */
	char *output;
	char name[NOTICE_NAME_SIZE];
	enum notice_state state;
	bool told;
	bool taken;
	bool unsure;  /* of `leader`: it may be the first one ever, which is not told */
	bool to_mark; /* of `leader`: ROOT/led is to have the task */
	bool asking;  /* the request for that is outstanding */
};

struct notice *notice_new(struct notices *n, const struct notice_record *record);
void notice_free(struct notice *m);
/* Adds the notice to the list, to be told and, if its state says so, noted. */
void notice_keep(struct notice *m);
/* The operation that makes its znode; once it is sent, the caller calls buffer_done() on data. */
struct store_op notice_op(const struct notice *m, char path[STORE_PATH_MAX], struct buffer *data);
/* Names the notice by this session, also when it was another session's. */
void notice_rename(struct notice *m);
/* Whether a notice of this name is in the list. */
bool notices_have(const struct notices *n, const char *name);
/* Whether there is room for one more beside `beside` others; if not, that is counted and logged. */
bool notices_has_room(struct notices *n, size_t beside);
void notices_drop_all(struct notices *n);
/* Sends the requests to ZooKeeper and the notices to the notifier that are due. */
void notices_advance(struct notices *n);
void notices_on_due(void *arg);

void notices_make_folder(struct notices *n);
/* A note could not be made. */
void notices_folder_missing(struct notices *n, const struct store_reply *reply);

/* notice_takeover.c: takes over the notices of ended sessions, and of the previous sidecar. */
void notices_takeover_soon(struct notices *n, int64_t ms);
void notices_takeover(struct notices *n);

#endif
