#include "runner/queue_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/ask.h"
#include "client/capture.h"
#include "client/fields.h"
#include "client/json.h"
#include "client/leased_job.h"
#include "config/callback_url.h"
#include "runner/post.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define BEGIN_MS INT64_C(30000) /* time until ZooKeeper has recorded the start */
#define WHY_SIZE 300

/* A job as the sidecar describes it, and its state in this process. */
struct queue_job {
	struct context *c;
	const struct task_config *queue;
	const struct offer *offer;
	struct signals signals;
	bool yours;
	char why[WHY_SIZE];
	uint64_t number, token;
	uint64_t attempt, timeout_ms;
	struct buffer payload;
	/* "": this is the job itself, and not the delivery of its callback */
	char callback[CALLBACK_URL_MAX + 1];
	char *end; /* for a callback: the ended job as JSON; NULL: not in the answer */
	struct job_delivery *delivery;
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
	enum reader_type type;

	if (reader_peek(r, &type) == 0 && type == READER_NIL)
		return reader_skip(r);
	if (reader_bin(r, &data) < 0)
		return -EBADMSG;
	return data.len > 0 ? buffer_append(to, data.data, data.len) : 0;
}

static int read_callback(struct reader *r, void *to)
{
	struct reader_text text;
	enum reader_type type;

	if (reader_peek(r, &type) == 0 && type == READER_NIL)
		return reader_skip(r);
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
	enum reader_type type;

	if (reader_peek(r, &type) < 0 || reader_skip(r) < 0)
		return -EBADMSG;
	if (type == READER_NIL)
		return 0;
	if (json_from_msgpack(from, (size_t)((const unsigned char *)r->p - from), &job) < 0)
		return -EBADMSG;
	json_object_del(job, "output");
	*(char **)to = json_dumps(job, JSON_COMPACT);
	return *(char **)to ? 0 : -ENOMEM;
}

static int take_begun(struct queue_job *j, struct reader result)
{
	struct field_text why = {j->why, sizeof(j->why)};
	const struct field fields[] = {
		{"outcome", read_outcome, &j->yours, false},
		{"why", field_text, &why, true},
		{"number", field_uint, &j->number, true},
		{"token", field_uint, &j->token, true},
		{"attempt", field_uint, &j->attempt, true},
		{"timeout_ms", field_uint, &j->timeout_ms, true},
		{"payload", read_payload, &j->payload, true},
		{"callback", read_callback, j->callback, true},
		{"job", read_end, &j->end, true},
	};

	return fields_read(&result, fields, N_FIELDS(fields));
}

/*
 * Asks the sidecar to begin the job. If another process gets it or none may, this process has
 * nothing to do: the sidecar offers the job again if it has to be run.
 */
static int ask_begin(struct queue_job *j)
{
	struct zkleader *z = j->c->z;
	int64_t deadline = clock_boot_ms() + BEGIN_MS;
	struct reader result;
	struct buffer params;
	struct pack p;
	uint32_t id;
	int e;

	buffer_init(&params, RPC_REQUEST_MAX);
	pack_init(&p, &params);
	pack_array(&p, 1);
	pack_str(&p, j->offer->id);
	e = handle_send(z, "job_begin", params.data, params.len, deadline, &id);
	buffer_done(&params);
	if (e == 0)
		e = handle_await(z, id, HANDLE_ANSWER_MAX, deadline, &result);
	if (e == 0) {
		e = take_begun(j, result);
		if (e < 0)
			handle_fail(z, e, 0);
	}
	return e;
}

static int begin(struct queue_job *j)
{
	int e = zkleader_open(j->c->socket, &j->c->z);

	if (e == 0)
		e = signals_block(&j->signals);
	if (e == 0)
		e = ask_begin(j);
	if (e == 0 && j->yours)
		return 0;
	if (e != 0 || j->why[0])
		log_warning("not begun", LOG_STR("name", j->offer->queue),
			    LOG_STR("id", j->offer->id),
			    LOG_STR("why", e == 0    ? j->why
					   : j->c->z ? zkleader_message(j->c->z)
						     : strerror(-e)));
	return -ECANCELED;
}

/* --- running the job ------------------------------------------------------ */

/* Makes the payload the standard input, as a file without a name. */
static int give_payload(const struct queue_job *j)
{
	const unsigned char *data = j->payload.data;
	size_t left = j->payload.len;
	int fd = memfd_create("payload", MFD_CLOEXEC), e = 0;

	if (fd < 0)
		return -errno;
	while (e == 0 && left > 0) {
		ssize_t n = write(fd, data, left);
		if (n < 0) {
			e = -errno;
		} else {
			data += n;
			left -= (size_t)n;
		}
	}
	if (e == 0 && (lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0))
		e = -errno;
	close(fd);
	return e;
}

static void set_environment(const struct queue_job *j)
{
	char token[24], attempt[24];

	snprintf(token, sizeof(token), "%" PRIu64, j->token);
	snprintf(attempt, sizeof(attempt), "%" PRIu64, j->attempt);
	setenv("ZKLEADER_QUEUE", j->offer->queue, 1);
	setenv("ZKLEADER_JOB", j->offer->id, 1);
	setenv("ZKLEADER_ATTEMPT", attempt, 1);
	setenv("ZKLEADER_TOKEN", token, 1);
}

/*
 * Prepares a request in place of a command. The URL of a callback is checked again, as the task
 * file that allows it may have changed.
 */
static void be_posted(struct queue_job *j, struct post *post, struct leased_job *leased)
{
	const struct queue_config *q = j->queue->queue;
	bool callback = j->callback[0];

	j->delivery = mmap(NULL, sizeof(*j->delivery), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (j->delivery == MAP_FAILED)
		abort(); /* out of memory, as in base/mem.h */
	*j->delivery = (struct job_delivery){JOB_AGAIN, -1};
	*post = (struct post){
		.url = callback ? j->callback : q->url,
		.refused = callback ? callback_url_problem(j->callback, q->callback_allow,
							   q->n_callback_allow)
				    : NULL,
		.type = callback ? "application/json" : "application/octet-stream",
		.body = callback ? (const void *)(j->end ? j->end : "{}") : j->payload.data,
		.len = callback ? strlen(j->end ? j->end : "{}") : j->payload.len,
		.job = j->offer->id,
		.attempt = (int64_t)j->attempt,
		.token = (int64_t)j->token,
		.delivery = j->delivery};
	if (!post->body)
		post->body = "";
	leased->call = post_send;
	leased->call_arg = post;
	leased->delivery = j->delivery;
}

static int run(struct queue_job *j, struct capture *capture)
{
	char attempt[24];
	struct post post;
	struct leased_job leased = {.c = j->c,
				    .kind = &of_jobs,
				    .name = j->offer->id,
				    .id = attempt,
				    .number = j->number,
				    .argv = j->c->args + 1,
				    .signals = &j->signals,
				    .kill_after_ms = LEASED_JOB_BY_LEASE,
				    .timeout_ms = (int64_t)j->timeout_ms,
				    .capture = capture};
	int code;

	snprintf(attempt, sizeof(attempt), "%" PRIu64, j->attempt);
	if (j->callback[0] || j->queue->queue->url)
		be_posted(j, &post, &leased);
	set_environment(j);
	code = leased_job_run(&leased);
	if (leased.unrecorded)
		log_warning("the end of a job could not be recorded: it may be tried again",
			    LOG_STR("queue", j->offer->queue), LOG_STR("job", j->offer->id));
	return code;
}

static int do_begun(struct queue_job *j, const struct start *s)
{
	int64_t began_ms = clock_boot_ms();
	struct capture capture;
	int e = capture_init(&capture, j->offer->queue, j->offer->id, s->journal), code;

	/* The job has begun at the sidecar, so it is run, although its output is lost. */
	if (e < 0)
		log_warning("the output of a job is not kept", LOG_STR("queue", j->offer->queue),
			    LOG_STR("job", j->offer->id), LOG_STR("why", strerror(-e)));
	capture.fields = (struct capture_fields){"QUEUE", "JOB"};
	code = run(j, e < 0 ? NULL : &capture);
	log_info("job ended", LOG_STR("queue", j->offer->queue), LOG_STR("job", j->offer->id),
		 LOG_INT("attempt", j->attempt), LOG_INT("status", code),
		 LOG_INT("took_ms", clock_boot_ms() - began_ms));
	if (e == 0)
		capture_done(&capture);
	return code;
}

_Noreturn static void be_job(const struct start *s, const struct task_config *queue,
			     const struct offer *offer)
{
	struct context c = {
		.args = start_words(queue->name, queue->queue->command, queue->queue->n_command)};
	struct queue_job j = {.c = &c, .queue = queue, .offer = offer};
	int e = start_become(s, &c), code = EXIT_SUCCESS;

	buffer_init(&j.payload, RPC_REQUEST_MAX);
	if (e == 0 && begin(&j) == 0) {
		start_begun(s);
		e = give_payload(&j);
		if (e == 0)
			code = do_begun(&j, s);
	}
	if (e < 0)
		log_warning("not begun", LOG_STR("name", offer->queue), LOG_STR("id", offer->id),
			    LOG_STR("why", strerror(-e)), LOG_STR("folder", s->account->home));
	fflush(NULL);
	_exit(code);
}

pid_t start_job(const struct start *s, const struct task_config *queue, const struct offer *offer)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		be_job(s, queue, offer);
	return pid < 0 ? -errno : pid;
}
