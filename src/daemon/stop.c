#include "daemon/stop.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log/log.h"
#include "base/log/notify.h"
#include "core/time/tick.h"

#define SIDECAR_DRAIN_POLL_MS 50

static void on_stopped(void *arg)
{
	uv_stop(((struct sidecar *)arg)->loop);
}

static void on_stop_timer(uv_timer_t *timer)
{
	log_warning("the server does not answer the farewell", LOG_END);
	on_stopped(timer->data);
}

static void leave(struct sidecar *s)
{
	handoff_file_remove(s->start->socket);
	uv_timer_start(&s->stop_timer, on_stop_timer, SIDECAR_STOP_MS, 0);
	node_stop(&s->node, on_stopped, s);
}

/* The number of running jobs: of tasks and queues, and commands under a lock or in a gang. */
static size_t going(const struct sidecar *s)
{
	return node_going(&s->node);
}

/*
 * The reason why the session is not closed yet; NULL: none. Jobs that run may finish first. After a
 * time limit they are told that the leadership is lost, and they are dead by the end of the lease.
 * The sidecar waits only SIDECAR_RECORD_MS for the answers to records of runs that it has sent.
 */
static const char *to_wait_for(struct sidecar *s)
{
	int64_t now = clock_boot_ms();
	size_t jobs = going(s);

	if (jobs > 0 && !s->node.runs.holders.revoked && now >= s->drain_ms) {
		log_warning("jobs are ended", LOG_INT("going", jobs));
		runs_revoke(&s->node.runs);
		recipes_revoke(&s->node.recipes);
		queues_revoke(&s->node.queues);
		s->drain_ms = now + session_told_left(&s->node.session);
	}
	if (jobs > 0 && now < s->drain_ms)
		return "jobs";
	if (now < s->promised_ms && leaders_promised_left(&s->node.leaders) > 0)
		return "what answers have promised";
	if (s->record_ms == 0)
		s->record_ms = now + SIDECAR_RECORD_MS;
	if (now < s->record_ms && runs_open(&s->node.runs) > 0 && session_is_up(&s->node.session))
		return "the answer to a record";
	return NULL;
}

static void on_drain_timer(uv_timer_t *timer)
{
	struct sidecar *s = timer->data;
	const char *what = to_wait_for(s);

	if (!what) {
		uv_timer_stop(timer);
		leave(s);
	} else if (what != s->waits_for) {
		log_info("waiting", LOG_STR("for", what),
			 LOG_INT("jobs", runs_going(&s->node.runs, true)),
			 LOG_INT("promised_ms", leaders_promised_left(&s->node.leaders)));
	}
	s->waits_for = what;
}

void stop_on_term(uv_signal_t *handle, int number)
{
	struct sidecar *s = handle->data;
	int64_t now = clock_boot_ms();

	if (s->stopping)
		return;
	s->stopping = true;
	log_info("stopping", LOG_STR("signal", number == SIGTERM ? "TERM" : "INT"),
		 LOG_INT("jobs", going(s)));
	notify_send("STOPPING=1");
	s->drain_ms = now + SIDECAR_DRAIN_MS;
	s->promised_ms = now + s->config->stop_wait_ms;
	node_leave(&s->node);
	if (!to_wait_for(s)) {
		leave(s);
		return;
	}
	node_withdraw(&s->node);
	uv_timer_start(&s->stop_timer, on_drain_timer, 0, SIDECAR_DRAIN_POLL_MS);
}

/*
 * Ends this process, and leaves the session open: the sidecar that is started next takes it over.
 */
static void make_room(struct sidecar *s)
{
	log_info("stopping, the session stays for the next sidecar",
		 LOG_INT("leading", s->node.leaders.n_leading), LOG_INT("jobs", going(s)));
	s->kept.jobs = (int64_t)runs_open(&s->node.runs);
	if (s->kept.handoff.session != 0)
		handoff_file_write(s->start->socket, &s->kept, &(const char *){NULL});
	recipes_keep(&s->node.recipes);
	queues_keep(&s->node.queues);
	control_close(&s->control);
	_exit(0); /* exit handlers of ZooKeeper's library must not run */
}

static void on_restart_timer(uv_timer_t *timer)
{
	struct sidecar *s = timer->data;

	if (clock_boot_ms() >= s->clear_ms)
		make_room(s);
}

/*
 * Restarts. No request is answered until the next sidecar has started, so this waits for a time
 * away from the full minute, when crontab lines fire. Until then the sidecar works as before. Jobs
 * that run attach to the next sidecar.
 */
void stop_on_usr2(uv_signal_t *handle, int number)
{
	struct sidecar *s = handle->data;
	int64_t now = clock_boot_ms();

	(void)number;
	if (s->stopping || s->clear_ms != 0)
		return;
	s->clear_ms = now + tick_clear(clock_wall_ms(), s->config->tick_guard_ms);
	log_info("restarting", LOG_STR("signal", "USR2"), LOG_INT("in_ms", s->clear_ms - now),
		 LOG_INT("jobs", going(s)));
	notify_send("STOPPING=1");
	uv_timer_start(&s->stop_timer, on_restart_timer, 0, SIDECAR_DRAIN_POLL_MS);
}
