#include "runner/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log/errout.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "supervise/capture.h"
#include "supervise/leased_job.h"
#include "supervise/run.h"

/*
 * Claims the tick. If another process gets it or none may, this process has nothing to do: the
 * sidecar offers the tick again if it has to be run.
 */
static int claim(struct run *r, const struct due *due)
{
	int e = zkleader_open(r->c->socket, &r->c->z);

	if (e == 0)
		e = signals_block(&r->signals);
	if (e == 0)
		e = run_claim(r);
	if (e == 0 && r->claim.tick.outcome == ZKLEADER_YOURS)
		return 0;
	if (e != 0 || r->claim.tick.why[0])
		log_warning("not begun", LOG_STR("task", due->task), LOG_STR("tick", due->tick),
			    LOG_STR("why", e == 0    ? r->claim.tick.why
					   : r->c->z ? zkleader_message(r->c->z)
						     : strerror(-e)));
	return -ECANCELED;
}

int start_tell(const struct start *s, pid_t pid, bool is_free)
{
	const struct start_word word = {pid, is_free};

	return send(s->begun, &word, sizeof(word), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int run_claimed(struct run *r, struct capture *capture, const struct start *s,
		       const struct due *due)
{
	int64_t began_ms = clock_boot_ms();
	int e = capture_init(capture, due->task, due->tick, s->journal), code;

	/*
	 * A failure does not matter. The runner may have ended, or else it counts this process as
	 * beginning for a short time only.
	 */
	(void)start_tell(s, getpid(), false);
	close(s->begun);
	if (e == 0 && (e = capture_begin(capture)) < 0)
		capture_done(capture);
	/* The tick is claimed, so the job is run, although its output is lost. */
	if (e < 0)
		log_warning("the output of a run is not kept", LOG_STR("task", due->task),
			    LOG_STR("tick", due->tick), LOG_STR("why", strerror(-e)));
	else
		r->capture = capture;
	log_info("run begun", LOG_STR("task", due->task), LOG_STR("tick", due->tick),
		 LOG_INT("attempt", due->attempt));
	code = run_job(r);
	log_info("run ended", LOG_STR("task", due->task), LOG_STR("tick", due->tick),
		 LOG_INT("attempt", due->attempt), LOG_INT("status", code),
		 LOG_INT("took_ms", clock_boot_ms() - began_ms));
	if (e == 0)
		capture_done(capture);
	return code;
}

const char **start_words(const char *name, const struct command_config *c)
{
	const char **words = mem_calloc(c->n_words + 2, sizeof(*words));

	words[0] = name;
	for (size_t i = 0; i < c->n_words; i++)
		words[i + 1] = c->words[i];
	return words;
}

void start_environment(const struct start *s, const struct command_config *c)
{
	account_environment(s->account);
	for (size_t i = 0; c && i < c->n_environment; i++)
		putenv(c->environment[i]);
	if (!c)
		account_proxies(s->account);
}

int start_become(const struct start *s, struct context *c)
{
	int e = account_become(s->account);

	s->forget(s->arg);
	prctl(PR_SET_NAME, "zkleader-run");
	signal(SIGPIPE, SIG_DFL); /* systemd has services ignore it */
	sigprocmask(SIG_SETMASK, s->mask, NULL);
	/* If nobody reads the runner's standard error, the end of a job must not wait for that. */
	FILE *err = errout_stream();
	if (!err)
		abort(); /* out of memory, as in base/mem.h */
	output_init(&c->output, stdout, err);
	c->output.now_ms = clock_wall_ms();
	c->socket = s->socket;
	return e;
}

_Noreturn static void be_run(const struct start *s, const struct task_config *task,
			     const struct due *due)
{
	const struct command_config *command = &task->schedule->command;
	struct context c = {.args = start_words(task->name, command)};
	struct run r = {.c = &c,
			.task = due->task,
			.tick_ms = CLAIM_BY_TASK,
			.wait_ms = CLAIM_BY_TASK,
			.kill_after_ms = LEASED_JOB_BY_LEASE,
			.began_ms = clock_boot_ms(),
			.scheduled_tick = due->tick,
			.attempt = due->attempt,
			.timeout_ms = task->schedule->timeout_ms,
			.directory = command->directory};
	struct capture capture;
	int e = start_become(s, &c), code = EXIT_SUCCESS;

	if (e < 0) {
		log_warning("not begun", LOG_STR("task", due->task), LOG_STR("tick", due->tick),
			    LOG_STR("why", strerror(-e)), LOG_STR("folder", s->account->home));
	} else if (claim(&r, due) == 0) {
		start_environment(s, command);
		code = run_claimed(&r, &capture, s, due);
	}
	fflush(NULL);
	_exit(code);
}

pid_t start_run(const struct start *s, const struct task_config *task, const struct due *due)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		be_run(s, task, due);
	return pid < 0 ? -errno : pid;
}
