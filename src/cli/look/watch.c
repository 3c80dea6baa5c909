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
#include "cli/ui/command.h"
#include "cli/ui/news.h"
#include "cli/ui/rollout.h"
#include "cli/ui/snapshot.h"

#define WAIT_MAX_MS 1000
#define SNAPSHOT_MS 500	 /* between requests to a sidecar that has no session yet */
#define ROLLOUT_MS  1000 /* from a change to the line about the rollout */
#define SETTLE_MS   2000 /* after an outage: time for workers to register again */
#define COMPLETE_MS 5000 /* time without a change before a rollout counts as complete */
#define COMPARE_MAX 10	 /* attempts to get a state with no notification meanwhile */

/*
 * The requests for the state of the fleet, which follow the subscription. Notifications may come
 * before their answers.
 */
enum question { ASK_TASKS, ASK_WORKERS, ASK_NOTHING };

/*
 * The reason why notifications are not printed. Afterwards the difference between the states before
 * and after is.
 */
enum away { AWAY_NOT, AWAY_SIDECAR, AWAY_SESSION };

struct watch {
	struct context *c;
	struct follow follow;
	enum question next;   /* the next request */
	json_t *tasks;	      /* the answer to `tasks`, until that to `workers` has come */
	int64_t look_ms;      /* CLOCK_BOOTTIME: next request for the state; INT64_MAX: none */
	char *rollout;	      /* the last line about the rollout; NULL: none */
	int64_t changed_ms;   /* wall clock: when a change was last printed */
	struct snapshot seen; /* the state that was printed */
	struct news news;     /* for output as text */
	enum away away;
	int64_t settled_ms; /* CLOCK_BOOTTIME: when to print the difference after an outage */
	bool cut;	    /* the sidecar has no confirmed session, and that was printed */
	bool passed_over;   /* a notification was dropped that the answer may not include */
	unsigned compared;  /* attempts so far to get the difference */
	int signals;	    /* signalfd(2) */
	bool ended;
};

/*
 * Whether changes are printed as they come. They are not before the first state is known, nor
 * during an outage.
 */
static bool tells(const struct watch *w)
{
	return w->seen.tasks && w->away == AWAY_NOT;
}

/* --- one line ------------------------------------------------------------- */

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

/* --- the state of the fleet ----------------------------------------------- */

static void ask_next(struct watch *w)
{
	static const char *const methods[] = {"tasks", "workers"};
	enum question what = w->next;

	w->next = ASK_NOTHING;
	w->passed_over &= what != ASK_TASKS;
	w->look_ms = INT64_MAX;
	ask_on(w->c, &w->follow, (int)what, methods[what], what == ASK_TASKS);
}

/* Prints one difference between the state that was printed and the present one. */
static void on_difference(void *arg, const char *method, json_t *change)
{
	char now[CLOCK_TEXT_SIZE];

	clock_format(clock_wall_ms(), now);
	json_object_set_new(change, "time", json_string(now));
	json_object_set_new(change, AWAY, json_true());
	print_change(arg, method, change);
}

static void tell_difference(struct watch *w, const struct snapshot *now)
{
	news_tell(&w->news, INT64_MAX); /* events that are still held come before it */
	w->news.suffix =
		w->away == AWAY_SESSION ? " (while disconnected)" : " (while the sidecar was away)";
	snapshot_compare(&w->seen, now, on_difference, w);
	news_tell(&w->news, INT64_MAX);
	w->news.suffix = "";
}

/*
 * In text output: prints a line about the rollout whenever it has advanced, and another when all
 * workers have the same version and nothing has changed for COMPLETE_MS.
 */
static void tell_rollout(struct watch *w, const json_t *workers, bool quietly)
{
	char *text = w->c->output.json ? NULL : rollout_text(workers);
	int64_t now_ms = clock_wall_ms();
	mem_auto char *complete = NULL;
	char now[CLOCK_TEXT_SIZE];

	clock_format(now_ms, now);
	/* The line waits, so that a worker that is being restarted still counts. */
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

static void take_snapshot(struct watch *w, const json_t *workers)
{
	struct snapshot now;

	if (!snapshot_make(&now, w->tasks, workers)) {
		w->look_ms = clock_boot_ms() + SNAPSHOT_MS;
		return;
	}
	if (w->away == AWAY_SESSION && clock_boot_ms() < w->settled_ms) {
		snapshot_done(&now); /* it may be from before the outage */
		w->look_ms = w->settled_ms;
		return;
	}
	news_set_workers(&w->news, workers);
	if (!tells(w) && w->passed_over && w->compared++ < COMPARE_MAX) {
		snapshot_done(&now); /* the state may lack notifications that were dropped */
		w->next = ASK_TASKS;
		return;
	}
	if (tells(w)) {
		snapshot_done(&now); /* changes are printed by their notifications */
	} else {
		if (w->away != AWAY_NOT && w->seen.tasks)
			tell_difference(w, &now);
		w->away = AWAY_NOT;
		w->compared = 0;
		snapshot_done(&w->seen);
		w->seen = now;
		tell_rollout(w, workers, true);
		return;
	}
	tell_rollout(w, workers, false);
}

static void take_answer(struct watch *w, const struct follow_event *e)
{
	json_auto_t *json = NULL;

	if (ask_to_json(w->c, e->message.data, JSON_ARRAY, &json) != 0)
		return;
	if (e->question == ASK_TASKS) {
		json_decref(w->tasks);
		w->tasks = json_incref(json);
		w->next = ASK_WORKERS;
	} else {
		take_snapshot(w, json);
	}
}

/* --- the sidecar goes and comes ------------------------------------------- */

static void begun(struct watch *w)
{
	if (w->away == AWAY_SIDECAR)
		output_error(&w->c->output, "the sidecar on %s is back", zkleader_path(w->c->z));
	w->next = ASK_TASKS;
}

static void lost(struct watch *w, const struct follow_event *e)
{
	if (!e->again)
		output_error(&w->c->output, "%s: trying again every second",
			     zkleader_message(w->c->z));
	w->away = AWAY_SIDECAR;
	w->cut = false;
	w->next = ASK_NOTHING;
	w->look_ms = INT64_MAX;
}

/* --- news ----------------------------------------------------------------- */

/*
 * The first notification only says whether there is a session. It is printed only if there is none.
 */
static void take_connection(struct watch *w, json_t *change)
{
	bool confirmed = json_flag(change, "confirmed");

	if (confirmed == !w->cut)
		return;
	w->cut = !confirmed;
	print_change(w, "connection", change);
	if (w->away == AWAY_NOT)
		w->away = AWAY_SESSION;
	w->settled_ms = INT64_MAX;
	if (confirmed)
		w->settled_ms = clock_boot_ms() + (w->seen.tasks ? SETTLE_MS : 0);
	w->look_ms = w->settled_ms;
}

static bool is_news(struct watch *w, const char *method, json_t *change)
{
	if (strcmp(method, "leadership") == 0)
		return snapshot_leadership(&w->seen, change);
	if (strcmp(method, "membership") == 0)
		return snapshot_membership(&w->seen, change);
	return snapshot_decision(&w->seen, change);
}

static void take_notification(struct watch *w, const struct message *m)
{
	static const char *const methods[] = {"leadership", "membership", "decision", "connection"};
	json_auto_t *change = NULL;
	size_t i = 0;

	while (i < 4 && strcmp(m->method, methods[i]) != 0)
		i++;
	if (i == 4)
		return; /* only a newer sidecar sends it */
	if (json_from_msgpack(m->data.p, (size_t)(m->data.end - m->data.p), &change) < 0 ||
	    !json_is_object(change)) {
		output_error(&w->c->output, "a change that makes no sense was passed over");
		return;
	}
	if (i == 3) {
		take_connection(w, change);
		return;
	}
	if (!tells(w)) {
		/* The first state, or the difference, will include the change. */
		w->passed_over = true;
		return;
	}
	if (!is_news(w, m->method, change))
		return;
	print_change(w, m->method, change);
	if (!w->c->output.json)
		w->look_ms = clock_boot_ms() + ROLLOUT_MS;
}

/* --- the loop ------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Waits until something comes or is due. */
static void wait_for_more(struct watch *w)
{
	struct pollfd fds[] = {{.fd = w->signals, .events = POLLIN},
			       {.fd = fileno(w->c->output.out)},
			       {.fd = follow_fd(&w->follow), .events = POLLIN}};
	int64_t due = earlier(news_due(&w->news), earlier(w->look_ms, follow_due_ms(&w->follow)));
	int64_t left = earlier(due - clock_boot_ms(), WAIT_MAX_MS);

	if (output_flush(&w->c->output) < 0)
		w->ended = true; /* command_main() reports the error if it matters */
	else if (poll(fds, 3, left > 0 ? (int)left : 0) > 0)
		w->ended = fds[0].revents != 0 || fds[1].revents != 0;
	news_tell(&w->news, clock_boot_ms());
}

static int follow(struct watch *w)
{
	struct follow_event e;
	int r = 0;

	while (r == 0 && !w->ended) {
		if (w->look_ms <= clock_boot_ms())
			w->next = ASK_TASKS;
		if (w->next != ASK_NOTHING)
			ask_next(w);
		follow_next(&w->follow, &e);
		switch (e.kind) {
		case FOLLOW_NOTHING: wait_for_more(w); break;
		case FOLLOW_BEGUN: begun(w); break;
		case FOLLOW_NEWS: take_notification(w, &e.message); break;
		case FOLLOW_ANSWER: take_answer(w, &e); break;
		case FOLLOW_REFUSED: r = context_failed(w->c, e.message.code); break;
		case FOLLOW_LOST: lost(w, &e); break;
		}
	}
	news_tell(&w->news, INT64_MAX);
	return r;
}

/*
 * SIGINT and SIGTERM end the program. A closed pipe ends it as well, but by an error of writing:
 * SIGPIPE is blocked.
 */
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
	struct watch w = {.c = c, .next = ASK_NOTHING, .look_ms = INT64_MAX};
	int r = ask_follow(c, &w.follow, true);

	if (r != 0)
		return context_failed(c, r);
	w.signals = block_signals();
	news_init(&w.news, &c->output);
	r = follow(&w);
	close(w.signals);
	follow_done(&w.follow);
	json_decref(w.tasks);
	snapshot_done(&w.seen);
	news_done(&w.news);
	free(w.rollout);
	return r;
}

const struct command command_watch = {
	.name = "watch",
	.args = "[TASK...]",
	.help = "a line for each change of leadership, fleet or policy",
	.more = "With --json one object a line, whose \"event\" is leadership, joined, left,\n"
		"decided, ended or connection. Ends with exit code 0 on INT and TERM. A sidecar\n"
		"that goes away is waited for; what has changed meanwhile is shown then, marked\n"
		"as such.\n",
	.max_args = COMMAND_ARGS_ANY,
	.run = run,
};
