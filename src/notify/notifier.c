#include "notify/notifier.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/follow.h"
#include "api/json.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log/log.h"
#include "base/log/notify.h"
#include "base/mem.h"
#include "base/min.h"
#include "notify/channels.h"
#include "notify/events.h"
#include "notify/pings.h"
#include "notify/sends.h"
#include "notify/spool.h"
#include "notify/urls.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define WAIT_MAX_MS 60000
#define LOG_MS	    1000  /* between tries to tell that lines of the log were lost */
#define LOOK_MS	    60000 /* between checks of the task files while nothing happens */
#define ASK_MS	    10000 /* time for an answer of the sidecar */

/* The numbers of the questions for follow_ask(). */
#define REGISTER 0
#define NOTICED	 1

struct notifier {
	struct zkleader *z;
	struct follow follow;
	struct urls urls;
	struct http http;
	struct pings pings;
	struct channels channels;
	struct spool spool;
	struct sends sends;
	struct events events;
	bool begun; /* the subscription has begun */
	int64_t look_ms;
	int signals;
	sigset_t mask; /* the mask before this process blocked its signals */
	bool ended;
};

static void read_channels(struct notifier *n)
{
	if (n->channels.read_ms > 0 && clock_boot_ms() - n->channels.read_ms < CHANNELS_AGE_MS)
		return;
	channels_read(&n->channels, urls_files(&n->urls));
	n->look_ms = clock_boot_ms() + LOOK_MS;
}

/* --- what the sidecar tells ----------------------------------------------- */

/*
 * Pings the URL of the task, if it has one, when a run starts or ends. The ping has the exit status
 * of the run, or the word "fail" if it ended without one, for example because its lease was over.
 */
static void take_run(struct notifier *n, const json_t *run)
{
	const char *task = json_text(run, "task", ""), *state = json_text(run, "state", "");
	const char *url = urls_find(&n->urls, task);
	int64_t status = json_number(run, "exit_status", -1);
	char word[16] = "fail";

	if (!url || strcmp(state, "claimed") == 0)
		return;
	if (strcmp(state, "running") == 0)
		snprintf(word, sizeof(word), "start");
	else if (status >= 0 && status <= 255)
		snprintf(word, sizeof(word), "%d", (int)status);
	pings_add(&n->pings, task, url, word, json_text(run, "run", ""),
		  json_text(run, "output", ""));
}

/*
 * Replaces NULs in an output by '?'. Messages are made of it by functions that would stop at a NUL.
 */
static void replace_nuls(json_t *event)
{
	const json_t *output = json_object_get(event, "output");
	size_t len = json_string_length(output);

	if (len == 0 || strlen(json_string_value(output)) == len)
		return;
	mem_auto char *text = mem_alloc(len);
	memcpy(text, json_string_value(output), len);
	for (size_t i = 0; i < len; i++)
		text[i] = text[i] ? text[i] : '?';
	json_object_set_new(event, "output", json_stringn(text, len));
}

static void take_news(struct notifier *n, const struct message *m)
{
	bool run = strcmp(m->method, "run") == 0, notice = strcmp(m->method, "notice") == 0;
	json_auto_t *data = NULL;

	if (!run && !notice)
		return;
	if (json_from_msgpack(m->data.p, (size_t)(m->data.end - m->data.p), &data) != 0)
		return;
	replace_nuls(data);
	if (run) {
		take_run(n, data);
	} else {
		read_channels(n);
		events_take(&n->events, data);
	}
}

/* Asks one question at a time. Registering comes first, then which events were taken. */
static void ask(struct notifier *n)
{
	int64_t deadline = clock_boot_ms() + ASK_MS;
	struct buffer params;

	if (!n->begun || follow_is_asking(&n->follow))
		return;
	buffer_init(&params, RPC_REQUEST_MAX);
	if (events_pack_problems(&n->events, &params))
		follow_ask(&n->follow, REGISTER, "notifier", &params, deadline);
	else if (events_pack_taken(&n->events, &params))
		follow_ask(&n->follow, NOTICED, "noticed", &params, deadline);
	buffer_done(&params);
}

static void take_event(struct notifier *n, const struct follow_event *e)
{
	switch (e->kind) {
	case FOLLOW_NOTHING:
	case FOLLOW_ANSWER: break;
	case FOLLOW_BEGUN:
		log_info("hearing of runs", LOG_STR("from", "the sidecar"));
		n->begun = true;
		events_register(&n->events); /* a restarted sidecar does not know this process */
		break;
	case FOLLOW_NEWS: take_news(n, &e->message); break;
	case FOLLOW_REFUSED:
		log_warning("the sidecar refuses", LOG_STR("why", zkleader_message(n->z)));
		if (!n->begun)
			handle_hang_up(n->z); /* follow reconnects and asks again */
		break;
	case FOLLOW_LOST:
		if (!e->again)
			log_warning("no sidecar", LOG_STR("why", zkleader_message(n->z)));
		n->begun = false;
		break;
	}
}

static void take_events(struct notifier *n)
{
	struct follow_event e;

	do {
		follow_next(&n->follow, &e);
		take_event(n, &e);
	} while (e.kind != FOLLOW_NOTHING);
}

/* --- the loop ------------------------------------------------------------- */

static void take_signals(struct notifier *n)
{
	struct signalfd_siginfo info;

	while (read(n->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			sends_reap(&n->sends);
		} else if (info.ssi_signo == SIGHUP) {
			urls_forget(&n->urls);
			n->channels.read_ms = 0;
			n->look_ms = 0;
		} else
			n->ended = true;
	}
}

static void loop(struct notifier *n)
{
	while (!n->ended) {
		int64_t due_ms = pings_advance(&n->pings);
		struct pollfd fds[3];
		int64_t left;

		if (n->spool.n > 0)
			read_channels(n);
		due_ms = min64(due_ms, sends_advance(&n->sends));
		due_ms = min64(due_ms, http_due_ms(&n->http));
		due_ms = min64(due_ms, events_due_ms(&n->events));
		due_ms = min64(min64(due_ms, n->look_ms), follow_due_ms(&n->follow));
		log_catch_up();
		if (log_lost() > 0)
			due_ms = min64(due_ms, clock_boot_ms() + LOG_MS);
		left = due_ms - clock_boot_ms();
		left = left < 0 ? 0 : left > WAIT_MAX_MS ? WAIT_MAX_MS : left;
		/* poll(2) ignores descriptors that are -1. */
		fds[0] = (struct pollfd){.fd = n->signals, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = follow_fd(&n->follow), .events = POLLIN};
		fds[2] = (struct pollfd){.fd = n->http.fd, .events = POLLIN};
		poll(fds, 3, (int)left);
		http_advance(&n->http);
		take_signals(n);
		take_events(n);
		if (clock_boot_ms() >= n->look_ms)
			read_channels(n);
		events_advance(&n->events);
		ask(n);
	}
}

static int block_signals(struct notifier *n)
{
	sigset_t read;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&read);
	sigaddset(&read, SIGTERM);
	sigaddset(&read, SIGINT);
	sigaddset(&read, SIGHUP);
	sigaddset(&read, SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &read, &n->mask);
	n->signals = fd_private(signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK));
	return n->signals < 0 ? -errno : 0;
}

/* Subscribes only to what happens on this node, which costs ZooKeeper nothing. */
static void subscribe(struct notifier *n)
{
	struct buffer params;
	struct pack p;

	buffer_init(&params, RPC_REQUEST_MAX);
	pack_init(&p, &params);
	pack_array(&p, 1);
	pack_map(&p, 1);
	pack_kv_bool(&p, "mine", true);
	follow_begin(&n->follow, n->z, &params, HANDLE_AT_ONCE);
	buffer_done(&params);
}

int notifier_run(const struct notifier_options *options)
{
	struct notifier n = {.signals = -1};
	int e = zkleader_open(options->socket, &n.z);

	if (e < 0)
		return e;
	e = block_signals(&n);
	if (e == 0) {
		http_init(&n.http);
		urls_init(&n.urls, options->config_file);
		pings_init(&n.pings, &n.http);
		channels_init(&n.channels);
		spool_init(&n.spool, options->spool);
		sends_init(&n.sends, &n.spool, &n.http, &n.channels, &n.mask);
		events_init(&n.events, &n.channels, &n.spool, &n.sends);
		subscribe(&n);
		log_info("starting", LOG_STR("version", ZKLEADER_VERSION));
		notify_send("READY=1");
		loop(&n);
		notify_send("STOPPING=1");
		if (n.pings.n > 0)
			log_warning("stopped with pings unsent", LOG_INT("pings", n.pings.n));
		if (n.spool.n > 0)
			log_info("stopped with messages in the spool",
				 LOG_INT("messages", n.spool.n));
		follow_done(&n.follow);
		events_done(&n.events);
		sends_done(&n.sends);
		spool_done(&n.spool);
		channels_done(&n.channels);
		urls_done(&n.urls);
		pings_done(&n.pings);
		http_done(&n.http);
	}
	zkleader_close(n.z);
	if (n.signals >= 0)
		close(n.signals);
	return e;
}
