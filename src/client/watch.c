#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "client/ask.h"
#include "client/async.h"
#include "client/command.h"
#include "client/json.h"
#include "client/link.h"
#include "client/news.h"
#include "client/picture.h"
#include "client/rollout.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define RECONNECT_MS 1000
#define PICTURE_MS   500  /* between looks at a sidecar that has no session yet */
#define ROLLOUT_MS   1000 /* after a change: before it is told how far a rollout has come */
#define COMPLETE_MS  5000 /* without a change, before a rollout is complete */
#define COMPARE_MAX  10	  /* looks for one difference, while there is news between them */
#define AT_ONCE	     0	  /* as a deadline */

/* The sidecar answers a subscription, and is then asked how things are, while news may come already. */
enum asked { ASKED_SUBSCRIBE, ASKED_TASKS, ASKED_WORKERS, ASKED_NOTHING };

/* Why news is not told as it comes: the difference is, once things can be known again. */
enum away { AWAY_NOT, AWAY_SIDECAR, AWAY_SESSION };

struct watch {
	struct context *c;
	enum asked asked;
	enum asked next;     /* to be asked */
	uint32_t id;	     /* of that request */
	json_t *tasks;	     /* the answer, until that to `workers` has come */
	int64_t look_ms;     /* CLOCK_BOOTTIME; when to ask how things are; LINK_FOREVER */
	char *rollout;	     /* how far it had come when it was told last, NULL */
	int64_t changed_ms;  /* when something did last; wall clock */
	struct picture seen; /* what has been told, or was so at the beginning */
	struct news news;    /* for people */
	enum away away;
	bool cut;	   /* the sidecar has no confirmed session, and that has been told */
	bool passed_over;  /* news since the last request that the answer may not have in it */
	unsigned compared; /* looks for this difference */
	int signals;	   /* signalfd(2) */
	bool ended;
};

/* Whether changes are told as they come: not before it is known how things were, nor while away. */
static bool tells(const struct watch *w)
{
	return w->seen.tasks && w->away == AWAY_NOT;
}

/* --- one line ------------------------------------------------------------------------------------ */

#define AWAY "meanwhile"

static void print_change(struct watch *w, const char *method, json_t *change)
{
	const struct output *o = &w->c->output;
	int64_t now = clock_boot_ms();
	bool leadership = strcmp(method, "leadership") == 0;
	bool connection = strcmp(method, "connection") == 0;

	w->changed_ms = clock_wall_ms();
	if (o->json && (leadership || connection))
		json_object_set_new(change, "event", json_string(method));
	if (o->json)
		output_json_line(o, change);
	else if (leadership)
		news_leadership(&w->news, change, now);
	else if (connection)
		news_connection(&w->news, change);
	else if (strcmp(method, "membership") == 0)
		news_membership(&w->news, change, now);
	else
		news_decision(&w->news, change);
}

/* --- how things are ------------------------------------------------------------------------------- */

static int send_request(struct watch *w, enum asked what)
{
	static const char *const methods[] = {"subscribe", "tasks", "workers"};
	struct buffer params;
	struct pack p;
	int e = 0;

	buffer_init(&params, RPC_REQUEST_MAX);
	if (what == ASKED_WORKERS) {
		pack_init(&p, &params);
		pack_array(&p, 0);
	} else {
		e = ask_pack(w->c, &params);
	}
	if (e == 0)
		e = async_send(w->c->z, methods[what], &params,
			       clock_boot_ms() + COMMAND_TIMEOUT_MS, &w->id);
	buffer_done(&params);
	w->asked = what;
	w->next = ASKED_NOTHING;
	w->passed_over &= what != ASKED_TASKS;
	w->look_ms = LINK_FOREVER;
	return e;
}

/* It was seen before, and is so no longer, or the other way round. */
static void on_difference(void *arg, const char *method, json_t *change)
{
	char now[CLOCK_TEXT_SIZE];

	clock_format(clock_wall_ms(), now);
	json_object_set_new(change, "time", json_string(now));
	json_object_set_new(change, AWAY, json_true());
	print_change(arg, method, change);
}

static void tell_difference(struct watch *w, const struct picture *now)
{
	news_tell(&w->news, INT64_MAX); /* what was held from before */
	w->news.suffix =
		w->away == AWAY_SESSION ? " (while disconnected)" : " (while the sidecar was away)";
	picture_compare(&w->seen, now, on_difference, w);
	news_tell(&w->news, INT64_MAX);
	w->news.suffix = "";
}

/*
 * For people: what each version does, where there is more than one, whenever that is another; and that all
 * have the same again, once that has been so for a moment.
 */
static void tell_rollout(struct watch *w, const json_t *workers, bool quietly)
{
	char *text = w->c->output.json ? NULL : rollout_text(workers);
	int64_t now_ms = clock_wall_ms();
	mem_auto char *complete = NULL;
	char now[CLOCK_TEXT_SIZE];

	clock_format(now_ms, now);
	/* A worker that is being restarted is not counted out for it. */
	if (news_due(&w->news) != INT64_MAX ||
	    (!text && w->rollout && now_ms < w->changed_ms + COMPLETE_MS)) {
		w->look_ms = clock_boot_ms() + ROLLOUT_MS;
		free(text);
		return;
	}
	if (!text && w->rollout)
		complete = rollout_complete(workers, w->changed_ms);
	if (complete)
		output_line(&w->c->output, COLOR_GREEN, "%s %s", now, complete);
	if (text && !quietly && (!w->rollout || strcmp(text, w->rollout) != 0))
		output_line(&w->c->output, COLOR_BOLD, "%s rollout: %s", now, text);
	free(w->rollout);
	w->rollout = text;
}

static void take_picture(struct watch *w, const json_t *workers)
{
	struct picture now;

	if (!picture_make(&now, w->tasks, workers)) {
		w->look_ms = clock_boot_ms() + PICTURE_MS;
		return;
	}
	news_set_workers(&w->news, workers);
	if (!tells(w) && w->passed_over && w->compared++ < COMPARE_MAX) {
		picture_done(&now); /* what was passed over may not be in it */
		w->next = ASKED_TASKS;
		return;
	}
	if (tells(w)) {
		picture_done(&now); /* what has changed is told as it is heard of */
	} else {
		if (w->away != AWAY_NOT && w->seen.tasks)
			tell_difference(w, &now);
		w->away = AWAY_NOT;
		w->compared = 0;
		picture_done(&w->seen);
		w->seen = now;
		tell_rollout(w, workers, true);
		return;
	}
	tell_rollout(w, workers, false);
}

/* 0, or the exit code where the sidecar does not want us. */
static int take_answer(struct watch *w, const struct async_message *m)
{
	struct context *c = w->c;
	enum asked asked = w->asked;
	json_t *json = NULL;

	if (m->id != w->id || asked == ASKED_NOTHING)
		return 0;
	if (m->code > 0)
		return ask_failed(c, m->code);
	w->asked = ASKED_NOTHING;
	if (asked == ASKED_SUBSCRIBE) {
		if (w->away == AWAY_SIDECAR)
			output_error(&c->output, "the sidecar on %s is back", zkleader_path(c->z));
		send_request(w,
			     ASKED_TASKS); /* that the connection is gone shows when it is read */
		return 0;
	}
	if (ask_to_json(c, m->data, m->len, JSON_ARRAY, &json) != 0)
		return 0;
	if (asked == ASKED_TASKS) {
		json_decref(w->tasks);
		w->tasks = json;
		w->next = ASKED_WORKERS;
	} else {
		take_picture(w, json);
		json_decref(json);
	}
	return 0;
}

/* --- news ------------------------------------------------------------------------------------------- */

/* At the start it is told once: that there is a session is no news then. */
static void take_connection(struct watch *w, json_t *change)
{
	bool confirmed = json_flag(change, "confirmed");

	if (confirmed == !w->cut)
		return;
	w->cut = !confirmed;
	print_change(w, "connection", change);
	if (w->away == AWAY_NOT)
		w->away = AWAY_SESSION;
	if (confirmed) {
		w->next = ASKED_TASKS;
		w->look_ms = LINK_FOREVER;
	}
}

static bool is_news(struct watch *w, const char *method, json_t *change)
{
	if (strcmp(method, "leadership") == 0)
		return picture_leadership(&w->seen, change);
	if (strcmp(method, "membership") == 0)
		return picture_membership(&w->seen, change);
	return picture_decision(&w->seen, change);
}

static void take_notification(struct watch *w, const struct async_message *m)
{
	static const char *const methods[] = {"leadership", "membership", "decision", "connection"};
	json_auto_t *change = NULL;
	size_t i = 0;

	while (i < 4 && strcmp(m->method, methods[i]) != 0)
		i++;
	if (i == 4)
		return; /* of a newer sidecar */
	if (json_from_msgpack(m->data, m->len, &change) < 0 || !json_is_object(change)) {
		output_error(&w->c->output, "a change that makes no sense was passed over");
		return;
	}
	if (i == 3) {
		take_connection(w, change);
		return;
	}
	if (!tells(w)) {
		w->passed_over =
			true; /* it was so at the beginning, or will be in the difference */
		return;
	}
	if (!is_news(w, m->method, change))
		return;
	print_change(w, m->method, change);
	if (!w->c->output.json)
		w->look_ms = clock_boot_ms() + ROLLOUT_MS;
}

/* --- the loop ---------------------------------------------------------------------------------------- */

/* Until something comes or is due, at the latest then; whether it is to go on. */
static bool wait_until(struct watch *w, int64_t until_ms)
{
	struct pollfd fds[] = {{.fd = w->signals, .events = POLLIN},
			       {.fd = fileno(w->c->output.out)},
			       {.fd = zkleader_fd(w->c->z), .events = POLLIN}};
	int64_t due = news_due(&w->news) < until_ms ? news_due(&w->news) : until_ms;
	int64_t left = due - clock_boot_ms();

	if (output_flush(&w->c->output) < 0)
		w->ended = true; /* command_main() says so, if it is worth saying */
	else if (poll(fds, 3, left < 0 ? 0 : left < RECONNECT_MS ? (int)left : RECONNECT_MS) > 0)
		w->ended = fds[0].revents != 0 || fds[1].revents != 0;
	news_tell(&w->news, clock_boot_ms());
	return !w->ended;
}

/* Subscribes anew once there is a sidecar; how it answers is another matter. */
static void begin_again(struct watch *w)
{
	output_error(&w->c->output, "%s: trying again every second", zkleader_message(w->c->z));
	w->away = AWAY_SIDECAR;
	w->cut = false;
	do {
		int64_t until = clock_boot_ms() + RECONNECT_MS;

		while (clock_boot_ms() < until)
			if (!wait_until(w, until))
				return;
	} while (send_request(w, ASKED_SUBSCRIBE) < 0);
}

static int follow(struct watch *w)
{
	struct async_message m = {0};
	int r = 0;

	while (r == 0 && !w->ended) {
		int e = w->next != ASKED_NOTHING ? send_request(w, w->next) : 0;

		if (e == 0)
			e = async_next(w->c->z, AT_ONCE, &m);
		if (e == -EAGAIN && w->look_ms <= clock_boot_ms())
			w->next = ASKED_TASKS;
		else if (e == -EAGAIN)
			wait_until(w, w->look_ms);
		else if (e < 0)
			begin_again(w);
		else if (m.is_answer)
			r = take_answer(w, &m);
		else
			take_notification(w, &m);
	}
	news_tell(&w->news, INT64_MAX);
	return r;
}

/* INT and TERM end it; that nobody reads on does so as well, and is no reason to be killed. */
static int block_signals(void)
{
	sigset_t end;

	sigemptyset(&end);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGPIPE);
	sigprocmask(SIG_BLOCK, &end, NULL);
	return fd_private(signalfd(-1, &end, SFD_CLOEXEC | SFD_NONBLOCK));
}

static int run(struct context *c)
{
	struct watch w = {.c = c, .next = ASKED_NOTHING};
	int r = zkleader_open(c->socket, &c->z);

	if (r == 0)
		r = send_request(&w, ASKED_SUBSCRIBE);
	if (r != 0)
		return ask_failed(c, r);
	w.signals = block_signals();
	news_init(&w.news, &c->output);
	r = follow(&w);
	close(w.signals);
	json_decref(w.tasks);
	picture_done(&w.seen);
	news_done(&w.news);
	free(w.rollout);
	return r;
}

const struct command command_watch = {
	.name = "watch",
	.args = "[TASK...]",
	.help = "a line for each change of leadership, fleet or policy",
	.more = "With --json one object a line, whose \"event\" is leadership, joined, left, "
		"decided,\n"
		"ended or connection. Ends with exit code 0 on INT and TERM. A sidecar that goes "
		"away is\n"
		"waited for; what has changed meanwhile is shown then, marked as such.\n",
	.max_args = COMMAND_ARGS_ANY,
	.run = run,
};
