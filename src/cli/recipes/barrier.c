/*
 * zkleader barrier: waits until N members are at the barrier. With CMD each member runs it, and all
 * of them leave together.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "api/call.h"
#include "api/handle.h"
#include "base/clock.h"
#include "base/text/name.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "supervise/child.h"
#include "supervise/job.h"
#include "supervise/pending.h"
#include "wire/keys.h"
#include "wire/pack.h"

#define COUNT_MAX  1000
#define ID_LEN	   16
#define STATE_SIZE 16

enum { OPTION_COUNT, OPTION_TIMEOUT };

static const struct option_spec options[] = {
	{'n', "count", "N", "how many have to be there; needed"},
	{301, "timeout", "D", "no longer than D"},
	{0, NULL, NULL, NULL},
};

struct barrier {
	struct context *c;
	const char *name;
	const char *const *argv; /* the words of CMD; NULL: there is none */
	int64_t count;
	int64_t deadline_ms; /* CLOCK_BOOTTIME; INT64_MAX: none */
	struct signals signals;
	struct pending pending;
	char id[ID_LEN + 1];
	char state[STATE_SIZE]; /* from the sidecar's last answer */
	uint64_t round;
	bool inside; /* CMD runs, and the sidecar counts this member as inside */
};

/* --- the command line ----------------------------------------------------- */

/* Parses the command line. Returns what is wrong with it, or NULL. */
static const char *parse(struct barrier *b, char why[OPTIONS_WHY_SIZE])
{
	struct context *c = b->c;
	const char *count = c->values[OPTION_COUNT], *timeout = c->values[OPTION_TIMEOUT];
	int64_t timeout_ms;

	if (c->n_before != 1)
		return "where does the command begin? zkleader barrier NAME --count N [-- CMD]";
	b->name = c->args[0];
	b->argv = c->n_args > 1 ? c->args + 1 : NULL;
	if (!name_is_task(b->name, strlen(b->name)))
		return "that is no name: up to 100 letters, digits, dots, hyphens and "
		       "underscores, a letter or digit first";
	if (!count)
		return "--count N is needed: how many have to be there?";
	b->count = options_number(count, COUNT_MAX);
	if (b->count < 1)
		return "--count is a number from 1 to 1000";
	b->deadline_ms = INT64_MAX;
	if (!timeout)
		return NULL;
	if (options_duration("--timeout", timeout, ZKLEADER_TIMEOUT_MAX_MS, &timeout_ms, why) < 0)
		return why;
	b->deadline_ms = clock_boot_ms() + timeout_ms;
	return NULL;
}

/* --- requests ------------------------------------------------------------- */

static int64_t timeout_left(const struct barrier *b)
{
	int64_t now = clock_boot_ms();

	if (b->deadline_ms == INT64_MAX)
		return -1;
	return b->deadline_ms > now ? b->deadline_ms - now : 0;
}

/* Each request has the same id, so that a restarted sidecar finds the member again. */
static int send_enter(const struct pending *pending, uint32_t *ret_id)
{
	struct barrier *b = pending->arg;
	struct request request;

	if (!b->id[0])
		memcpy(b->id, pending->id, ID_LEN);
	struct pack *p = request_begin(&request, 2);
	pack_str(p, b->name);
	pack_map(p, 6);
	pack_kv_str(p, "id", b->id);
	pack_kv_bool(p, "again", pending->sent || b->inside);
	pack_kv_uint(p, "round", b->inside ? b->round : 0);
	pack_kv_int(p, "count", b->count);
	pack_kv_int(p, "timeout_ms", timeout_left(b));
	pack_kv_bool(p, "command", b->argv != NULL);
	return pending_send(pending, "barrier", &request, ret_id);
}

static int send_leave(const struct pending *pending, uint32_t *ret_id)
{
	const struct barrier *b = pending->arg;
	struct request request;
	struct pack *p = request_begin(&request, 2);

	pack_str(p, b->name);
	pack_map(p, 2);
	pack_kv_str(p, "id", b->id);
	pack_kv_uint(p, "round", b->round);
	return pending_send(pending, "barrier_leave", &request, ret_id);
}

static int send_ping(const struct pending *pending, uint32_t *ret_id)
{
	struct request request;
	struct pack *p = request_begin(&request, 1);

	pack_str(p, ((const struct barrier *)pending->arg)->name);
	return pending_send(pending, "check", &request, ret_id);
}

static const struct key answer_keys[] = {
	MESSAGE_KEY("state", barrier, state, KEY_SHOWN, KEY_REQUIRED),
	MESSAGE_KEY("round", barrier, round, KEY_UINT, KEY_REQUIRED),
};
static const struct keys answer_form = KEYS(answer_keys, barrier, SIZE_MAX);

static int take_answer(const struct pending *pending, struct reader result, int64_t sent_ms)
{
	(void)sent_ms;
	return keys_take(&result, &answer_form, pending->arg);
}

static int wait_for(struct barrier *b, int (*send)(const struct pending *, uint32_t *),
		    bool (*on_signal)(const struct pending *, int))
{
	b->pending = (struct pending){.z = b->c->z,
				      .signals = &b->signals,
				      .patience_ms = PENDING_PATIENCE_MS,
				      .for_ever = true,
				      .send = send,
				      .ping = send_ping,
				      .take = take_answer,
				      .on_signal = on_signal,
				      .arg = b};
	return pending_wait(&b->pending);
}

/* --- the command ---------------------------------------------------------- */

static pid_t child;

/*
 * Passes a signal on to the command. A signal may come while this process waits for a restarted
 * sidecar, and the command has to get it then as well.
 */
static bool pass_on(const struct pending *pending, int sig)
{
	(void)pending;
	if (sig == SIGCHLD)
		return false;
	if (sig != SIGCONT && sig != SIGTSTP)
		kill(child, sig);
	return true;
}

/*
 * Whether the connection still exists. No request is outstanding on it, so nothing can be received.
 */
static bool is_connected(const struct barrier *b)
{
	struct message m;

	return zkleader_fd(b->c->z) >= 0 &&
	       handle_receive(b->c->z, HANDLE_ANSWER_MAX, HANDLE_AT_ONCE, &m) == -ETIMEDOUT;
}

/*
 * Runs the command and returns its status. If the sidecar restarts meanwhile, the new one takes the
 * member over. If it cannot, the member counts as having left.
 */
static int run_command(struct barrier *b)
{
	int status;

	fflush(b->c->output.out);
	child = child_start(&b->signals, b->argv);
	if (child < 0) {
		output_error(&b->c->output, "the command cannot be started: %s", strerror(-child));
		return JOB_CANNOT_START;
	}
	b->inside = b->round > 0; /* round 0: all others have left already */
	while ((status = child_look(&b->signals, child)) < 0) {
		if (b->inside && !is_connected(b)) {
			int e = wait_for(b, send_enter, pass_on);
			b->inside = e == 0 || e == -EINTR;
			continue;
		}
		struct pollfd fds[] = {
			{.fd = b->signals.fd, .events = POLLIN},
			{.fd = b->inside ? zkleader_fd(b->c->z) : -1, .events = POLLIN},
		};
		poll(fds, 2, -1);
	}
	return status;
}

/* --- entering and leaving ------------------------------------------------- */

static void tell(const struct barrier *b, bool opened, int status)
{
	if (!b->c->output.json)
		return;
	json_auto_t *result =
		json_pack("{s:b, s:o, s:o}", "opened", opened, "round",
			  opened && b->round > 0 ? json_integer((json_int_t)b->round) : json_null(),
			  "exit_status", status >= 0 ? json_integer(status) : json_null());
	output_json(&b->c->output, result);
}

/*
 * Waits until the other members have left as well, and returns the exit code. status: of the
 * command.
 */
static int leave(struct barrier *b, int status)
{
	uint64_t round = b->round;
	int e = wait_for(b, send_leave, NULL);

	b->round = round;
	tell(b, true, status);
	if (e == 0)
		return status;
	output_error(&b->c->output,
		     "%s: the command has ended with %d, but not told whether the "
		     "others have",
		     b->name, status);
	e = context_failed(b->c, e);
	return status != 0 ? status : e;
}

static int run(struct context *c)
{
	struct barrier b = {.c = c};
	char text[OPTIONS_WHY_SIZE];
	const char *why = parse(&b, text);
	int e;

	if (why) {
		output_error(&c->output, "%s", why);
		return ZKLEADER_MISUSE;
	}
	e = zkleader_open(c->socket, &c->z);
	if (e == 0)
		e = signals_block(&b.signals);
	if (e == 0)
		e = wait_for(&b, send_enter, NULL);
	if (e != 0)
		return context_failed(c, e);
	if (strcmp(b.state, "opened") != 0) {
		tell(&b, false, -1);
		output_error(&c->output, "%s did not open in time", b.name);
		return ZKLEADER_NOT_LEADER;
	}
	if (b.argv)
		return leave(&b, run_command(&b));
	tell(&b, true, -1);
	return ZKLEADER_OK;
}

const struct command command_barrier = {
	.name = "barrier",
	.args = "NAME --count N [-- CMD [ARG...]]",
	.help = "wait until N are there at one moment",
	.more = "Several may be of one node. With CMD each runs it once all are there, and ends\n"
		"once all have finished it; who dies meanwhile counts as having finished.\n"
		"A lost session ends no CMD. A barrier can be used again at once.\n"
		"Only root, the sidecar's own user, its socket-group and recipe-users may.\n",
	.exits = "0 opened, or CMD's, 1 not in that time, 2 no session, or not known whether\n"
		 "      it opened, 3 misuse, or another count in this round",
	.min_args = 1,
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};
