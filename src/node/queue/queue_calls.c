#include "node/queue/queue_calls.h"

#include <stdlib.h>

#include "base/mem.h"
#include "node/notices/notices.h"
#include "node/session/session.h"

struct queue_call {
	struct queue_calls *calls; /* NULL: they have ended */
	LIST_ENTRY(queue_call) link;
	store_reply_fn fn; /* NULL: the requester is gone */
	void *arg;
};

static void on_reply(void *arg, const struct store_reply *reply)
{
	struct queue_call *call = arg;
	struct queue_calls *c = call->calls;
	store_reply_fn fn = call->fn;
	void *asker = call->arg;

	if (!c) {
		free(call);
		return;
	}
	LIST_REMOVE(call, link);
	c->n--;
	free(call);
	if (fn)
		fn(asker, reply);
	c->landed(c->arg);
}

static struct queue_call *call_new(struct queue_calls *c, store_reply_fn fn, void *arg)
{
	struct queue_call *call = mem_alloc(sizeof(*call));

	*call = (struct queue_call){.calls = c, .fn = fn, .arg = arg};
	LIST_INSERT_HEAD(&c->list, call, link);
	c->n++;
	return call;
}

void queue_get(struct queue_calls *c, const char *path, store_reply_fn fn, void *arg)
{
	store_get(c->session->store, path, false, on_reply, call_new(c, fn, arg));
}

void queue_watch(struct queue_calls *c, const char *path, enum watch_class class, store_reply_fn fn,
		 void *arg)
{
	watches_get(&c->session->watches, path, class, arg, on_reply, call_new(c, fn, arg));
}

void queue_watch_children(struct queue_calls *c, const char *path, enum watch_class class,
			  store_reply_fn fn, void *arg)
{
	watches_children(&c->session->watches, path, class, arg, on_reply, call_new(c, fn, arg));
}

void queue_unwatch(struct queue_calls *c, const char *path, enum watch_kind kind, const void *arg)
{
	watches_drop(&c->session->watches, path, kind, arg);
}

void queue_exists(struct queue_calls *c, const char *path, store_reply_fn fn, void *arg)
{
	store_exists(c->session->store, path, false, on_reply, call_new(c, fn, arg));
}

void queue_children(struct queue_calls *c, const char *path, store_reply_fn fn, void *arg)
{
	store_children(c->session->store, path, false, on_reply, call_new(c, fn, arg));
}

void queue_create(struct queue_calls *c, const char *path, store_reply_fn fn, void *arg)
{
	store_create(c->session->store, path, on_reply, call_new(c, fn, arg));
}

void queue_multi(struct queue_calls *c, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg)
{
	store_multi(c->session->store, ops, n, on_reply, call_new(c, fn, arg));
}

void queue_multi_noting(struct queue_calls *c, const struct registry *r, const struct store_op *ops,
			size_t n, const struct notice_record *event, store_reply_fn fn, void *arg)
{
	notices_multi(r, ops, n, event, on_reply, call_new(c, fn, arg));
}

void queue_calls_forget(struct queue_calls *c, const void *arg)
{
	for (struct queue_call *call = LIST_FIRST(&c->list); call; call = LIST_NEXT(call, link))
		if (call->arg == arg)
			call->fn = NULL;
}

void queue_calls_init(struct queue_calls *c, struct session *session, void (*landed)(void *arg),
		      void *arg)
{
	*c = (struct queue_calls){.session = session, .landed = landed, .arg = arg};
}

void queue_calls_done(struct queue_calls *c)
{
	for (struct queue_call *call = LIST_FIRST(&c->list); call; call = LIST_NEXT(call, link))
		call->calls = NULL; /* freed when its answer arrives */
	LIST_INIT(&c->list);
}
