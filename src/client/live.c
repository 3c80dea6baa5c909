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
#include "client/screen.h"
#include "client/selection.h"
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
	json_t *printed;	/* what was printed last, off a terminal */
	char *health;		/* of the sidecar, from its status */
	char *note;		/* a line below the table; NULL: none */
	struct screen screen;	/* on a terminal */
	int signals;		/* signalfd(2) */
	bool ended;
};

/* --- showing --------------------------------------------------------------------------------------- */

/* What is wanted of the first answer; with a filter that was typed, what has it somewhere. */
static json_t *take_shown(const struct live *l, json_t *all)
{
	json_t *taken = l->view->take ? l->view->take(l->view, all) : json_copy(all);
	json_t *found;

	if (l->screen.filter[0] == '\0')
		return taken;
	found = selection_find(taken, l->screen.filter);
	json_decref(taken);
	return found;
}

static char *print_part(struct context *c, live_print_fn print, const struct live_page *page)
{
	struct output before = c->output;
	char *text = NULL;
	size_t len;

	c->output.out = open_memstream(&text, &len);
	print(c, page);
	fclose(c->output.out);
	c->output = before;
	return text;
}

/* The line that is wrong with the sidecar; for the caller to free. */
static char *note_line(const struct live *l)
{
	struct output o = l->c->output;
	char *text = NULL;
	size_t len;

	if (!l->note)
		return NULL;
	o.out = open_memstream(&text, &len);
	output_line(&o, COLOR_RED, "%s", l->note);
	fclose(o.out);
	return text;
}

static void draw(struct live *l, const struct live_page *page)
{
	struct context *c = l->c;
	mem_auto char *above = print_part(c, l->view->above, page);
	mem_auto char *table = print_part(c, l->view->table, page);
	mem_auto char *below = print_part(c, l->view->below, page);
	mem_auto char *note = note_line(l);
	const struct screen_page texts = {
		above, table, below, note, json_array_size(page->all),
	};

	screen_draw(&l->screen, &texts);
}

static void print_page(struct context *c, const struct live_view *view,
		       const struct live_page *page)
{
	view->above(c, page);
	view->table(c, page);
	view->below(c, page);
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

static void print_if_new(struct live *l, const struct live_page *page)
{
	struct context *c = l->c;
	json_t *news = json_pack("[o,o?]", without_leases(page->shown),
				 page->second ? without_leases(page->second) : NULL);

	if (l->printed && json_equal(news, l->printed)) {
		json_decref(news);
		return;
	}
	if (l->printed && !c->output.json)
		fputc('\n', c->output.out);
	json_decref(l->printed);
	l->printed = news;
	if (c->output.json) {
		output_json_line(&c->output, page->shown);
		return;
	}
	print_page(c, l->view, page);
	if (l->note)
		output_line(&c->output, COLOR_RED, "%s", l->note);
}

static void show(struct live *l)
{
	json_auto_t *shown = l->first ? take_shown(l, l->first) : NULL;
	const struct live_page page = {l->first, shown, l->second};

	if (!shown)
		return;
	l->c->output.now_ms = clock_wall_ms();
	if (in_place(l))
		draw(l, &page);
	else
		print_if_new(l, &page);
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
	if (m->code > 0) {
		screen_end(&l->screen); /* the line that says why is to stay */
		return ask_failed(l->c, m->code);
	}
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

	l->stale |= l->view->refresh_ms > 0 && now >= l->asked_ms + l->view->refresh_ms;
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
	switch (info.ssi_signo) {
	case SIGWINCH: output_resize(&l->c->output); break;
	case SIGTSTP: /* the shell's turn, on a terminal as it was */
		screen_end(&l->screen);
		raise(SIGSTOP);
		return;
	case SIGCONT: output_resize(&l->c->output); break;
	default: l->ended = true; return;
	}
	if (in_place(l))
		show(l);
}

static void take_keys(struct live *l)
{
	switch (screen_read(&l->screen)) {
	case SCREEN_SAME: break;
	case SCREEN_MOVED:
	case SCREEN_FILTERED: show(l); break;
	case SCREEN_QUIT: l->ended = true; break;
	}
}

static int follow(struct live *l)
{
	int r = send_step(l, STEP_SUBSCRIBE);

	if (r != 0)
		return ask_failed(l->c, r);
	while (r == 0 && !l->ended) {
		int64_t due = ask_what_is_due(l) - clock_boot_ms();
		struct pollfd fds[] = {{.fd = l->signals, .events = POLLIN},
				       {.fd = zkleader_fd(l->c->z), .events = POLLIN},
				       {.fd = fileno(l->c->output.out)},
				       {.fd = in_place(l) ? l->screen.keys : -1, .events = POLLIN}};

		if (output_flush(&l->c->output) < 0)
			break; /* command_main() says so */
		if (poll(fds, 4, due > 0 ? (int)due : 0) < 0)
			continue;
		if (fds[0].revents)
			take_signal(l);
		if (fds[2].revents)
			break; /* nobody reads on */
		if (!l->ended && fds[1].revents)
			r = take_messages(l);
		if (!l->ended && fds[3].revents)
			take_keys(l);
	}
	return r;
}

int live_follow(struct context *c, const struct live_view *view)
{
	static const int taken[] = {SIGINT,   SIGTERM, SIGHUP,	SIGQUIT,
				    SIGWINCH, SIGTSTP, SIGCONT, SIGPIPE};
	struct live l = {.c = c, .view = view, .looked_ms = clock_boot_ms()};
	sigset_t mask, before;
	int r = zkleader_open(c->socket, &c->z);

	if (r < 0)
		return ask_failed(c, r);
	screen_init(&l.screen, &c->output);
	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&mask, taken[i]);
	sigprocmask(SIG_BLOCK, &mask, &before);
	l.signals = fd_private(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
	r = follow(&l);
	screen_end(&l.screen);
	close(l.signals);
	sigaddset(&before, SIGPIPE); /* what is left to be written may find that nobody reads on */
	sigprocmask(SIG_SETMASK, &before, NULL);
	json_decref(l.first);
	json_decref(l.second);
	json_decref(l.printed);
	free(l.health);
	free(l.note);
	return r;
}

int live_once(struct context *c, const struct live_view *view)
{
	json_auto_t *first = NULL, *second = NULL, *shown = NULL;
	int code = ask(c, view->first, JSON_ARRAY, &first);

	if (code != 0)
		return code;
	if (view->second && !c->output.json)
		second = ask_quietly(c, view->second, JSON_ARRAY);
	code = ask_stale(c);
	shown = view->take ? view->take(view, first) : json_incref(first);
	if (c->output.json)
		output_json(&c->output, shown);
	else
		print_page(c, view, &(struct live_page){first, shown, second});
	return code;
}
