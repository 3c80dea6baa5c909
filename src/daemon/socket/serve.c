#include "base/clock.h"
#include "base/doing.h"
#include "base/log/log.h"
#include "daemon/socket/connection.h"

/*
 * Time for requests of one kind in one turn of the loop. The request that exceeds it is still
 * served to its end.
 */
#define SERVE_US      2000
#define SERVE_FRAMES  16   /* requests of one client that are served in a row */
#define SERVE_CLIENTS 16   /* clients whose answers are sent together */
#define STALL_LOOK_MS 1000 /* between checks for stalled clients */

static void on_stall(uv_timer_t *timer);

/* --- queues of clients ---------------------------------------------------- */

void serve_enqueue(struct client *c, enum urgency u)
{
	c->queued = true;
	c->urgency = u;
	TAILQ_INSERT_TAIL(&c->account->waiting[u], c, queue);
	serve_soon(c->control);
}

void serve_dequeue(struct client *c)
{
	if (!c->queued)
		return;
	c->queued = false;
	TAILQ_REMOVE(&c->account->waiting[c->urgency], c, queue);
}

/* The next account that has a request of this kind and may make it now; NULL: there is none. */
static struct account *next_account(struct control *control, enum urgency u)
{
	for (struct account *a = TAILQ_FIRST(&control->accounts.list); a; a = TAILQ_NEXT(a, link)) {
		if (TAILQ_EMPTY(&a->waiting[u]))
			continue;
		if (account_may(a, u))
			return a;
		control->short_of_room = true;
	}
	return NULL;
}

/* --- a turn --------------------------------------------------------------- */

/* Serves some requests of one client. Their immediate answers are sent by send_answers(). */
static void serve_client(struct client *c, int64_t until_us)
{
	enum urgency u = c->urgency;

	serve_dequeue(c);
	c->corked = true;
	for (int n = 0; n < SERVE_FRAMES; n++) {
		connection_serve(c);
		connection_advance(c);
		if (!c->queued || c->urgency != u || !account_may(c->account, u) ||
		    clock_boot_us() >= until_us)
			break;
		serve_dequeue(c);
	}
}

/* Clients that were dropped meanwhile may be among them: they are freed at the end of the turn. */
static void send_answers(struct client *const *served, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		served[i]->corked = false;
		connection_flush(served[i]);
		connection_advance(served[i]);
	}
}

/*
 * Serves requests of one kind. Returns whether some are left that could be served.
 *
 * An answer wakes a process that sleeps, which costs as much as the answer. Those of several
 * clients are therefore sent together: a process with many connections is woken once. Where an
 * answer may take long to make, the others do not wait for it.
 */
static bool serve_kind(struct control *control, enum urgency u)
{
	struct client *served[SERVE_CLIENTS];
	size_t most = u < URGENCY_TABLE ? SERVE_CLIENTS : 1, n = 0;
	int64_t until_us = clock_boot_us() + SERVE_US;
	bool in_time = true;
	struct account *a;

	while (in_time && (a = next_account(control, u))) {
		struct client *c = TAILQ_FIRST(&a->waiting[u]);
		account_rotate(&control->accounts, a);
		if (u == URGENCY_HEARD) {
			connection_sort(c);
		} else {
			served[n++] = c;
			serve_client(c, until_us);
		}
		if (n == most) {
			send_answers(served, n);
			n = 0;
		}
		in_time = clock_boot_us() < until_us;
	}
	send_answers(served, n);
	return !in_time && next_account(control, u) != NULL;
}

/*
 * Drops clients that do not read, or have stopped in the middle of a request, if their account has
 * no memory left for its other clients. Reads again from clients that waited for memory, if there
 * is some.
 */
static void look_at_room(struct control *control)
{
	int64_t stalled_ms = clock_boot_ms() - CONTROL_STALL_MS;

	control->short_of_room = false;
	for (struct client *c = LIST_FIRST(&control->clients), *next; c; c = next) {
		next = LIST_NEXT(c, link);
		connection_count(c);
		if (c->pipe.write_queue_size != c->left_to_write)
			c->active_ms = clock_boot_ms(); /* the client has read something */
		c->left_to_write = c->pipe.write_queue_size;
		if (c->counted.bytes > CONTROL_AHEAD_MAX && c->active_ms < stalled_ms &&
		    !account_has_room(c->account)) {
			log_warning("a client takes up memory and nothing else, and is dropped",
				    LOG_INT("pid", c->peer.pid), LOG_INT("uid", c->peer.uid));
			connection_drop(c);
		} else if (!c->reading && !c->queued) {
			connection_advance(c);
		}
	}
	control->room(control->arg);
}

static void turn(struct control *control)
{
	const char *before = doing_begin("the clients of the socket");
	bool left = false;

	control_accept_more(control);
	if (control->short_of_room)
		look_at_room(control);
	for (enum urgency u = URGENCY_HEARD; u < URGENCIES; u++)
		left |= serve_kind(control, u);
	if (left)
		serve_soon(control);
	else if (control->short_of_room)
		uv_timer_start(&control->stall, on_stall, STALL_LOOK_MS, 0);
	doing_end(before);
}

/* Runs once in each turn of the loop. While it is active the loop does not wait for events. */
static void on_idle(uv_idle_t *idle)
{
	uv_idle_stop(idle);
	turn(idle->data);
}

static void on_stall(uv_timer_t *timer)
{
	turn(timer->data);
}

void serve_soon(struct control *control)
{
	uv_idle_start(&control->serving, on_idle);
}

void serve_init(struct control *control)
{
	uv_idle_init(control->loop, &control->serving);
	uv_timer_init(control->loop, &control->stall);
	control->serving.data = control->stall.data = control;
}

void serve_done(struct control *control)
{
	uv_close((uv_handle_t *)&control->serving, NULL);
	uv_close((uv_handle_t *)&control->stall, NULL);
}
