/*
 * The guard: parent of the job, and of processes that the job leaves behind. It holds the lease's
 * timer and renews the lease. So the job does not outlive the leadership even if zkleader or the
 * sidecar ends or is stopped. It has a process group of its own, so that signals to the group of
 * the caller do not reach it.
 *
 *         running --the job's leader ends, or the leadership--> ending --no process is left--> over
 *
 * When the guard begins to end the job, all processes of the job get one TERM. They get KILLs from
 * kill_at on, or from the lease's deadline on if that is earlier.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/handle.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/min.h"
#include "supervise/job.h"
#include "supervise/launch.h"
#include "supervise/tree.h"

#define KILL_FIRST_MS 10 /* to the next KILL, for processes forked meanwhile; then doubled */
#define KILL_LAST_MS  1000

struct guard {
	struct job *job;
	struct job_shared *shared;
	int control; /* socket to the process that was called; -1: that process is gone */
	int timer;
	int children; /* signalfd(2) of SIGCHLD */
	pid_t leader; /* the command: the leader of the job's process group */
	bool ended;   /* the command has ended, and its status is known */
	bool ending;
	int64_t kill_at; /* while ending: when to send the next KILL */
	bool killing;
	int64_t kill_pause_ms;
	int64_t timeout_at;
	bool attached;	  /* the sidecar has bound the run to our connection */
	int64_t knock_at; /* when to try to attach again */
	int64_t renew_at;
	int64_t renew_sent_ms;
	uint32_t renew_id; /* 0: none is outstanding */
};

/* --- starting ------------------------------------------------------------- */

static int start(struct guard *g)
{
	bool foreground = terminal_is_for_job(&g->job->terminal);

	g->leader = launch(g->job, foreground);
	if (g->leader < 0)
		return -errno;
	/*
	 * Both the guard and the job set the process group and give the terminal. So neither
	 * depends on which of them runs first.
	 */
	setpgid(g->leader, g->leader);
	if (foreground)
		terminal_give(&g->job->terminal, g->leader);
	g->shared->group = g->leader;
	if (g->job->capture)
		capture_hold(g->job->capture);
	relay_hold(g->job->relay);
	/* A reader of the job's output must see its end, so no other process keeps it open. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !g->job->next; fd++)
		fd_forget(fd);
	return 0;
}

/* --- ending --------------------------------------------------------------- */

/* Sends TERM to all processes of the job now. KILL follows at kill_at. */
static void begin_end(struct guard *g, int64_t kill_at)
{
	pid_t group = g->shared->group;

	if (g->ending) {
		g->kill_at = min64(g->kill_at, kill_at);
		return;
	}
	g->ending = true;
	g->kill_at = kill_at;
	if (group > 0)
		tree_signal_group(group, SIGTERM);
	tree_signal(SIGTERM, 0, g->leader, NULL);
}

/* The command has come to its own end: nothing that is sent from now on has ended it. */
static bool has_ended(const struct guard *g)
{
	siginfo_t info = {0};

	return g->ended ||
	       (waitid(P_PID, (id_t)g->leader, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		info.si_pid == g->leader);
}

static void lose(struct guard *g, int64_t kill_at)
{
	if (!has_ended(g)) {
		g->shared->lost = true;
		job_cut(g->shared);
	}
	begin_end(g, kill_at);
}

/*
 * The job's timeout has passed: it is ended, but the lease is still renewed meanwhile. KILL comes
 * earlier only if the lease ends earlier.
 */
static void time_out(struct guard *g, int64_t now)
{
	g->shared->timed_out = !has_ended(g);
	begin_end(g, now + JOB_LAST_WORDS_MS);
}

static void kill_all(struct guard *g, int64_t now)
{
	pid_t group = g->shared->group;

	if (group > 0)
		tree_signal_group(group, SIGKILL);
	/*
	 * Without /proc only the job's process group can be reached. Its number stays valid while
	 * the group has members.
	 */
	if (tree_signal(SIGKILL, 0, 0, NULL) < 0 && group == 0)
		tree_signal_group(g->leader, SIGKILL);
	g->kill_pause_ms = g->killing ? min64(2 * g->kill_pause_ms, KILL_LAST_MS) : KILL_FIRST_MS;
	g->kill_at = now + g->kill_pause_ms;
	g->killing = true;
}

/*
 * The command itself has ended. It is not reaped yet, so its pid still is the number of its process
 * group, and no other group can have that number.
 */
static void leader_ended(struct guard *g, const siginfo_t *info)
{
	g->shared->status = info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status;
	g->ended = true;
	terminal_take(&g->job->terminal, g->leader);
	if (!g->ending)
		tree_signal_group(g->leader, SIGTERM);
	g->shared->group = 0;
}

/* The command has been stopped, because it used the terminal in the background or by Ctrl-Z. */
static void leader_stopped(struct guard *g, int sig)
{
	struct terminal *t = &g->job->terminal;

	if (sig == SIGTTIN || sig == SIGTTOU) {
		if (terminal_give(t, g->leader))
			kill(-g->leader, SIGCONT);
		else if (g->control >= 0 && t->fd >= 0)
			/* Stops our own group until the shell puts it in the foreground. */
			kill(-t->home, SIGTTIN);
	} else if (terminal_take(t, g->leader) && g->control >= 0) {
		/*
		 * The terminal would have sent this to our group if it had not had the job's group
		 * in the foreground.
		 */
		kill(-t->home, SIGTSTP);
	}
}

/* Reaps processes that have ended. Returns whether no process of the job is left. */
static bool reap(struct guard *g)
{
	siginfo_t info = {0};

	while (!g->ended && waitid(P_PID, (id_t)g->leader, &info, WSTOPPED | WNOHANG) == 0 &&
	       info.si_pid != 0) {
		leader_stopped(g, info.si_status);
		info.si_pid = 0;
	}
	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
			return true;
		if (info.si_pid == 0)
			break;
		if (info.si_pid == g->leader && !g->ended)
			leader_ended(g, &info);
		waitpid(info.si_pid, NULL, 0);
	}
	if (g->ended && !g->ending) {
		g->ending = true; /* leader_ended() has sent TERM to its process group */
		g->kill_at = clock_boot_ms() + g->job->kill_after_ms;
		tree_signal(SIGTERM, 0, g->leader, NULL);
	}
	return false;
}

/* --- the lease ------------------------------------------------------------ */

/*
 * The connection is lost, perhaps because the sidecar restarts. The next sidecar may take over the
 * session, and then the run can attach to it.
 */
static void detach(struct guard *g, int64_t knock_at)
{
	g->attached = false;
	g->job->attach_id = 0;
	g->renew_id = 0;
	g->knock_at = knock_at;
}

static void knock(struct guard *g, int64_t now)
{
	if (job_ask_attach(g->job) < 0)
		detach(g, now + JOB_KNOCK_MS);
}

static void renew(struct guard *g, int64_t now)
{
	g->renew_sent_ms = now;
	g->renew_at = now + g->job->renew_ms;
	if (job_ask_renewal(g->job, 0, &g->renew_id) < 0)
		detach(g, now);
}

static void lose_now(struct guard *g, int64_t now)
{
	int64_t words_ms = g->job->capture ? JOB_LAST_WORDS_MS : g->job->kill_after_ms;

	lose(g, min64(now + words_ms, g->shared->deadline));
}

static void take_renewal(struct guard *g, struct reader result)
{
	int64_t lease_ms = 0;
	bool leads = false;

	if (job_parse_renewal(g->job, result, &leads, &lease_ms) < 0)
		return; /* a bad answer says nothing about the lease */
	g->renew_at = min64(g->renew_at, g->renew_sent_ms + g->job->renew_ms);
	if (leads)
		g->shared->deadline = g->renew_sent_ms + lease_ms;
	else
		lose_now(g, clock_boot_ms());
}

/*
 * Takes the answer to an attach request. A restarted sidecar that could not take over the session
 * of the one before does not know the run, and so the leadership is lost.
 */
static void take_attached(struct guard *g, struct reader result, int e)
{
	bool attached = false, recorded;
	int64_t now = clock_boot_ms();

	g->job->attach_id = 0;
	if (e == 0 && job_parse_attached(g->job, result, &attached, &recorded) < 0)
		attached = false;
	g->attached = attached;
	g->renew_at = now;
	if (!attached)
		lose_now(g, now);
}

static void read_answers(struct guard *g)
{
	struct message m;
	int e;

	while ((e = handle_receive(g->job->z, HANDLE_ANSWER_MAX, HANDLE_AT_ONCE, &m)) == 0) {
		if (m.is_answer && m.id == g->job->attach_id) {
			take_attached(g, m.data, m.code);
		} else if (m.is_answer && m.id == g->renew_id) {
			g->renew_id = 0;
			if (m.code == 0)
				take_renewal(g, m.data);
		} /* other answers are to requests from before the job */
	}
	if (e != -ETIMEDOUT)
		detach(g, clock_boot_ms());
}

/* --- the loop ------------------------------------------------------------- */

static void read_control(struct guard *g)
{
	unsigned char sig;
	ssize_t n;

	while ((n = read(g->control, &sig, 1)) == 1) {
		if (sig == SIGCONT && g->job->terminal.wanted && !g->ended)
			terminal_give(&g->job->terminal, g->leader);
		if (!g->ended)
			kill(-g->leader, sig);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		close(g->control);
		g->control = -1;
		if (!has_ended(g))
			job_cut(g->shared);
		begin_end(g, clock_boot_ms() + g->job->kill_after_ms);
	}
}

/* When the job has to get a TERM or, if it has had one, the next KILL. */
static int64_t end_is_due(const struct guard *g)
{
	if (!g->ending)
		return g->shared->deadline - g->job->kill_after_ms;
	return g->killing ? g->kill_at : min64(g->kill_at, g->shared->deadline);
}

/* Sends a renewal or an attach request if one is due. Returns when to call this again. */
static int64_t keep_lease(struct guard *g, int64_t now)
{
	if (g->shared->lost || g->job->attach_id != 0 || g->renew_id != 0)
		return INT64_MAX;
	if (!g->attached) {
		if (now >= g->knock_at)
			knock(g, now);
		return g->job->attach_id != 0 ? INT64_MAX : g->knock_at;
	}
	if (now >= g->renew_at)
		renew(g, now);
	return g->attached ? g->renew_at : g->knock_at;
}

/* Does what is due. Returns when to call this again. */
static int64_t on_time(struct guard *g)
{
	int64_t now = clock_boot_ms();

	/* Answers are read before the deadline is checked, because a renewal may have moved it. */
	if (zkleader_fd(g->job->z) >= 0)
		read_answers(g);
	capture_read(g->job->capture);
	if (!g->ending && now >= end_is_due(g))
		lose(g, g->shared->deadline);
	if (!g->ending && now >= g->timeout_at)
		time_out(g, now);
	if (g->ending && now >= end_is_due(g))
		kill_all(g, now);
	return min64(min64(keep_lease(g, now), end_is_due(g)),
		     min64(g->ending ? INT64_MAX : g->timeout_at, capture_due_ms(g->job->capture)));
}

static void wait_until(struct guard *g, int64_t at_ms)
{
	struct pollfd fds[] = {
		{.fd = g->timer, .events = POLLIN},
		{.fd = g->children, .events = POLLIN},
		{.fd = g->control, .events = POLLIN}, /* poll(2) ignores -1 */
		{.fd = zkleader_fd(g->job->z), .events = POLLIN},
		{.fd = capture_fd(g->job->capture), .events = POLLIN},
	};
	struct signalfd_siginfo info;

	job_arm(g->timer, at_ms);
	poll(fds, sizeof(fds) / sizeof(fds[0]), -1);
	while (read(g->children, &info, sizeof(info)) > 0)
		;
	if (g->control >= 0 && fds[2].revents)
		read_control(g);
}

/* Makes what the guard waits with; -1: that cannot be had. */
static void prepare(struct guard *g)
{
	sigset_t children;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	g->children = fd_private(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
	g->timer = fd_private(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
}

static void run_one(struct guard *g)
{
	struct job *job = g->job;
	int64_t report_by;
	int e = g->timer < 0 || g->children < 0 ? -EMFILE : start(g);

	if (e < 0) {
		g->shared->start_errno = -e;
		g->shared->status = JOB_CANNOT_START;
	}
	g->attached = zkleader_fd(job->z) >= 0;
	g->renew_at = clock_boot_ms() + job->renew_ms;
	g->timeout_at = job->timeout_ms > 0 ? clock_boot_ms() + job->timeout_ms : INT64_MAX;
	while (e == 0 && !reap(g))
		wait_until(g, on_time(g));
	if (job->capture)
		capture_end(job->capture);
	relay_settle(job->relay);
	report_by = clock_boot_ms() + JOB_REPORT_MS;
	if (report_by < g->shared->deadline)
		report_by = g->shared->deadline;
	g->shared->report_by = report_by;
	g->shared->over = true;
	/*
	 * The sidecar may not answer if the leadership is lost. The end is reported to it in any
	 * case, but then no answer is waited for.
	 */
	g->shared->recorded = job_report(job, g->shared->lost ? 0 : report_by);
}

/*
 * No process of the job before is left, or the guard would still wait for it. The supervisor's
 * timer is set before the job begins.
 */
static void run_each(struct guard *g)
{
	const struct guard fresh = *g;
	struct job *job = g->job;
	int control;

	while (job->next(job, control = g->control)) {
		*g = fresh;
		g->control = control;
		job->shared->over = false;
		job->shared->round++;
		job_arm(job->watch, job->shared->deadline);
		run_one(g);
	}
}

_Noreturn void guard_run(struct job *job, int control)
{
	struct guard g = {.job = job, .shared = job->shared, .control = control};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setpgid(0, 0);
	prctl(PR_SET_NAME, "zkleader-guard");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prepare(&g);
	if (job->next)
		run_each(&g);
	else
		run_one(&g);
	/*
	 * The process that was called may be stopped, and it holds the connection open as well.
	 * This closes the connection for the sidecar all the same.
	 */
	if (zkleader_fd(job->z) >= 0)
		shutdown(zkleader_fd(job->z), SHUT_RDWR);
	_exit(0);
}
