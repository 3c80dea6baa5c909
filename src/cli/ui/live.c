#include "cli/ui/live.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/ui/ask.h"
#include "cli/ui/screen.h"
#include "cli/ui/selection.h"

#define ASK_EVERY_MS  200
#define LOOK_EVERY_MS 1000 /* between requests for the status, and redrawn ages */

enum question { ASK_FIRST, ASK_SECOND, ASK_STATUS };

struct live {
	struct context *c;
	const struct live_view *view;
	struct follow follow;
	bool stale;	  /* the answers may be out of date */
	int64_t asked_ms; /* CLOCK_BOOTTIME, as looked_ms */
	int64_t looked_ms;
	json_t *first, *second; /* the last answers; NULL: none yet */
	json_t *printed;	/* off a terminal: the answer that was printed last */
	char *health;		/* the session's health in the last status */
	char *note;		/* a line below the table; NULL: none */
	struct screen screen;	/* used on a terminal only */
	int signals;		/* signalfd(2) */
	bool ended;
};

/* --- showing -------------------------------------------------------------- */

/* The rows of the first answer that the view selects and that match the filter that was typed. */
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

	c->output.out = mem_stream(&text, &len);
	print(c, page);
	mem_stream_end(c->output.out);
	c->output = before;
	return text;
}

/* The line that says what is wrong with the sidecar, for the caller to free; NULL: nothing is. */
static char *note_line(const struct live *l)
{
	struct output o = l->c->output;
	char *text = NULL;
	size_t len;

	if (!l->note)
		return NULL;
	o.out = mem_stream(&text, &len);
	output_line(&o, COLOR_RED, "%s", l->note);
	mem_stream_end(o.out);
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

/*
 * A copy of an answer that can be compared with the next one. Off a terminal, a lease that runs
 * down is no reason to print the table again.
 */
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

/* --- asking --------------------------------------------------------------- */

static void send_question(struct live *l, enum question what)
{
	const char *const methods[] = {[ASK_FIRST] = l->view->first,
				       [ASK_SECOND] = l->view->second,
				       [ASK_STATUS] = "status"};

	ask_on(l->c, &l->follow, (int)what, methods[what], l->view->args && what == ASK_FIRST);
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
	show(l);
}

/*
 * Takes the status. The session may be lost without a notification, and then the answers are out of
 * date.
 */
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

/* Takes an answer. 0, or an exit code if it makes no sense. */
static int take_answer(struct live *l, const struct follow_event *e)
{
	json_auto_t *json = NULL;
	int code = ask_to_json(l->c, e->message.data,
			       e->question == ASK_STATUS ? JSON_OBJECT : JSON_ARRAY, &json);

	if (code != 0)
		return code;
	if (e->question == ASK_STATUS) {
		take_status(l, json);
		return 0;
	}
	json_t **answer = e->question == ASK_FIRST ? &l->first : &l->second;
	json_decref(*answer);
	*answer = json_incref(json);
	if (e->question == ASK_FIRST && l->view->second)
		send_question(l, ASK_SECOND);
	else
		show(l);
	return 0;
}

/* --- the loop ------------------------------------------------------------- */

/* Takes all events that have come. 0, or an exit code. */
static int take_events(struct live *l)
{
	struct follow_event e;
	int r = 0;

	do {
		follow_next(&l->follow, &e);
		switch (e.kind) {
		case FOLLOW_NOTHING: break;
		case FOLLOW_BEGUN:
		case FOLLOW_NEWS: l->stale = true; break;
		case FOLLOW_ANSWER: r = take_answer(l, &e); break;
		case FOLLOW_REFUSED:
			screen_end(&l->screen); /* the error line has to stay visible */
			return context_failed(l->c, e.message.code);
		case FOLLOW_LOST: lose(l); break;
		}
	} while (r == 0 && e.kind != FOLLOW_NOTHING);
	return r;
}

/* Sends the request that is due, and returns when the next one is. */
static int64_t ask_what_is_due(struct live *l)
{
	int64_t now = clock_boot_ms();

	l->stale |= l->view->refresh_ms > 0 && now >= l->asked_ms + l->view->refresh_ms;
	if (follow_fd(&l->follow) < 0)
		return follow_due_ms(&l->follow);
	if (follow_is_asking(&l->follow))
		return now + LOOK_EVERY_MS;
	if (l->stale && now >= l->asked_ms + ASK_EVERY_MS) {
		l->stale = false;
		l->asked_ms = now;
		send_question(l, ASK_FIRST);
	} else if (now >= l->looked_ms + LOOK_EVERY_MS) {
		l->looked_ms = now;
		send_question(l, ASK_STATUS);
		if (in_place(l))
			show(l);
	} else {
		return l->stale ? l->asked_ms + ASK_EVERY_MS : l->looked_ms + LOOK_EVERY_MS;
	}
	return follow_fd(&l->follow) < 0 ? now : now + LOOK_EVERY_MS;
}

static void take_signal(struct live *l)
{
	struct signalfd_siginfo info;

	if (read(l->signals, &info, sizeof(info)) != sizeof(info))
		return;
	switch (info.ssi_signo) {
	case SIGWINCH: output_resize(&l->c->output); break;
	case SIGTSTP: /* the terminal is restored before this process stops */
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
	int r = 0;

	while (r == 0 && !l->ended) {
		int64_t due = ask_what_is_due(l) - clock_boot_ms();
		struct pollfd fds[] = {{.fd = l->signals, .events = POLLIN},
				       {.fd = follow_fd(&l->follow), .events = POLLIN},
				       {.fd = fileno(l->c->output.out)},
				       {.fd = in_place(l) ? l->screen.keys : -1, .events = POLLIN}};

		if (output_flush(&l->c->output) < 0)
			break; /* command_main() reports the error */
		if (poll(fds, 4, due > 0 ? (int)due : 0) < 0)
			continue;
		if (fds[0].revents)
			take_signal(l);
		if (fds[2].revents)
			break; /* the reader of our output is gone */
		if (!l->ended)
			r = take_events(l);
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
	int r = ask_follow(c, &l.follow, view->args);

	if (r != 0)
		return context_failed(c, r);
	screen_init(&l.screen, &c->output);
	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&mask, taken[i]);
	sigprocmask(SIG_BLOCK, &mask, &before);
	l.signals = fd_private(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
	r = follow(&l);
	screen_end(&l.screen);
	close(l.signals);
	sigaddset(&before, SIGPIPE); /* the last output may go to a closed pipe */
	sigprocmask(SIG_SETMASK, &before, NULL);
	follow_done(&l.follow);
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
