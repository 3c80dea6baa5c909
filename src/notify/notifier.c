#include "notify/notifier.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/notify.h"
#include "client/follow.h"
#include "client/json.h"
#include "notify/pings.h"
#include "notify/urls.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define WAIT_MAX_MS 60000

struct notifier {
	struct zkleader *z;
	struct follow follow;
	struct urls urls;
	struct pings pings;
	bool begun; /* the sidecar tells of runs */
	int signals;
	bool ended;
};

/* --- what the sidecar tells ----------------------------------------------- */

/* Of a run that ended with no status of its own (its lease was over, say) it is "fail". */
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
	pings_add(&n->pings, task, url, word, json_text(run, "output", ""));
}

static void take_news(struct notifier *n, const struct message *m)
{
	json_auto_t *data = NULL;

	if (strcmp(m->method, "run") != 0)
		return;
	if (json_from_msgpack(m->data.p, (size_t)(m->data.end - m->data.p), &data) == 0)
		take_run(n, data);
}

static void take_event(struct notifier *n, const struct follow_event *e)
{
	switch (e->kind) {
	case FOLLOW_NOTHING:
	case FOLLOW_ANSWER: break;
	case FOLLOW_BEGUN:
		log_info("hearing of runs", LOG_STR("from", "the sidecar"));
		n->begun = true;
		break;
	case FOLLOW_NEWS: take_news(n, &e->message); break;
	case FOLLOW_REFUSED:
		log_warning("the sidecar refuses", LOG_STR("why", zkleader_message(n->z)));
		if (!n->begun)
			handle_hang_up(n->z); /* it is asked again, as after a loss */
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
		if (info.ssi_signo == SIGHUP)
			urls_forget(&n->urls);
		else
			n->ended = true;
	}
}

static void loop(struct notifier *n)
{
	while (!n->ended) {
		int64_t due_ms = pings_advance(&n->pings), follow_ms = follow_due_ms(&n->follow);
		struct curl_waitfd fds[] = {
			{.fd = n->signals, .events = CURL_WAIT_POLLIN},
			{.fd = follow_fd(&n->follow), .events = CURL_WAIT_POLLIN},
		};
		int64_t left;

		due_ms = due_ms < follow_ms ? due_ms : follow_ms;
		left = due_ms - clock_boot_ms();
		left = left < 0 ? 0 : left > WAIT_MAX_MS ? WAIT_MAX_MS : left;
		curl_multi_poll(n->pings.multi, fds, fds[1].fd < 0 ? 1 : 2, (int)left, NULL);
		take_signals(n);
		take_events(n);
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
	sigprocmask(SIG_BLOCK, &read, NULL);
	n->signals = fd_private(signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK));
	return n->signals < 0 ? -errno : 0;
}

/* Of what happens here alone: that costs ZooKeeper nothing. */
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
	if (e == 0)
		e = pings_init(&n.pings);
	if (e == 0) {
		urls_init(&n.urls, options->config_file);
		subscribe(&n);
		log_info("starting", LOG_STR("version", ZKLEADER_VERSION));
		notify_send("READY=1");
		loop(&n);
		notify_send("STOPPING=1");
		if (n.pings.n > 0)
			log_warning("stopped with pings unsent", LOG_INT("pings", n.pings.n));
		follow_done(&n.follow);
		urls_done(&n.urls);
		pings_done(&n.pings);
	}
	zkleader_close(n.z);
	if (n.signals >= 0)
		close(n.signals);
	return e;
}
