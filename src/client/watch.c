#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/ask.h"
#include "client/async.h"
#include "client/command.h"
#include "client/decision.h"
#include "client/json.h"
#include "client/link.h"
#include "client/picture.h"
#include "client/rollout.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define RECONNECT_MS 1000
#define PICTURE_MS   500  /* between looks at a sidecar that has no session yet */
#define ROLLOUT_MS   1000 /* after a change: before it is told how far a rollout has come */

/* The sidecar answers a subscription, and is then asked how things are, while news may come already. */
enum asked { ASKED_SUBSCRIBE, ASKED_TASKS, ASKED_WORKERS, ASKED_NOTHING };

struct watch {
	struct context *c;
	enum asked asked;
	enum asked next;     /* to be asked */
	uint32_t id;	     /* of that request */
	json_t *tasks;	     /* the answer, until that to `workers` has come */
	int64_t look_ms;     /* CLOCK_BOOTTIME; when to ask how things are; LINK_FOREVER */
	char *rollout;	     /* how far it had come when it was told last, NULL */
	struct picture seen; /* what has been told, or was so at the beginning */
	bool away;	     /* the sidecar was, and what has changed meanwhile is not told yet */
	bool stale;	     /* something has changed since `tasks` was answered */
};

/* Every line has left by the time the next wait begins, so there is nothing to put in order. */
static void on_end(int signal)
{
	(void)signal;
	_exit(0);
}

/* --- one line ------------------------------------------------------------------------------------ */

#define AWAY "meanwhile"

static const char *suffix(const json_t *change)
{
	return json_flag(change, AWAY) ? " (while the sidecar was away)" : "";
}

static void print_leadership(const struct output *o, const json_t *change)
{
	const json_t *leader = json_object_get(change, "leader");
	const char *time = json_text(change, "time", "-");
	const char *task = json_text(change, "task", "-");
	bool self = json_flag(change, "self");

	if (!json_is_object(leader))
		output_line(o, COLOR_YELLOW, "%s %s: nobody leads it%s", time, task,
			    suffix(change));
	else
		output_line(o, self ? COLOR_GREEN : COLOR_NONE,
			    "%s %s: led by %s (%s), token %" PRId64 "%s%s", time, task,
			    json_worker_name(leader), json_text(leader, "version", "-"),
			    json_number(change, "token", 0), self ? ", this node" : "",
			    suffix(change));
}

static void print_membership(const struct output *o, const json_t *change)
{
	const char *event = json_text(change, "event", "-");

	output_line(o, strcmp(event, "left") == 0 ? COLOR_YELLOW : COLOR_NONE,
		    "%s %s (%s, version %s) %s%s%s", json_text(change, "time", "-"),
		    json_text(change, "hostname", "-"), json_text(change, "ip", "-"),
		    json_text(change, "version", "-"), event,
		    json_flag(change, "self") ? ", this node" : "", suffix(change));
}

static void print_decision(const struct output *o, const json_t *change)
{
	const char *host = json_text(change, "host", "-");
	const char *what = json_text(change, "task", host);
	const char *time = json_text(change, "time", "-");
	const char *until = json_text(change, "until", NULL);
	const char *reason = json_text(change, "reason", NULL);
	mem_auto char *word = decision_word(change);

	if (strcmp(json_text(change, "event", ""), "ended") == 0)
		output_line(o, COLOR_NONE, "%s %s: no longer %s%s", time, what, word,
			    suffix(change));
	else
		output_line(o, COLOR_YELLOW, "%s %s: %s by %s at %s%s%s%s%s%s", time, what, word,
			    json_text(change, "by", "-"), host, until ? " until " : "",
			    until ? until : "", reason ? ": " : "", reason ? reason : "",
			    suffix(change));
}

static void print_change(struct watch *w, const char *method, json_t *change)
{
	const struct output *o = &w->c->output;
	bool leadership = strcmp(method, "leadership") == 0;

	if (o->json && leadership)
		json_object_set_new(change, "event", json_string("leadership"));
	if (o->json)
		output_json_line(o, change);
	else if (leadership)
		print_leadership(o, change);
	else if (strcmp(method, "membership") == 0)
		print_membership(o, change);
	else
		print_decision(o, change);
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
	w->look_ms = LINK_FOREVER;
	return e;
}

/* It was seen before the sidecar went, and is so no longer, or the other way round. */
static void on_difference(void *arg, const char *method, json_t *change)
{
	char now[CLOCK_TEXT_SIZE];

	clock_format(clock_wall_ms(), now);
	json_object_set_new(change, "time", json_string(now));
	json_object_set_new(change, AWAY, json_true());
	print_change(arg, method, change);
}

/* For people: what each version does, where there is more than one, whenever that is another. */
static void tell_rollout(struct watch *w, const json_t *workers, bool quietly)
{
	char *text = w->c->output.json ? NULL : rollout_text(workers);
	char now[CLOCK_TEXT_SIZE];

	clock_format(clock_wall_ms(), now);
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
	tell_rollout(w, workers, !w->seen.tasks);
	if (!w->away && w->seen.tasks) {
		picture_done(&now); /* what has changed is told as it is heard of */
		return;
	}
	if (w->stale) {
		picture_done(&now);
		w->next = ASKED_TASKS;
		return;
	}
	if (w->away && w->seen.tasks)
		picture_compare(&w->seen, &now, on_difference, w);
	w->away = false;
	picture_done(&w->seen);
	w->seen = now;
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
		if (w->away)
			output_error(&c->output, "the sidecar on %s is back", zkleader_path(c->z));
		send_request(w,
			     ASKED_TASKS); /* that the connection is gone shows when it is read */
		return 0;
	}
	if (ask_to_json(c, m->data, m->len, JSON_ARRAY, &json) != 0)
		return 0;
	if (asked == ASKED_TASKS) {
		w->stale = false;
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
	static const char *const methods[] = {"leadership", "membership", "decision"};
	json_auto_t *change = NULL;
	size_t i = 0;

	while (i < 3 && strcmp(m->method, methods[i]) != 0)
		i++;
	if (i == 3)
		return; /* of a newer sidecar */
	if (json_from_msgpack(m->data, m->len, &change) < 0 || !json_is_object(change)) {
		output_error(&w->c->output, "a change that makes no sense was passed over");
		return;
	}
	/* Each state is told once: until it is known how things are, that is no news. */
	if (strcmp(m->method, "leadership") == 0 && (w->away || !w->seen.tasks)) {
		w->stale = true;
		return;
	}
	if (!is_news(w, m->method, change))
		return;
	print_change(w, m->method, change);
	if (!w->c->output.json)
		w->look_ms = clock_boot_ms() + ROLLOUT_MS;
}

/* Subscribes anew once there is a sidecar; how it answers is another matter. */
static void begin_again(struct watch *w)
{
	output_error(&w->c->output, "%s: trying again every second", zkleader_message(w->c->z));
	w->away = true;
	do
		link_pause(RECONNECT_MS, LINK_FOREVER);
	while (send_request(w, ASKED_SUBSCRIBE) < 0);
}

static int follow(struct watch *w)
{
	struct async_message m;
	int r = 0;

	while (r == 0) {
		int e = w->next != ASKED_NOTHING ? send_request(w, w->next) : 0;

		if (e == 0)
			e = async_next(w->c->z, w->look_ms, &m);
		if (e == -EAGAIN)
			w->next = ASKED_TASKS;
		else if (e < 0)
			begin_again(w);
		else if (m.is_answer)
			r = take_answer(w, &m);
		else
			take_notification(w, &m);
		if (output_flush(&w->c->output) < 0)
			break; /* nobody reads on; command_main() says so */
	}
	return r;
}

static int run(struct context *c)
{
	struct sigaction action = {.sa_handler = on_end};
	struct watch w = {.c = c, .next = ASKED_NOTHING};
	int r = zkleader_open(c->socket, &c->z);

	if (r == 0)
		r = send_request(&w, ASKED_SUBSCRIBE);
	if (r != 0)
		return ask_failed(c, r);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	r = follow(&w);
	json_decref(w.tasks);
	picture_done(&w.seen);
	free(w.rollout);
	return r;
}

const struct command command_watch = {
	.name = "watch",
	.args = "[TASK...]",
	.help = "a line for each change of leadership, fleet or policy",
	.more = "With --json one object a line, whose \"event\" is leadership, joined, left, "
		"decided\n"
		"or ended. Ends with exit code 0 on INT and TERM. A sidecar that goes away is\n"
		"waited for; what has changed meanwhile is shown then, marked as such.\n",
	.max_args = COMMAND_ARGS_ANY,
	.run = run,
};
