#include "runner/queue_job.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/call.h"
#include "api/handle.h"
#include "api/json.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "config/keys/callback_url.h"
#include "runner/post.h"
#include "supervise/capture.h"
#include "supervise/leased_job.h"
#include "wire/keys.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define BEGIN_MS INT64_C(30000) /* time until ZooKeeper has recorded the start */
#define WHY_SIZE 300

/* The memory that the two supervisors share. */
struct shared {
	struct job_shared job;
	struct offer offer;
	uint64_t attempt;
	char attempt_text[24];
	int64_t began_ms;
};

/* A job as the sidecar describes it, and what its supervisors have for one after the other. */
struct queue_job {
	struct context *c;
	const struct start *start;
	const struct task_config *queue;
	struct shared *shared;
	struct signals signals;
	struct capture capture;
	struct leased_job leased;
	struct post post;
	pid_t pid;  /* of the process that the runner has started */
	int offers; /* the runner's offers, one after the other; their end: no more */
	bool ran;   /* a job has been run already */
	bool yours;
	char why[WHY_SIZE];
	uint64_t number, token, timeout_ms;
	struct buffer payload;
	/* "": this is the job itself, and not the delivery of its callback */
	char callback[CALLBACK_URL_MAX + 1];
	char *end; /* for a callback: the ended job as JSON; NULL: not in the answer */
};

static const struct job_kind of_jobs = {.renew = "job_renew",
					.finish = "job_finish",
					.attach = "job_attach",
					.lease = "the assignment of"};

/* --- beginning ------------------------------------------------------------ */

static int read_outcome(struct reader *r, void *to)
{
	struct reader_text text;

	if (reader_str(r, &text) < 0)
		return -EBADMSG;
	*(bool *)to = reader_text_is(text, "yours");
	return 0;
}

static int read_payload(struct reader *r, void *to)
{
	struct reader_text data;

	if (reader_bin(r, &data) < 0)
		return -EBADMSG;
	return data.len > 0 ? buffer_append(to, data.data, data.len) : 0;
}

static int read_callback(struct reader *r, void *to)
{
	struct reader_text text;

	return reader_str(r, &text) < 0 ? -EBADMSG
					: reader_text_copy(text, to, CALLBACK_URL_MAX + 1);
}

/*
 * Reads the body of a callback: the job as JSON, as the method `job` answers, without its output.
 */
static int read_end(struct reader *r, void *to)
{
	json_auto_t *job = NULL;
	const unsigned char *from = r->p;

	if (reader_skip(r) < 0)
		return -EBADMSG;
	if (json_from_msgpack(from, (size_t)((const unsigned char *)r->p - from), &job) < 0)
		return -EBADMSG;
	json_object_del(job, "output");
	*(char **)to = json_dumps(job, JSON_COMPACT);
	return *(char **)to ? 0 : -ENOMEM;
}

static int read_attempt(struct reader *r, void *to)
{
	return reader_uint(r, &(*(struct shared **)to)->attempt);
}

static const struct key begun_keys[] = {
	MESSAGE_KEY("outcome", queue_job, yours, KEY_CUSTOM, KEY_REQUIRED, .parse = read_outcome),
	MESSAGE_KEY("why", queue_job, why, KEY_SHOWN, KEY_OPTIONAL),
	MESSAGE_KEY("number", queue_job, number, KEY_UINT, KEY_OPTIONAL),
	MESSAGE_KEY("token", queue_job, token, KEY_UINT, KEY_OPTIONAL),
	MESSAGE_KEY("attempt", queue_job, shared, KEY_CUSTOM, KEY_OPTIONAL, .parse = read_attempt),
	MESSAGE_KEY("timeout_ms", queue_job, timeout_ms, KEY_UINT, KEY_OPTIONAL),
	MESSAGE_KEY("payload", queue_job, payload, KEY_CUSTOM, KEY_OPTIONAL, .nil = true,
		    .parse = read_payload),
	MESSAGE_KEY("callback", queue_job, callback, KEY_CUSTOM, KEY_OPTIONAL, .nil = true,
		    .parse = read_callback),
	MESSAGE_KEY("job", queue_job, end, KEY_CUSTOM, KEY_OPTIONAL, .nil = true,
		    .parse = read_end),
};
static const struct keys begun_form = KEYS(begun_keys, queue_job, SIZE_MAX);

/*
 * Asks the sidecar to begin the job. If another process gets it or none may, this process has
 * nothing to do: the sidecar offers the job again if it has to be run.
 */
static int ask_begin(struct queue_job *j)
{
	struct zkleader *z = j->c->z;
	int64_t deadline = clock_boot_ms() + BEGIN_MS;
	struct reader result;
	struct request request;
	struct pack *p = request_begin(&request, 1);
	uint32_t id;
	int e;

	pack_str(p, j->shared->offer.id);
	e = request_send(z, "job_begin", &request, deadline, &id);
	if (e == 0)
		e = handle_await(z, id, HANDLE_ANSWER_MAX, deadline, &result);
	if (e == 0) {
		e = keys_take(&result, &begun_form, j);
		if (e < 0)
			handle_fail(z, e, 0);
	}
	return e;
}

static void say_not_begun(const struct queue_job *j, const char *why)
{
	log_warning("not begun", LOG_STR("name", j->queue->name),
		    LOG_STR("id", j->shared->offer.id), LOG_STR("why", why));
}

/* Begins the job. 0: it is ours; -ECANCELED: it is not; or the connection has failed. */
static int begin(struct queue_job *j)
{
	int e;

	j->yours = false;
	j->why[0] = j->callback[0] = '\0';
	buffer_clear(&j->payload);
	free(j->end);
	j->end = NULL;
	if (!link_is_up(&j->c->z->link))
		handle_hang_up(j->c->z); /* the sidecar was restarted meanwhile */
	e = ask_begin(j);
	if (e == 0 && j->yours)
		return 0;
	if (e != 0 || j->why[0])
		say_not_begun(j, e == 0 ? j->why : zkleader_message(j->c->z));
	return e < 0 ? e : -ECANCELED;
}

/* --- running the job ------------------------------------------------------ */

/* Makes the payload the standard input, as a file without a name. */
static int give_payload(const struct queue_job *j, struct job *job)
{
	const unsigned char *data = j->payload.data;
	size_t left = j->payload.len;
	int e = 0;

	job->input = fd_private(memfd_create("payload", MFD_CLOEXEC));
	if (job->input < 0)
		return -errno;
	while (e == 0 && left > 0) {
		ssize_t n = write(job->input, data, left);
		if (n < 0) {
			e = -errno;
		} else {
			data += n;
			left -= (size_t)n;
		}
	}
	return e == 0 && lseek(job->input, 0, SEEK_SET) < 0 ? -errno : e;
}

static void set_environment(const struct queue_job *j)
{
	char token[24];

	snprintf(token, sizeof(token), "%" PRIu64, j->token);
	setenv("ZKLEADER_QUEUE", j->shared->offer.queue, 1);
	setenv("ZKLEADER_JOB", j->shared->offer.id, 1);
	setenv("ZKLEADER_ATTEMPT", j->shared->attempt_text, 1);
	setenv("ZKLEADER_TOKEN", token, 1);
}

/*
 * Prepares a request in place of a command. The URL of a callback is checked again, as the task
 * file that allows it may have changed.
 */
static void be_posted(struct queue_job *j)
{
	const struct queue_config *q = j->queue->queue;
	bool callback = j->callback[0];

	j->post = (struct post){
		.url = callback ? j->callback : q->url,
		.refused = callback ? callback_url_problem(j->callback, q->callback_allow,
							   q->n_callback_allow)
				    : NULL,
		.type = callback ? "application/json" : "application/octet-stream",
		.body = callback ? (const void *)(j->end ? j->end : "{}") : j->payload.data,
		.len = callback ? strlen(j->end ? j->end : "{}") : j->payload.len,
		.job = j->shared->offer.id,
		.attempt = (int64_t)j->shared->attempt,
		.token = (int64_t)j->token,
		.delivery = &j->shared->job.delivery};
	if (!j->post.body)
		j->post.body = "";
	j->leased.call = post_send;
	j->leased.call_arg = &j->post;
}

/* The job has begun at the sidecar, so it is run, although its output may be lost. */
static void begin_capture(struct queue_job *j)
{
	int e = capture_begin(&j->capture);

	j->leased.capture = e < 0 ? NULL : &j->capture;
	if (e < 0)
		log_warning("the output of a job is not kept",
			    LOG_STR("queue", j->shared->offer.queue),
			    LOG_STR("job", j->shared->offer.id), LOG_STR("why", strerror(-e)));
}

/* Any failure ends both supervisors, which tells the sidecar that the job does not go on. */
static bool prepare(struct queue_job *j, struct job *job)
{
	bool posts = j->callback[0] || j->queue->queue->url;
	int e;

	(void)start_tell(j->start, j->pid, false);
	j->shared->began_ms = clock_boot_ms();
	j->ran = true;
	snprintf(j->shared->attempt_text, sizeof(j->shared->attempt_text), "%" PRIu64,
		 j->shared->attempt);
	e = give_payload(j, job);
	if (e < 0) {
		say_not_begun(j, strerror(-e));
		return false;
	}
	begin_capture(j);
	start_environment(j->start, posts ? NULL : &j->queue->queue->command);
	set_environment(j);
	j->leased.number = j->number;
	j->leased.timeout_ms = (int64_t)j->timeout_ms;
	j->leased.call = NULL;
	if (posts)
		be_posted(j);
	if (leased_job_begin(&j->leased, job) != 0)
		return false;
	if (posts)
		j->shared->job.delivery.how = JOB_AGAIN;
	return true;
}

static void say_ended(struct queue_job *j, const struct job *job, int e)
{
	const struct offer *o = &j->shared->offer;
	int code = leased_job_conclude(&j->leased, job, e);

	if (j->leased.unrecorded)
		log_warning("the end of a job could not be recorded: it may be tried again",
			    LOG_STR("queue", o->queue), LOG_STR("job", o->id));
	log_info("job ended", LOG_STR("queue", o->queue), LOG_STR("job", o->id),
		 LOG_INT("attempt", j->shared->attempt), LOG_INT("status", code),
		 LOG_INT("took_ms", clock_boot_ms() - j->shared->began_ms));
}

/* Reports the end. False: the sidecar may not know the end, so these supervisors end as well. */
static bool conclude(struct queue_job *j, struct job *job)
{
	bool recorded = job->shared->recorded;

	say_ended(j, job, -job->shared->start_errno);
	capture_close(&j->capture);
	close(job->input);
	job->shared->report_by = JOB_IDLE_MS;
	return recorded && start_tell(j->start, j->pid, true) == 0;
}

/*
 * Waits for an offer. False: the runner has ended or closed the socket, or the supervisor has
 * ended.
 */
static bool take_offer(struct queue_job *j, int control)
{
	struct pollfd fds[] = {{.fd = j->offers, .events = POLLIN},
			       {.fd = control, .events = POLLIN}};

	if (control < 0 || poll(fds, 2, -1) < 0 || fds[1].revents)
		return false;
	return read(j->offers, &j->shared->offer, sizeof(j->shared->offer)) ==
	       sizeof(j->shared->offer);
}

/* Goes from one job to the next, each of which begins in the home folder as it is then. */
static bool next(struct job *job, int control)
{
	struct queue_job *j = job->next_arg;
	int e = 0;

	j->signals.fd = -1; /* the supervisor's alone */
	if (j->ran && !conclude(j, job))
		return false;
	while (e == 0 && take_offer(j, control)) {
		if (chdir(j->start->account->home) < 0) {
			say_not_begun(j, strerror(errno));
			return false;
		}
		e = begin(j);
		if (e == 0)
			return prepare(j, job);
		if (e == -ECANCELED)
			e = start_tell(j->start, j->pid, true);
	}
	return false;
}

/* Opens what both supervisors need before there is a job. */
static int open_all(struct queue_job *j)
{
	int e = zkleader_open(j->c->socket, &j->c->z);

	j->shared = mmap(NULL, sizeof(*j->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (j->shared == MAP_FAILED)
		abort(); /* out of memory, as in base/mem.h */
	buffer_init(&j->payload, RPC_REQUEST_MAX);
	/* Both supervisors hold the connection. */
	if (e == 0)
		e = link_open(&j->c->z->link, clock_boot_ms() + BEGIN_MS);
	if (e == 0)
		e = signals_block(&j->signals);
	if (e == 0)
		e = capture_init(&j->capture, j->queue->name, j->shared->offer.id,
				 j->start->journal);
	j->capture.fields = (struct capture_fields){"QUEUE", "JOB"};
	return e;
}

static void supervise(struct queue_job *j)
{
	struct job job;

	j->leased = (struct leased_job){.c = j->c,
					.kind = &of_jobs,
					.name = j->shared->offer.id,
					.id = j->shared->attempt_text,
					.argv = j->c->args + 1,
					.directory = j->queue->queue->command.directory,
					.signals = &j->signals,
					.kill_after_ms = LEASED_JOB_BY_LEASE};
	leased_job_init(&j->leased, &j->shared->job, &job);
	job.capture = &j->capture;
	job.next = next;
	job.next_arg = j;
	j->shared->job.report_by = JOB_IDLE_MS;
	j->shared->job.over = true;
	int e = job_run(&job);
	if (e < 0 || job.guard_killed)
		say_ended(j, &job, e);
}

_Noreturn static void be_keeper(const struct start *s, const struct task_config *queue, int offers)
{
	struct context c = {.args = start_words(queue->name, &queue->queue->command)};
	struct queue_job j = {
		.c = &c, .start = s, .queue = queue, .pid = getpid(), .offers = offers};
	int e = start_become(s, &c);

	if (e == 0)
		e = open_all(&j);
	if (e == 0)
		supervise(&j);
	else
		log_warning("not begun", LOG_STR("name", queue->name), LOG_STR("why", strerror(-e)),
			    LOG_STR("folder", s->account->home));
	fflush(NULL);
	_exit(EXIT_SUCCESS);
}

pid_t start_keeper(const struct start *s, const struct task_config *queue,
		   const struct offer *first, int *ret_offers)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	fflush(NULL);
	pid = send(ends[0], first, sizeof(*first), MSG_NOSIGNAL) < 0 ? -1 : fork();
	if (pid == 0) {
		close(ends[0]);
		be_keeper(s, queue, ends[1]);
	}
	if (pid < 0) {
		pid = -errno;
		close(ends[0]);
	}
	close(ends[1]);
	*ret_offers = ends[0];
	return pid;
}
