/*
 * The supervisor: the process that the user called. It passes signals on to the guard and waits for
 * the end of the guard. If the guard is killed, the supervisor ends the job itself. If the guard is
 * stopped, the supervisor does so at the end of the lease.
 */
#include "api/answer.h"
#include "api/call.h"
#include "supervise/job.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/handle.h"
#include "base/clock.h"
#include "base/fd.h"
#include "supervise/tree.h"
#include "wire/pack.h"

#define LOOK_MS	       1000 /* between checks of the lease's deadline */
#define AGAIN_MS       100  /* between attempts to kill the job of a stopped guard */
#define GUARD_GRACE_MS 1000 /* how late a guard may be before it is killed */
#define REAP_PAUSE_MS  10
/* Scans of /proc without a process of the job. One scan may miss a process that is being forked. */
#define CLEAR_LOOKS	2
#define MSGIDS_OF_GUARD 0x40000000U /* the supervisor's request ids differ from the guard's */

struct supervisor {
	struct job *job;
	pid_t guard;
	int control;
	int timer;
	struct tree_set before; /* our descendants that are older than the job */
	bool reaches;		/* `before` is complete: all other descendants belong to the job */
};

int job_ask_renewal(const struct job *job, int64_t deadline, uint32_t *ret_id)
{
	struct request request;
	struct pack *p = request_begin(&request, 1);

	pack_uint(p, job->shared->number);
	return request_send(job->z, job->kind->renew, &request, deadline, ret_id);
}

/* Keeps the job's times within a session timeout that may have become shorter. */
static void fit_to_timeout(struct job *job, int64_t timeout_ms)
{
	int64_t renew_ms = timeout_ms / 32;

	if (job->kill_after_ms > timeout_ms / 4)
		job->kill_after_ms = timeout_ms / 4;
	if (renew_ms < JOB_RENEW_MIN_MS)
		renew_ms = JOB_RENEW_MIN_MS;
	if (job->renew_ms > renew_ms)
		job->renew_ms = renew_ms;
}

struct renewal {
	bool leads;
	int64_t lease_ms, timeout_ms;
};

static const struct key renewal_keys[] = {
	MESSAGE_KEY("leads", renewal, leads, KEY_BOOL, KEY_REQUIRED),
	LEASE_KEY("lease_ms", renewal, lease_ms, KEY_REQUIRED),
	LEASE_KEY("timeout_ms", renewal, timeout_ms, KEY_OPTIONAL),
};
static const struct keys renewal_form = KEYS(renewal_keys, renewal, SIZE_MAX);

int job_parse_renewal(struct job *job, struct reader result, bool *ret_leads, int64_t *ret_lease_ms)
{
	struct renewal x = {.timeout_ms = 0};
	int e = keys_take(&result, &renewal_form, &x);

	if (e < 0)
		return e;
	if (x.timeout_ms > 0)
		fit_to_timeout(job, x.timeout_ms);
	*ret_leads = x.leads;
	*ret_lease_ms = x.lease_ms;
	return 0;
}

int job_ask_attach(struct job *job)
{
	struct request request;
	struct pack *p = request_begin(&request, 2);
	int e;

	pack_str(p, job->name);
	pack_str(p, job->id);
	e = request_send(job->z, job->kind->attach, &request, HANDLE_AT_ONCE, &job->attach_id);
	if (e < 0)
		job->attach_id = 0;
	return e;
}

struct attached {
	bool attached, recorded;
	uint64_t run;
};

static const struct key attached_keys[] = {
	MESSAGE_KEY("attached", attached, attached, KEY_BOOL, KEY_REQUIRED),
	MESSAGE_KEY("run", attached, run, KEY_UINT, KEY_REQUIRED),
	MESSAGE_KEY("recorded", attached, recorded, KEY_BOOL, KEY_REQUIRED),
};
static const struct keys attached_form = KEYS(attached_keys, attached, SIZE_MAX);

int job_parse_attached(struct job *job, struct reader result, bool *ret_attached,
		       bool *ret_recorded)
{
	struct attached x;
	int e = keys_take(&result, &attached_form, &x);

	if (e < 0)
		return e;
	job->shared->number = x.run;
	*ret_attached = x.attached;
	*ret_recorded = x.recorded;
	return 0;
}

int job_attach(struct job *job, int64_t until, bool *ret_recorded)
{
	struct reader result;
	bool attached = false;
	int e = job->attach_id ? 0 : job_ask_attach(job);

	if (e == 0)
		e = handle_await(job->z, job->attach_id, HANDLE_ANSWER_MAX, until, &result);
	job->attach_id = 0;
	if (e == 0)
		e = job_parse_attached(job, result, &attached, ret_recorded);
	return e == 0 && !attached ? 1 : e;
}

/*
 * Packs the result of an HTTP request as job_finish takes it. A request that was cut off has the
 * result JOB_AGAIN, so the job may be tried again.
 */
static void pack_delivery(struct pack *p, const struct job_delivery *d)
{
	static const char *const words[] = {
		[JOB_AGAIN] = "failed", [JOB_DELIVERED] = "ok", [JOB_REFUSED] = "dead"};

	pack_kv_str(p, "how", words[d->how]);
	pack_kv_int(p, "retry_ms", d->retry_ms);
}

/* The end of the job's output, or NULL if it is not kept. */
static const struct tail *tail_of(const struct job *job)
{
	return job->capture ? job->capture->tail : job->relay ? job->relay->tail : NULL;
}

static int finish(const struct job *job, int64_t until, bool *ret_recorded)
{
	const struct job_delivery *delivery = &job->shared->delivery;
	const struct tail *tail = tail_of(job);
	size_t map;
	const char *why =
		job->shared->start_errno ? strerror(job->shared->start_errno) : job->shared->why;
	char last[TAIL_MAX];
	struct request request;
	struct pack *p = request_begin(&request, 2);
	struct reader result;
	uint32_t id;
	int e;

	pack_uint(p, job->shared->number);
	map = pack_open(p);
	pack_kv_int(p, "exit_status", job->shared->status);
	pack_kv_bool(p, "interrupted", job->shared->cut);
	if (why[0])
		pack_kv_str(p, "start", why);
	if (job->capture || job->timeout_ms > 0)
		pack_kv_bool(p, "timeout", job->shared->timed_out);
	if (tail)
		pack_kv_bin(p, "output", last, tail_last(tail, last));
	if (delivery->how != JOB_IS_COMMAND)
		pack_delivery(p, delivery);
	pack_close(p, map);
	e = request_send(job->z, job->kind->finish, &request, HANDLE_AT_ONCE, &id);
	if (e == 0)
		e = handle_await(job->z, id, HANDLE_ANSWER_MAX, until, &result);
	if (e == 0)
		e = reader_bool(&result, ret_recorded);
	return e;
}

void job_clear(struct job_shared *shared)
{
	shared->group = 0;
	shared->status = JOB_NO_STATUS;
	shared->start_errno = 0;
	shared->why[0] = '\0';
	shared->lost = shared->cut = shared->recorded = shared->timed_out = false;
	shared->delivery = (struct job_delivery){JOB_IS_COMMAND, -1};
}

void job_cut(struct job_shared *shared)
{
	if (!shared->timed_out)
		shared->cut = true;
}

bool job_report(struct job *job, int64_t until)
{
	int64_t away_until = clock_boot_ms() + JOB_AWAY_MS;
	bool attached = zkleader_fd(job->z) >= 0 && job->attach_id == 0, recorded = false;

	while (attached || until > 0) {
		int e = attached ? 0 : job_attach(job, until, &recorded);

		if (e == 0)
			e = finish(job, until, &recorded);
		if (e >= 0 || e == -ETIMEDOUT || clock_boot_ms() >= away_until)
			return recorded;
		/*
		 * The connection was lost, or there was none. The next turn attaches the run to the
		 * sidecar.
		 */
		attached = false;
		if (until > 0 && until < away_until)
			job->shared->report_by = until = away_until;
		poll(NULL, 0, JOB_KNOCK_MS);
	}
	return recorded;
}

void job_arm(int timer, int64_t at_ms)
{
	struct itimerspec t = {
		.it_value = {.tv_sec = at_ms / 1000, .tv_nsec = at_ms % 1000 * 1000000}};

	timerfd_settime(timer, TFD_TIMER_ABSTIME, &t, NULL);
}

/*
 * Ends the job at the lease's deadline. The guard does the same; this is for a guard that is
 * stopped.
 */
static void look_at_deadline(struct supervisor *s)
{
	struct job_shared *shared = s->job->shared;
	int64_t now = clock_boot_ms(), deadline = shared->deadline;
	pid_t group = shared->group;

	if (shared->over) {
		if (now >= shared->report_by + GUARD_GRACE_MS)
			kill(s->guard, SIGKILL);
		job_arm(s->timer, shared->report_by + GUARD_GRACE_MS);
	} else if (now < deadline) {
		/*
		 * A renewal may move the deadline back if the session's timeout has become shorter.
		 */
		job_arm(s->timer, deadline - now < LOOK_MS ? deadline : now + LOOK_MS);
	} else {
		if (shared->status == JOB_NO_STATUS) {
			shared->lost = true;
			job_cut(shared);
		}
		if (group > 0)
			kill(-group, SIGKILL);
		if (s->reaches)
			tree_signal(SIGKILL, s->guard, 0, &s->before);
		if (now >= deadline + GUARD_GRACE_MS)
			kill(s->guard, SIGKILL);
		job_arm(s->timer, now + AGAIN_MS);
	}
}

/* Looks again if the guard has begun another job meanwhile: it then sets the timer as well. */
static void watch_deadline(struct supervisor *s)
{
	const struct job_shared *shared = s->job->shared;
	unsigned round;

	do {
		round = shared->round;
		look_at_deadline(s);
	} while (round != shared->round);
}

static void pass_on(const struct supervisor *s, int sig)
{
	unsigned char byte = (unsigned char)sig;

	send(s->control, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sig == SIGTSTP)
		raise(SIGSTOP); /* the guard is not stopped, and still renews the lease */
}

/* Waits until the guard has ended. */
static void watch_guard(struct supervisor *s)
{
	struct pollfd fds[] = {{.fd = s->job->signals->fd, .events = POLLIN},
			       {.fd = s->timer, .events = POLLIN}};
	int sig;

	for (;;) {
		uint64_t expirations;

		while ((sig = signals_next(s->job->signals)) != 0)
			if (sig != SIGCHLD)
				pass_on(s, sig);
		if (waitpid(s->guard, NULL, WNOHANG) == s->guard)
			return;
		poll(fds, 2, -1);
		if (read(s->timer, &expirations, sizeof(expirations)) > 0)
			watch_deadline(s);
	}
}

/*
 * Ends the job after the guard was killed. This process is a subreaper, so it has become the parent
 * of the processes that the guard leaves behind.
 */
static void end_job(struct supervisor *s)
{
	struct job_shared *shared = s->job->shared;
	pid_t leader = shared->group, pid;
	int status, clear = 0;

	if (shared->status == JOB_NO_STATUS)
		job_cut(shared);
	s->job->guard_killed = true;
	s->job->all_reached = s->reaches;
	for (;;) {
		if (leader > 0)
			kill(-leader, SIGKILL);
		if (s->reaches)
			clear = tree_signal(SIGKILL, 0, 0, &s->before) > 0 ? 0 : clear + 1;
		while ((pid = waitpid(s->reaches || leader == 0 ? -1 : -leader, &status, WNOHANG)) >
		       0)
			if (pid == leader && shared->status == JOB_NO_STATUS)
				shared->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
								     : WEXITSTATUS(status);
		if (pid < 0 || (!s->reaches && leader == 0))
			break; /* no child is left */
		if (s->before.n > 0 && clear >= CLEAR_LOOKS)
			break; /* only processes that are older than the job are left */
		poll(NULL, 0, REAP_PAUSE_MS);
	}
	if (shared->status == JOB_NO_STATUS)
		shared->status = 128 + SIGKILL;
	shared->over = true;
	terminal_take(&s->job->terminal, leader);
	s->job->z->msgid += MSGIDS_OF_GUARD;
	/*
	 * The sidecar may not answer if the leadership is lost. The end is reported to it in any
	 * case, but then no answer is waited for.
	 */
	shared->recorded = job_report(s->job, shared->lost ? 0 : clock_boot_ms() + JOB_REPORT_MS);
}

static int start_guard(struct supervisor *s)
{
	int sockets[2] = {-1, -1};
	int e = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) < 0)
		return -errno;
	sockets[0] = fd_private(sockets[0]);
	sockets[1] = fd_private(sockets[1]);
	s->timer = fd_private(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
	if (sockets[0] < 0 || sockets[1] < 0 || s->timer < 0)
		e = -errno;
	s->control = sockets[0];
	s->job->supervisor = getpid();
	s->guard = e == 0 ? fork() : -1;
	if (s->guard == 0) {
		/* If the guard held our end of the socket open, it would not notice our end. */
		close(sockets[0]);
		close(s->job->signals->fd);
		s->job->watch = s->timer;
		guard_run(s->job, sockets[1]);
	}
	if (s->guard < 0 && e == 0)
		e = -errno;
	close(sockets[1]);
	return e;
}

static bool has_no_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

int job_run(struct job *job)
{
	struct supervisor s = {.job = job};
	int e;

	/* This process may have children that a shell started before it called exec(3) for us. */
	s.reaches = has_no_children() || tree_list(&s.before) == 0;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	e = start_guard(&s);
	if (e < 0) {
		tree_set_done(&s.before);
		return e;
	}
	/*
	 * A reader of the job's output must see its end when the job ends, so no other process
	 * keeps it open.
	 */
	fd_forget(STDIN_FILENO);
	fd_forget(STDOUT_FILENO);
	if (job->capture)
		capture_hold(job->capture);
	relay_hold(job->relay);
	watch_deadline(&s);
	watch_guard(&s);
	if (!job->shared->over)
		end_job(&s);
	tree_set_done(&s.before);
	close(s.control);
	close(s.timer);
	if (job->shared->start_errno != 0)
		return -job->shared->start_errno;
	return 0;
}
