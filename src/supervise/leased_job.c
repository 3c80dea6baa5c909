#include "supervise/leased_job.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api/handle.h"
#include "api/json.h"
#include "base/clock.h"
#include "base/min.h"
#include "base/text/duration.h"

#define RENEW_LIMIT_MS 5000 /* time for the answer to the first renewal */
#define RENEW_MAX_MS   1000
#define KILL_AFTER_MS  5000 /* by default, but at most a fifth of the lease */

/*
 * --kill-after is taken from the lease, and at least half of the lease must be left for renewals. A
 * lease varies from 40 % to 97 % of the session's timeout.
 */
int leased_job_check_kill_after(struct context *c, int64_t kill_after_ms)
{
	json_auto_t *status = NULL;
	char most[DURATION_TEXT_SIZE];
	int64_t most_ms;
	const void *result;
	size_t len;

	if (kill_after_ms == LEASED_JOB_BY_LEASE ||
	    zkleader_call(c->z, "status", NULL, 0, CONTEXT_TIMEOUT_MS, &result, &len) != 0 ||
	    json_from_msgpack(result, len, &status) < 0)
		return 0; /* the claim will fail as well, and say what is wrong */
	most_ms = json_number(json_object_get(status, "session"), "timeout_ms", 0) / 4;
	if (most_ms <= 0 || kill_after_ms <= most_ms)
		return 0;
	duration_format(most_ms, most);
	output_error(&c->output,
		     "--kill-after is at most %s here: a quarter of the session's timeout", most);
	return -EINVAL;
}

/*
 * Renews the lease at once, because the answer to the claim may have come long after its request. 0
 * and the deadline of the lease; -EPERM if the lease is lost already; or another negative errno.
 */
static int first_lease(struct job *job, int64_t *ret_deadline)
{
	int64_t sent_ms = clock_boot_ms(), lease_ms = 0;
	struct reader result = {.p = NULL};
	uint32_t id;
	bool leads = false;
	int e = job_ask_renewal(job, sent_ms + RENEW_LIMIT_MS, &id);

	if (e == 0)
		e = handle_await(job->z, id, HANDLE_ANSWER_MAX, sent_ms + RENEW_LIMIT_MS, &result);
	if (e == 0)
		e = job_parse_renewal(job, result, &leads, &lease_ms);
	if (e == -ETIMEDOUT || e == -EBADMSG)
		handle_fail(job->z, e, RENEW_LIMIT_MS);
	*ret_deadline = sent_ms + lease_ms;
	return e == 0 && (!leads || clock_boot_ms() >= *ret_deadline) ? -EPERM : e;
}

static void wait_to_knock(const struct signals *signals)
{
	struct pollfd fd = {.fd = signals->fd, .events = POLLIN};
	int sig;

	poll(&fd, 1, JOB_KNOCK_MS);
	while ((sig = signals_next(signals)) != 0)
		signals_obey(signals, sig);
}

/*
 * As first_lease(), but the sidecar may restart between its answer to the claim and the first
 * renewal. The new sidecar continues the run if it has taken over the session, so this attaches to
 * it.
 */
static int begin_lease(struct job *job, int64_t *ret_deadline)
{
	int64_t until = clock_boot_ms() + JOB_AWAY_MS;
	int e = first_lease(job, ret_deadline);
	bool recorded;

	while ((e == -ECONNRESET || e == -EPIPE || e == -ECONNREFUSED || e == -ENOENT) &&
	       clock_boot_ms() + JOB_KNOCK_MS < until) {
		wait_to_knock(job->signals);
		e = job_attach(job, until, &recorded);
		if (e > 0)
			return -EPERM;
		if (e == 0)
			e = first_lease(job, ret_deadline);
	}
	return e;
}

static int64_t within(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

/* Derives the job's times from its first lease. */
static void set_times(const struct leased_job *leased, struct job *job, int64_t left)
{
	/* A later lease may be half as long: see leased_job_check_kill_after(). */
	int64_t by_lease = min64(left / 5, KILL_AFTER_MS);
	int64_t asked =
		leased->kill_after_ms == LEASED_JOB_BY_LEASE ? by_lease : leased->kill_after_ms;

	job->kill_after_ms = within(asked, 0, min64(left / 2, job->kill_after_ms));
	job->renew_ms = within(left / 16, JOB_RENEW_MIN_MS, job->renew_ms);
}

int leased_job_begin(const struct leased_job *leased, struct job *job)
{
	int64_t deadline = 0;
	int e;

	job->argv = leased->argv;
	job->directory = leased->directory;
	job->call = leased->call;
	job->call_arg = leased->call_arg;
	job->kill_after_ms = LEASED_JOB_KILL_AFTER_MAX_MS;
	job->renew_ms = RENEW_MAX_MS;
	job->timeout_ms = leased->timeout_ms;
	job->capture = leased->capture;
	job->relay = leased->relay;
	job_clear(job->shared);
	job->shared->number = leased->number;
	e = begin_lease(job, &deadline);
	if (e == -EPERM) {
		output_error(&leased->c->output, "%s %s was lost before its command began",
			     leased->kind->lease, leased->name);
		return ZKLEADER_CANNOT_TELL;
	}
	if (e != 0)
		return context_failed(leased->c, e);
	set_times(leased, job, deadline - clock_boot_ms());
	job->shared->deadline = deadline;
	return 0;
}

int leased_job_conclude(struct leased_job *leased, const struct job *job, int e)
{
	const struct output *o = &leased->c->output;

	if (e < 0) {
		output_error(o, "the command cannot be started: %s", strerror(-e));
		return JOB_CANNOT_START;
	}
	if (job->shared->lost) {
		output_error(o, "%s %s was lost, so its command was ended", leased->kind->lease,
			     leased->name);
		return ZKLEADER_CANNOT_TELL;
	}
	if (job->guard_killed)
		output_error(o, "the guard of %s was killed, so its command was killed as well%s",
			     leased->name,
			     job->all_reached
				     ? ""
				     : ", but what has left its process group may be alive");
	leased->unrecorded = !job->shared->recorded;
	return job->shared->status;
}

void leased_job_init(const struct leased_job *leased, struct job_shared *shared, struct job *ret)
{
	*ret = (struct job){.z = leased->c->z,
			    .kind = leased->kind,
			    .name = leased->name,
			    .id = leased->id,
			    .signals = leased->signals,
			    .shared = shared};
	terminal_init(&ret->terminal);
}

int leased_job_run(struct leased_job *leased)
{
	struct job_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct job job;
	int code;

	if (shared == MAP_FAILED)
		abort(); /* out of memory, as in base/mem.h */
	leased_job_init(leased, shared, &job);
	code = leased_job_begin(leased, &job);
	if (code == 0)
		code = leased_job_conclude(leased, &job, job_run(&job));
	munmap(shared, sizeof(*shared));
	return code;
}
