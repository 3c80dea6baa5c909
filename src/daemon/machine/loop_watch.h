/*
 * A net under the rule that nothing blocks the loop. While the loop stands still, the threads of
 * ZooKeeper's library keep the session alive, so nobody else could lead. A thread that needs
 * nothing of the loop ends the process then (core/queue/hang.h), so that the session ends.
 */
#ifndef ZKLEADER_DAEMON_MACHINE_LOOP_WATCH_H
#define ZKLEADER_DAEMON_MACHINE_LOOP_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

struct loop_watch {
	uv_loop_t *loop;
	uv_prepare_t prepare;
	int64_t (*timeout_ms)(void *arg);
	void *arg;
	char *session_file; /* is removed with the process, so that no other keeps the session */
	pthread_t thread;
	bool running;
	int64_t retry_ms; /* no thread could be started: when to try again */
	pid_t loop_tid;
	clockid_t loop_cpu;
	/* Between the threads. */
	atomic_uint_least64_t turns;
	atomic_int_least64_t timeout;
	pthread_mutex_t lock;
	pthread_cond_t ends;
	bool ended; /* under lock */
};

/*
 * On the loop's thread, before the loop runs. The file is that of the session, for the next
 * sidecar. timeout_ms() is called on the loop, once a turn.
 */
void loop_watch_begin(struct loop_watch *w, uv_loop_t *loop, const char *session_file,
		      int64_t (*timeout_ms)(void *arg), void *arg);
/* Called after the loop has ended, before its handles are closed. */
void loop_watch_end(struct loop_watch *w);

#endif
