#include "client/live.h"

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
#include "client/json.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define ASK_EVERY_MS  200
#define LOOK_EVERY_MS 1000 /* ages on a terminal; how the sidecar itself is */
#define RECONNECT_MS  1000
#define AT_ONCE	      0 /* as a deadline */

/* One question is on its way at a time. */
enum step { STEP_NONE, STEP_SUBSCRIBE, STEP_FIRST, STEP_SECOND, STEP_STATUS };

struct live {
	struct context *c;
	const struct live_view *view;
	enum step step; /* what was asked, as request id */
	uint32_t id;
	bool stale;	  /* what is known may be so no longer */
	int64_t asked_ms; /* CLOCK_BOOTTIME, as all of these */
	int64_t looked_ms;
	int64_t retry_ms;	/* when to connect again */
	json_t *first, *second; /* the last answers; NULL: none yet */
	json_t *shown;		/* what was printed last, off a terminal */
	char *health;		/* of the sidecar, from its status */
	char *note;		/* a line below the table; NULL: none */
	size_t drawn;		/* lines above the cursor that are ours */
	int signals;		/* signalfd(2) */
	bool ended;
};

/* --- showing --------------------------------------------------------------------------------------- */

static void print_view(struct live *l)
{
	struct context *c = l->c;

	c->output.now_ms = clock_wall_ms();
	if (c->output.json) {
		output_json_line(&c->output, l->first);
		return;
	}
	l->view->print(c, l->first, l->second);
	if (l->note)
		output_line(&c->output, COLOR_RED, "%s", l->note);
}

/* As many of the lines as the terminal has rows, but one for the cursor; returns how many. */
static size_t put_lines(FILE *out, const char *text, size_t rows)
{
	size_t n = 0, all = 0;

	for (const char *s = text; *s != '\0'; s++)
		all += *s == '\n';
	while (n < all && (all <= rows || n + 1 < rows)) {
		size_t len = strcspn(text, "\n");

		fprintf(out, "%.*s\033[K\n", (int)len, text);
		text += len + 1;
		n++;
	}
	if (n < all) {
		fprintf(out, "... %zu more lines\033[K\n", all - n);
		n++;
	}
	return n;
}

/* Over what was drawn last. Lines that are too long are cut by the terminal, so that each is one row. */
static void draw(struct live *l)
{
	struct output *o = &l->c->output;
	FILE *out = o->out;
	mem_auto char *text = NULL;
	size_t len;

	o->out = open_memstream(&text, &len);
	print_view(l);
	fclose(o->out);
	o->out = out;
	if (l->drawn > 0)
		fprintf(out, "\033[%zuA", l->drawn);
	fputs("\r\033[?7l", out);
	l->drawn = put_lines(out, text, (size_t)o->height - 1);
	fputs("\033[J\033[?7h", out);
}

/* What is news where there is no cursor: a lease runs out all the time. */
static json_t *without_leases(const json_t *answer)
{
	json_t *copy = json_deep_copy(answer);

	for (size_t i = 0; i < json_array_size(copy); i++)
		json_object_del(json_array_get(copy, i), "lease_ms");
	return copy;
}

static bool in_place(const struct live *l)
{
	return l->c->output.height > 0 && !l->c->output.json;
}

static void print_if_new(struct live *l)
{
	json_t *news = json_pack("[o,o?]", without_leases(l->first),
				 l->second ? without_leases(l->second) : NULL);

	if (l->shown && json_equal(news, l->shown)) {
		json_decref(news);
		return;
	}
	if (l->shown && !l->c->output.json)
		fputc('\n', l->c->output.out);
	json_decref(l->shown);
	l->shown = news;
	print_view(l);
}

static void show(struct live *l)
{
	if (!l->first)
		return;
	if (in_place(l))
		draw(l);
	else
		print_if_new(l);
}

/* --- asking ---------------------------------------------------------------------------------------- */

static int send_step(struct live *l, enum step step)
{
	const char *const methods[] = {[STEP_SUBSCRIBE] = "subscribe",
				       [STEP_FIRST] = l->view->first,
				       [STEP_SECOND] = l->view->second,
				       [STEP_STATUS] = "status"};
	bool args = l->view->args && (step == STEP_SUBSCRIBE || step == STEP_FIRST);
	struct buffer params;
	struct pack p;
	int e = 0;

	buffer_init(&params, RPC_REQUEST_MAX);
	pack_init(&p, &params);
	if (args)
		e = ask_pack(l->c, &params);
	else
		pack_array(&p, 0);
	if (e == 0)
		e = async_send(l->c->z, methods[step], &params,
			       clock_boot_ms() + COMMAND_TIMEOUT_MS, &l->id);
	buffer_done(&params);
	l->step = e == 0 ? step : STEP_NONE;
	return e;
}

static void set_note(struct live *l, const char *note)
{
	free(l->note);
	l->note = note ? mem_strdup(note) : NULL;
}

static void lose(struct live *l)
{
	const char *message = zkleader_message(l->c->z);

	if ((!in_place(l) && !l->note) || !l->first)
		output_error(&l->c->output, "%s: trying again every second", message);
	set_note(l, message);
	l->step = STEP_NONE;
	l->retry_ms = clock_boot_ms() + RECONNECT_MS;
	show(l);
}

/* Whether this node can tell at all changes without news from the fleet. */
static void take_status(struct live *l, const json_t *status)
{
	const json_t *session = json_object_get(status, "session");
	const char *why = json_text(status, "why", NULL);
	char *health = NULL;

	if (asprintf(&health, "%s %d %s", json_text(session, "state", "-"),
		     json_number(status, "lease_ms", 0) > 0, why ? why : "") < 0)
		abort();
	if (!l->health || strcmp(health, l->health) != 0)
		l->stale = true;
	free(l->health);
	l->health = health;
	set_note(l, json_flag(status, "healthy") ? NULL : why);
}

static void take_result(struct live *l, enum step step, json_t *json)
{
	switch (step) {
	case STEP_FIRST:
		json_decref(l->first);
		l->first = json_incref(json);
		break;
	case STEP_SECOND:
		json_decref(l->second);
		l->second = json_incref(json);
		break;
	case STEP_STATUS: take_status(l, json); break;
	case STEP_SUBSCRIBE: l->stale = true; break;
	case STEP_NONE: break;
	}
}

/* 0, or the exit code of a refusal. */
static int take_answer(struct live *l, const struct async_message *m)
{
	enum step step = l->step;
	json_auto_t *json = NULL;
	int code;

	if (m->id != l->id || step == STEP_NONE)
		return 0;
	if (m->code > 0)
		return ask_failed(l->c, m->code);
	l->step = STEP_NONE;
	code = ask_to_json(l->c, m->data, m->len,
			   step == STEP_SUBSCRIBE ? JSON_TRUE
			   : step == STEP_STATUS  ? JSON_OBJECT
						  : JSON_ARRAY,
			   &json);
	if (code != 0)
		return code;
	take_result(l, step, json);
	if (step == STEP_FIRST && l->view->second) {
		if (send_step(l, STEP_SECOND) < 0)
			lose(l);
	} else if (step == STEP_FIRST || step == STEP_SECOND) {
		show(l);
	}
	return 0;
}

/* --- the loop ------------------------------------------------------------------------------------------ */

static int take_messages(struct live *l)
{
	struct async_message m;
	int e, r = 0;

	while (r == 0 && (e = async_next(l->c->z, AT_ONCE, &m)) != -EAGAIN) {
		if (e < 0) {
			lose(l);
			break;
		}
		if (m.is_answer)
			r = take_answer(l, &m);
		else
			l->stale = true;
	}
	return r;
}

/* Sends what is due, and returns when the next will be. */
static int64_t ask_what_is_due(struct live *l)
{
	int64_t now = clock_boot_ms();
	enum step step = STEP_NONE;

	if (zkleader_fd(l->c->z) < 0) {
		if (now < l->retry_ms)
			return l->retry_ms;
		step = STEP_SUBSCRIBE;
	} else if (l->step != STEP_NONE) {
		return now + LOOK_EVERY_MS;
	} else if (l->stale && now >= l->asked_ms + ASK_EVERY_MS) {
		step = STEP_FIRST;
		l->stale = false;
		l->asked_ms = now;
	} else if (now >= l->looked_ms + LOOK_EVERY_MS) {
		step = STEP_STATUS;
		l->looked_ms = now;
		if (in_place(l))
			show(l);
	}
	if (step != STEP_NONE && send_step(l, step) < 0)
		lose(l);
	if (step != STEP_NONE)
		return now + LOOK_EVERY_MS;
	return l->stale ? l->asked_ms + ASK_EVERY_MS : l->looked_ms + LOOK_EVERY_MS;
}

static void take_signal(struct live *l)
{
	struct signalfd_siginfo info;

	if (read(l->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM) {
		l->ended = true;
		return;
	}
	if (info.ssi_signo == SIGCONT)
		l->drawn = 0; /* the shell has written below */
	output_resize(&l->c->output);
	if (in_place(l))
		show(l);
}

static int follow(struct live *l)
{
	int r = send_step(l, STEP_SUBSCRIBE);

	if (r != 0)
		return ask_failed(l->c, r);
	while (r == 0 && !l->ended) {
		int64_t due = ask_what_is_due(l) - clock_boot_ms();
		struct pollfd fds[] = {{.fd = l->signals, .events = POLLIN},
				       {.fd = zkleader_fd(l->c->z), .events = POLLIN}};

		if (output_flush(&l->c->output) < 0)
			break; /* nobody looks any more; command_main() says so */
		if (poll(fds, 2, due > 0 ? (int)due : 0) < 0)
			continue;
		if (fds[0].revents)
			take_signal(l);
		if (!l->ended && fds[1].revents)
			r = take_messages(l);
	}
	return r;
}

int live_follow(struct context *c, const struct live_view *view)
{
	struct live l = {.c = c, .view = view, .looked_ms = clock_boot_ms()};
	sigset_t mask, before;
	int r = zkleader_open(c->socket, &c->z);

	if (r < 0)
		return ask_failed(c, r);
	sigemptyset(&mask);
	for (const int *s = (const int[]){SIGINT, SIGTERM, SIGWINCH, SIGCONT, 0}; *s; s++)
		sigaddset(&mask, *s);
	sigprocmask(SIG_BLOCK, &mask, &before);
	l.signals = fd_private(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
	r = follow(&l);
	close(l.signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	json_decref(l.first);
	json_decref(l.second);
	json_decref(l.shown);
	free(l.health);
	free(l.note);
	return r;
}

int live_once(struct context *c, const struct live_view *view)
{
	json_auto_t *first = NULL, *second = NULL;
	int code = ask(c, view->first, JSON_ARRAY, &first);

	if (code != 0)
		return code;
	if (view->second && !c->output.json)
		second = ask_quietly(c, view->second, JSON_ARRAY);
	code = ask_stale(c);
	if (c->output.json)
		output_json(&c->output, first);
	else
		view->print(c, first, second);
	return code;
}
