#include "runner/runner.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/follow.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log/log.h"
#include "base/log/notify.h"
#include "base/mem.h"
#include "base/text/name.h"
#include "runner/account.h"
#include "runner/due.h"
#include "runner/jobs.h"
#include "runner/line.h"
#include "runner/queue_job.h"
#include "runner/start.h"
#include "runner/tasks.h"
#include "wire/keys.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define LOOK_MS		    5000  /* between checks of the task files while nothing is due */
#define ASK_MS		    10000 /* time for an answer of the sidecar */
#define BEGIN_PER_PROCESSOR 4
#define BEGIN_LEAST	    8
#define REFUSALS	    0 /* the numbers of the questions for follow_ask() */
#define PONG		    1
#define ITEM_ROOM	    1500 /* bytes of a request that are kept for one more refusal */

struct runner {
	const struct runner_options *options;
	struct zkleader *z;
	struct follow follow;
	bool registered;
	bool to_tell;  /* the refusals have changed, and have to be told to the sidecar */
	size_t told;   /* how many of them were told: a request may not hold all */
	uint64_t lost; /* lines of the log, as the sidecar knows */
	bool pinged;   /* the sidecar asks whether this process goes on */
	uint64_t ping; /* number of that question */
	struct account account;
	struct tasks tasks;
	struct jobs jobs;
	struct line line;
	size_t at_once; /* how many processes may be beginning at a time */
	int begun[2];	/* socket on which a process that has begun sends its pid */
	int signals;
	sigset_t mask; /* the mask before this process blocked its signals */
	int64_t look_ms;
	bool ended;
};

/* --- refusals ------------------------------------------------------------- */

static void log_refusals(const struct runner *r)
{
	struct tasks_refusal refusal;

	for (size_t i = 0; tasks_refused(&r->tasks, i, &refusal); i++)
		log_warning("a task is not started here", LOG_STR("task", refusal.task),
			    LOG_STR("file", refusal.file[0] ? refusal.file : NULL),
			    LOG_STR("why", refusal.why));
}

/*
 * Packs as many refusals as fit into a request, from r->told on. The first request replaces what
 * the sidecar knows, and further ones add to it. Returns how many have been told then.
 */
static size_t pack_refusals(const struct runner *r, struct buffer *params)
{
	struct tasks_refusal refusal;
	size_t n = r->told, bytes = 0;
	struct pack p;

	while (bytes < RPC_REQUEST_MAX - ITEM_ROOM && tasks_refused(&r->tasks, n, &refusal)) {
		bytes += strlen(refusal.task) + strlen(refusal.file) + strlen(refusal.why) + 40;
		n++;
	}
	pack_init(&p, params);
	/* Sidecars of earlier releases take two parameters. */
	pack_array(&p, r->lost > 0 ? 3 : 2);
	pack_array(&p, n - r->told);
	for (size_t i = r->told; i < n && tasks_refused(&r->tasks, i, &refusal); i++) {
		pack_map(&p, 3);
		pack_kv_str(&p, "task", refusal.task);
		pack_kv_str(&p, "file", refusal.file);
		pack_kv_str(&p, "message", refusal.why);
	}
	pack_bool(&p, r->told > 0);
	if (r->lost > 0)
		pack_uint(&p, r->lost);
	return n;
}

static void tell_refusals(struct runner *r)
{
	struct tasks_refusal rest;
	struct buffer params;
	size_t n;

	if (!r->registered || !r->to_tell || follow_is_asking(&r->follow))
		return;
	buffer_init(&params, RPC_REQUEST_MAX);
	n = pack_refusals(r, &params);
	follow_ask(&r->follow, REFUSALS, "refusals", &params, clock_boot_ms() + ASK_MS);
	buffer_done(&params);
	r->to_tell = n > r->told && tasks_refused(&r->tasks, n, &rest);
	r->told = r->to_tell ? n : 0;
}

/* Answers the sidecar, which takes a runner that does not for one that hangs. */
static void tell_pong(struct runner *r)
{
	struct buffer params;
	struct pack p;

	if (!r->registered || !r->pinged || follow_is_asking(&r->follow))
		return;
	r->pinged = false;
	buffer_init(&params, RPC_REQUEST_MAX);
	pack_init(&p, &params);
	pack_array(&p, 1);
	pack_uint(&p, r->ping);
	follow_ask(&r->follow, PONG, "pong", &params, clock_boot_ms() + ASK_MS);
	buffer_done(&params);
}

static void refusals_changed(struct runner *r)
{
	r->to_tell = true;
	r->told = 0;
	log_refusals(r);
}

static void look(struct runner *r)
{
	uint64_t lost = log_lost();

	if (tasks_look(&r->tasks))
		refusals_changed(r);
	if (lost != r->lost) {
		r->lost = lost;
		r->to_tell = true;
		r->told = 0;
	}
	r->look_ms = clock_boot_ms() + LOOK_MS;
}

/* --- what is due ---------------------------------------------------------- */

static void forget(void *arg)
{
	struct runner *r = arg;

	zkleader_close(r->z);
	close(r->signals);
	close(r->begun[0]);
	jobs_close(&r->jobs);
}

/*
 * Whether a run or job has to be started: it is neither running nor waiting already, and there are
 * less than JOBS_MAX.
 */
static bool is_new(struct runner *r, const struct jobs_key *key)
{
	if (jobs_has(&r->jobs, key) || line_has(&r->line, key))
		return false;
	if (r->jobs.n - r->jobs.n_idle + line_length(&r->line) < JOBS_MAX)
		return true;
	log_warning("too many jobs go on", LOG_STR("name", key->name), LOG_STR("id", key->id),
		    LOG_INT("limit", JOBS_MAX));
	return false;
}

static void started(struct runner *r, const struct jobs_key *key, pid_t pid, int offers)
{
	if (pid > 0)
		jobs_add(&r->jobs, &(struct jobs_entry){.pid = pid,
							.key = *key,
							.offers = offers,
							.reads = r->tasks.reads});
	else
		log_warning("not begun", LOG_STR("name", key->name), LOG_STR("id", key->id),
			    LOG_STR("why", strerror((int)-pid)));
}

/* Finds the task in the files as they are now; for the name of a partition, its task. */
static const struct task_config *find_task(struct runner *r, const char *name,
					   char why[TRUSTED_WHY_SIZE])
{
	char whole[NAME_ELECTION_MAX + 1];
	size_t len = strlen(name);

	(void)name_partition_parse(name, len, &len, NULL);
	snprintf(whole, sizeof(whole), "%.*s", (int)len, name);
	return tasks_find(&r->tasks, whole, why);
}

static void start(struct runner *r, const struct line_item *item)
{
	const struct start s = {.socket = r->options->socket,
				.journal = r->options->journal,
				.account = &r->account,
				.mask = &r->mask,
				.forget = forget,
				.arg = r,
				.begun = r->begun[1]};
	char why[TRUSTED_WHY_SIZE];
	const struct task_config *task = find_task(r, item->key.name, why);
	int offers = -1;

	if (!task || (item->is_job ? !task->queue : !task->schedule)) {
		refusals_changed(r);
	} else if (!item->is_job) {
		started(r, &item->key, start_run(&s, task, &item->due), -1);
	} else if (!jobs_give(&r->jobs, &item->key, r->tasks.reads)) {
		pid_t pid = start_keeper(&s, task, &item->offer, &offers);
		started(r, &item->key, pid, offers);
	}
}

/*
 * Starts what waits. Returns when the next one may be started, if nothing happens before;
 * INT64_MAX: nothing waits.
 */
static int64_t start_waiting(struct runner *r)
{
	struct line_item item;
	int64_t next_ms = INT64_MAX;

	while (line_length(&r->line) > 0 && jobs_beginning(&r->jobs, &next_ms) < r->at_once)
		if (line_take(&r->line, &item))
			start(r, &item);
	return line_length(&r->line) > 0 ? next_ms : INT64_MAX;
}

static void take_begun(struct runner *r)
{
	struct start_word word;

	/* Each message is whole. */
	while (read(r->begun[0], &word, sizeof(word)) == sizeof(word))
		(word.free ? jobs_is_free : jobs_begun)(&r->jobs, word.pid);
}

static const struct key ping_keys[] = {
	MESSAGE_KEY("number", runner, ping, KEY_UINT, KEY_REQUIRED),
};
static const struct keys ping_form = KEYS(ping_keys, runner, SIZE_MAX);

static bool take_ping(struct runner *r, const struct message *m)
{
	struct reader data = m->data;

	if (strcmp(m->method, "ping") != 0)
		return false;
	r->pinged = keys_take(&data, &ping_form, r) == 0;
	return true;
}

static void take_news(struct runner *r, const struct message *m)
{
	struct line_item item = {.is_job = strcmp(m->method, "job") == 0};

	if (take_ping(r, m))
		return;
	if (strcmp(m->method, "due") == 0 && due_parse(m->data, &item.due) == 0)
		item.key = jobs_key(item.due.task, item.due.tick, item.due.attempt);
	else if (item.is_job && offer_parse(m->data, &item.offer) == 0)
		item.key = jobs_key(item.offer.queue, item.offer.id, 0);
	else if (strcmp(m->method, "due") == 0 || item.is_job)
		log_warning("the sidecar said what makes no sense", LOG_STR("method", m->method));
	if (item.key.name[0] && is_new(r, &item.key))
		line_add(&r->line, &item);
}

/* --- the sidecar ---------------------------------------------------------- */

static void take_event(struct runner *r, const struct follow_event *e)
{
	switch (e->kind) {
	case FOLLOW_NOTHING:
	case FOLLOW_ANSWER: break;
	case FOLLOW_BEGUN:
		log_info("registered", LOG_STR("user", r->account.user),
			 LOG_STR("socket", r->options->socket));
		r->registered = true;
		r->to_tell = true; /* a restarted sidecar knows no refusals */
		r->told = 0;
		break;
	case FOLLOW_NEWS: take_news(r, &e->message); break;
	case FOLLOW_REFUSED:
		log_warning("the sidecar refuses", LOG_STR("why", zkleader_message(r->z)));
		/*
		 * An earlier release may refuse the registration, so it is tried again, as after a
		 * loss.
		 */
		if (!r->registered)
			handle_hang_up(r->z);
		break;
	case FOLLOW_LOST:
		if (!e->again)
			log_warning("no sidecar", LOG_STR("why", zkleader_message(r->z)));
		r->registered = r->pinged = false;
		jobs_let_go(&r->jobs, true); /* their connection is lost as well */
		line_clear(&r->line);	     /* the next sidecar tells anew what is due */
		break;
	}
}

static void take_events(struct runner *r)
{
	struct follow_event e;

	do {
		follow_next(&r->follow, &e);
		take_event(r, &e);
	} while (e.kind != FOLLOW_NOTHING);
}

/* --- the loop ------------------------------------------------------------- */

static void take_signals(struct runner *r)
{
	struct signalfd_siginfo info;

	while (read(r->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			jobs_reap(&r->jobs);
		else if (info.ssi_signo == SIGHUP)
			look(r);
		else
			r->ended = true;
	}
}

static int left_ms(int64_t at_ms)
{
	int64_t left = at_ms - clock_boot_ms();

	return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

static void loop(struct runner *r)
{
	int64_t turn_ms = INT64_MAX, idle_ms = INT64_MAX;

	while (!r->ended) {
		int64_t due_ms = follow_due_ms(&r->follow), next_ms;
		struct pollfd fds[] = {
			{.fd = r->signals, .events = POLLIN},
			{.fd = follow_fd(&r->follow), .events = POLLIN},
			{.fd = r->begun[0], .events = POLLIN},
		};

		next_ms = due_ms < turn_ms ? due_ms : turn_ms;
		next_ms = next_ms < idle_ms ? next_ms : idle_ms;
		poll(fds, 3, left_ms(next_ms < r->look_ms ? next_ms : r->look_ms));
		take_signals(r);
		take_begun(r);
		take_events(r);
		if (clock_boot_ms() >= r->look_ms)
			look(r);
		turn_ms = start_waiting(r);
		idle_ms = jobs_let_go(&r->jobs, false);
		log_catch_up();
		tell_pong(r);
		tell_refusals(r);
	}
}

/*
 * SIGPIPE is blocked instead of ignored, as jobs would inherit that it is ignored. Jobs get the
 * signal mask from before.
 */
static int block_signals(struct runner *r)
{
	sigset_t read, block;

	sigemptyset(&read);
	sigaddset(&read, SIGCHLD);
	sigaddset(&read, SIGTERM);
	sigaddset(&read, SIGINT);
	sigaddset(&read, SIGHUP);
	block = read;
	sigaddset(&block, SIGPIPE);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &block, &r->mask);
	r->signals = fd_private(signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK));
	return r->signals < 0 ? -errno : 0;
}

/*
 * Limits how many processes begin at a time: as many as keep the processors busy while some wait
 * for answers.
 */
static int make_turns(struct runner *r)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	r->at_once = processors > 0 ? (size_t)processors * BEGIN_PER_PROCESSOR : 1;
	r->at_once = r->at_once > BEGIN_LEAST ? r->at_once : BEGIN_LEAST;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, r->begun) < 0
		       ? -errno
		       : 0;
}

static int begin(struct runner *r)
{
	struct buffer params;
	struct pack p;
	int e = zkleader_open(r->options->socket, &r->z);

	if (e == 0)
		e = block_signals(r);
	if (e == 0)
		e = make_turns(r);
	if (e < 0)
		return e;
	tasks_init(&r->tasks, r->options->config_file, &r->account);
	look(r);
	buffer_init(&params, RPC_REQUEST_MAX);
	pack_init(&p, &params);
	pack_array(&p, 1);
	pack_map(&p, 1);
	pack_kv_bool(&p, "pings", true);
	follow_begin_by(&r->follow, r->z, "runner", &params, HANDLE_AT_ONCE);
	buffer_done(&params);
	return 0;
}

int runner_run(const struct runner_options *options)
{
	struct runner r = {.options = options, .signals = -1, .begun = {-1, -1}};
	int e = account_init(&r.account);

	if (e < 0) {
		log_error("this user is not known here", LOG_INT("uid", geteuid()),
			  LOG_STR("why", strerror(-e)));
		return e;
	}
	e = begin(&r);
	if (e == 0) {
		log_info("starting", LOG_STR("version", ZKLEADER_VERSION),
			 LOG_STR("user", r.account.user));
		notify_send("READY=1");
		loop(&r);
		notify_send("STOPPING=1");
		log_info("stopped, and jobs go on", LOG_INT("jobs", r.jobs.n - r.jobs.n_idle));
		follow_done(&r.follow);
		tasks_done(&r.tasks);
	}
	zkleader_close(r.z);
	line_clear(&r.line);
	jobs_done(&r.jobs);
	account_done(&r.account);
	return e;
}
