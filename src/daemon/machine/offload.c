#include "daemon/machine/offload.h"

#include <stdlib.h>

#include "base/mem.h"

struct offload {
	uv_thread_t thread;
	uv_async_t over;
	void (*work)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

static void on_thread(void *arg)
{
	struct offload *a = arg;

	a->work(a->arg);
	uv_async_send(&a->over);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void on_over(uv_async_t *over)
{
	struct offload *a = over->data;

	uv_thread_join(&a->thread); /* the thread has ended, or is about to */
	uv_close((uv_handle_t *)over, on_closed);
	a->done(a->arg);
}

int offload(uv_loop_t *loop, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
	struct offload *a = mem_calloc(1, sizeof(*a));

	a->work = work;
	a->done = done;
	a->arg = arg;
	uv_async_init(loop, &a->over, on_over);
	a->over.data = a;
	int error = uv_thread_create(&a->thread, on_thread, a);
	if (error)
		uv_close((uv_handle_t *)&a->over, on_closed);
	return error;
}
