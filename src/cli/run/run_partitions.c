/*
 * zkleader run TASK, if the task has partitions. For each partition that is claimed, this process
 * forks one that supervises the job as `zkleader run TASK:K` would. Partitions are claimed one
 * after the other: the sidecar answers a claim when the next partition may begin.
 */
#include "cli/run/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/ui/ask.h"

#define LOOK_MS 1000 /* between checks of the children, in case a SIGCHLD is lost */

struct parts {
	pid_t *pids; /* of the processes that have not ended; owned */
	size_t n;
	int code; /* the greatest status so far */
	bool stopping;
};

/* --- one partition ----------------------------------------------------------------------- */

/* Runs in the process of the partition, which has taken over the connection. */
_Noreturn static void supervise(struct run *r, pid_t parent)
{
	int code;

	/* If the process that was called is killed, the job ends. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(ZKLEADER_CANNOT_TELL);
	code = run_job(r);
	fflush(r->c->output.err);
	_exit(code);
}

/*
 * Starts the process of the partition that was claimed. 0, or a negative errno: there is none, and
 * the claim ends when the connection is closed.
 */
static int start(struct run *r, struct parts *p)
{
	pid_t parent = getpid(), pid;

	snprintf(r->partition, sizeof(r->partition), "%.*s:%d", NAME_TASK_MAX, r->task,
		 r->claim.partition);
	output_flush(&r->c->output);
	fflush(r->c->output.err);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		r->task = r->partition;
		supervise(r, parent);
	}
	p->pids = mem_resize(p->pids, p->n + 1, sizeof(*p->pids));
	p->pids[p->n++] = pid;
	return 0;
}

static void reap(struct parts *p)
{
	int status;

	for (size_t i = 0; i < p->n;) {
		if (waitpid(p->pids[i], &status, WNOHANG) != p->pids[i]) {
			i++;
			continue;
		}
		status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		p->code = status > p->code ? status : p->code;
		p->pids[i] = p->pids[--p->n];
	}
}

/* --- all partitions ---------------------------------------------------------------------- */

/*
 * Passes a signal on to the processes of all partitions, whose jobs may handle it. A signal that
 * would end this process ends the claims. False: it does.
 */
static bool take_signal(struct parts *p, int sig)
{

	if (sig == SIGCHLD)
		reap(p);
	if (sig == SIGTSTP)
		raise(SIGSTOP);
	if (sig == SIGCHLD || sig == SIGTSTP || sig == SIGCONT)
		return true;
	for (size_t i = 0; i < p->n; i++)
		kill(p->pids[i], sig);
	p->stopping |= sig != SIGUSR1 && sig != SIGUSR2;
	return !p->stopping;
}

static bool on_signal(const struct pending *pending, int sig)
{
	return take_signal(((struct run *)pending->arg)->arg, sig);
}

static void wait_for_all(struct run *r, struct parts *p)
{
	struct pollfd fd = {.fd = r->signals.fd, .events = POLLIN};
	int sig;

	for (reap(p); p->n > 0; reap(p)) {
		poll(&fd, 1, LOOK_MS);
		while ((sig = signals_next(&r->signals)) != 0)
			take_signal(p, sig);
	}
}

/* Claims the next partition, on a connection of its own. 0 and the claim, or how asking failed. */
static int claim_next(struct run *r)
{
	struct context *c = r->c;
	int e;

	r->got = mem_resize(r->got, r->ran + 1, sizeof(*r->got));
	r->got[r->ran++] = (unsigned)r->claim.partition;
	zkleader_close(c->z); /* the process of the partition has it now */
	c->z = NULL;
	e = zkleader_open(c->socket, &c->z);
	return e < 0 ? e : run_claim(r);
}

/* The exit code: the greatest of all. */
static int conclude(const struct parts *p, int code)
{
	return code > p->code ? code : p->code;
}

static int run_parts(struct run *r, struct parts *p)
{
	int e = 0, code = 0;

	r->arg = p;
	r->pending.on_signal = on_signal;
	while (e == 0 && r->claim.tick.outcome == ZKLEADER_YOURS && !p->stopping) {
		e = start(r, p);
		if (e < 0)
			output_error(&r->c->output, "no process for %s:%d", r->task,
				     r->claim.partition);
		else
			e = claim_next(r);
	}
	/*
	 * The end of the partitions that run here is normal; a sidecar that cannot tell is an
	 * error.
	 */
	if (e != 0 && !p->stopping && e != ZKLEADER_NOBODY)
		code = context_failed(r->c, e);
	else if (e == 0 && !p->stopping && r->claim.tick.why[0] != '\0' &&
		 r->claim.tick.outcome == ZKLEADER_WAITED)
		code = run_not_ours(r);
	wait_for_all(r, p);
	return conclude(p, code);
}

int run_partitions(struct run *r)
{
	struct parts p = {.pids = NULL};
	int code = run_parts(r, &p);

	free(p.pids);
	free(r->got);
	return code;
}
