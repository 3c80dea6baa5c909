/*
 * The methods of the control socket, before clients in memory (control_peer.h) and a whole node
 * (whole_site.h), whose ZooKeeper the test plays.
 */
#ifndef ZKLEADER_TEST_CONTROL_SITE_H
#define ZKLEADER_TEST_CONTROL_SITE_H

#include "control_peer.h"
#include "whole_site.h"

#include "config/config.h"
#include "control/ask/methods.h"
#include "control/control.h"
#include "control/ticks/ticks.h"

static struct methods methods;
static const struct problems no_problems;
static const struct config config;
static const struct task_files no_files;
static struct recipe_users recipe_users;

/* --- the process ---------------------------------------------------------------------------------------- */

#define OFFLOADED_MAX 16

static struct {
	void (*work)(void *arg);
	void (*done)(void *arg);
	void *arg;
} offloaded[OFFLOADED_MAX];
static size_t n_offloaded, n_health;
static bool no_threads;
static process_reload_fn reloaded;
static void *reloaded_arg;

static int site_offload(void *arg, void (*work)(void *), void (*done)(void *), void *work_arg)
{
	(void)arg;
	if (no_threads)
		return -1;
	cr_assert_lt(n_offloaded, OFFLOADED_MAX);
	offloaded[n_offloaded].work = work;
	offloaded[n_offloaded].done = done;
	offloaded[n_offloaded++].arg = work_arg;
	return 0;
}

/* The other threads do what was offloaded. */
static inline void threads_end(void)
{
	size_t n = n_offloaded;

	n_offloaded = 0;
	for (size_t i = 0; i < n; i++) {
		offloaded[i].work(offloaded[i].arg);
		offloaded[i].done(offloaded[i].arg);
	}
}

static void site_reload(void *arg, process_reload_fn fn, void *fn_arg)
{
	(void)arg;
	reloaded = fn;
	reloaded_arg = fn_arg;
}

static void site_turn(void *arg, int64_t *ret_us, int64_t *ret_cpu_us)
{
	(void)arg;
	*ret_us = *ret_cpu_us = 0;
}

static void site_health(void *arg)
{
	(void)arg;
	n_health++;
}

static const struct process process = {.node = &node,
				       .problems = &no_problems,
				       .start = &config,
				       .config = &config,
				       .tasks = &no_files,
				       .recipe_users = &recipe_users,
				       .longest_turn = site_turn,
				       .reload = site_reload,
				       .offload = site_offload,
				       .health_changed = site_health};

/* --- begin and requests --------------------------------------------------------------------------------- */

static void methods_task(void *arg, struct task *t)
{
	(void)arg, (void)t;
	methods_task_changed(&methods);
}

static inline void control_begin(void)
{
	struct node_handlers h = handlers;

	h.task_changed = methods_task;
	h.runs = (struct runs_handlers){.answer = run_requests_answer, .released = asks_released};
	log_setup(LOG_ERROR, LOG_TEXT, false);
	node_init(&node, &host, &settings, &h);
	node.registry.clocks.mute = true;
	node_set_version(&node, "1.0");
	report = settings_of("report");
	node_configure(&node, &site_timing, &report, 1);
	host_timer_stop(&node.leaders.audit.timer);
	methods_init(&methods, &process);
	for (size_t i = 0; i < PEERS; i++)
		clients[i].peer.uid = (uid_t)(4000000 + i); /* nobody's */
}

/* Alone in the fleet, and nothing has been decided; the election is another test's. */
static inline void control_is_up(void)
{
	control_begin();
	is_up();
	answer_all(STORE_NO_NODE);
	rest();
	answer_all(STORE_ABANDONED); /* nothing follows from that: the claim stays unresolved */
}

/*
 * Packs values: s a text, b a bool, i an int64_t, 0 to 9 the header of a map with so many pairs, ( the
 * header of an array, whose length is an int64_t.
 */
static inline void pack_values(struct pack *p, const char *format, va_list args)
{
	for (; *format; format++) {
		if (*format == 's')
			pack_str(p, va_arg(args, const char *));
		else if (*format == 'i')
			pack_int(p, va_arg(args, int64_t));
		else if (*format == 'b')
			pack_bool(p, va_arg(args, int));
		else if (*format == '(')
			pack_array(p, (size_t)va_arg(args, int64_t));
		else
			pack_map(p, (size_t)(*format - '0'));
	}
}

/* A request of n parameters, which the format describes. */
static inline void request(struct peer *c, const char *method, size_t n, const char *format, ...)
{
	static uint32_t msgid;
	struct rpc_message message;
	struct buffer buffer;
	struct pack p;
	va_list args;

	buffer_init(&buffer, 1 << 20);
	pack_init(&p, &buffer);
	rpc_pack_request(&p, ++msgid, method, n);
	va_start(args, format);
	pack_values(&p, format, args);
	va_end(args);
	cr_assert_eq(rpc_parse(buffer.data, buffer.len, &message), 0);
	methods_request(&methods, c, &message);
	buffer_done(&buffer);
}

#define N(x) ((int64_t)(x)) /* for i */

#endif
