/* zkleader lock: runs a command while this node holds a lock of the whole fleet. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "base/clock.h"
#include "base/text/duration.h"
#include "base/text/name.h"
#include "base/text/printable.h"
#include "cli/ui/ask.h"
#include "supervise/leased_job.h"
#include "supervise/pending.h"
#include "wire/keys.h"
#include "wire/pack.h"
#include "wire/records/recipe_record.h"

enum { OPTION_SLOTS, OPTION_WAIT, OPTION_KILL_AFTER };

static const struct option_spec options[] = {
	{300, "slots", "K", "so many may hold it at a time (1); the same for all"},
	{301, "wait", "D", "for how long at most, 0s: not at all (for ever)"},
	{302, "kill-after", "D", "from TERM to KILL (a fifth of the lease, up to 5s)"},
	{0, NULL, NULL, NULL},
};

static const struct job_kind of_locks = {.renew = "lock_renew",
					 .finish = "lock_finish",
					 .attach = "lock_attach",
					 .lease = "the lock"};

enum outcome { OUTCOME_YOURS, OUTCOME_WAITED, OUTCOME_SLOTS };

struct lock {
	struct context *c;
	const char *name;
	char command[LOCK_COMMAND_MAX + 1]; /* the beginning of the command, which `locks` shows */
	int64_t slots, wait_ms, kill_after_ms;
	int64_t began_ms; /* CLOCK_BOOTTIME */
	struct signals signals;
	/* from the sidecar's answer */
	enum outcome outcome;
	uint64_t number, token, other_slots;
};

/* --- the command line ----------------------------------------------------- */

static int parse_slots(const char *text, int64_t *ret_slots, char why[OPTIONS_WHY_SIZE])
{
	*ret_slots = options_number(text, LOCK_SLOTS_MAX);
	if (*ret_slots < 1) {
		snprintf(why, OPTIONS_WHY_SIZE, "--slots is a number from 1 to %" PRId64,
			 LOCK_SLOTS_MAX);
		return -EINVAL;
	}
	return 0;
}

static int parse_options(struct lock *l, char why[OPTIONS_WHY_SIZE])
{
	const char *const *values = l->c->values;
	int e = 0;

	if (values[OPTION_SLOTS])
		e = parse_slots(values[OPTION_SLOTS], &l->slots, why);
	if (e == 0 && values[OPTION_WAIT])
		e = options_duration("wait", values[OPTION_WAIT], DURATION_MAX_MS, &l->wait_ms,
				     why);
	if (e == 0 && values[OPTION_KILL_AFTER])
		e = options_duration("kill-after", values[OPTION_KILL_AFTER],
				     LEASED_JOB_KILL_AFTER_MAX_MS, &l->kill_after_ms, why);
	return e;
}

/* Copies the words of the command, as far as they fit and without control characters. */
static void say_command(struct lock *l)
{
	char words[4 * LOCK_COMMAND_MAX] = "";
	size_t len = 0;

	for (const char *const *arg = l->c->args + 1; *arg && len < sizeof(words) - 1; arg++)
		len += (size_t)snprintf(words + len, sizeof(words) - len, "%s%s", len ? " " : "",
					*arg);
	printable(l->command, sizeof(l->command), words, strlen(words));
}

static int parse(struct lock *l)
{
	const struct context *c = l->c;
	char why[OPTIONS_WHY_SIZE];

	if (c->n_before != 1) {
		output_error(&c->output, "where does the command begin? "
					 "zkleader lock [OPTIONS] NAME -- CMD [ARG...]");
		return -EINVAL;
	}
	l->name = c->args[0];
	if (!name_is_task(l->name, strlen(l->name))) {
		output_error(&c->output, "\"%s\" is not the name of a lock", l->name);
		return -EINVAL;
	}
	if (parse_options(l, why) < 0) {
		output_error(&c->output, "%s", why);
		return -EINVAL;
	}
	say_command(l);
	return 0;
}

/* --- waiting for it ------------------------------------------------------- */

static int64_t wait_left(const struct lock *l)
{
	int64_t left = l->began_ms + l->wait_ms - clock_boot_ms();

	return l->wait_ms < 0 ? -1 : left > 0 ? left : 0;
}

static int send_lock(const struct pending *pending, uint32_t *ret_id)
{
	const struct lock *l = pending->arg;
	struct request request;
	struct pack *p = request_begin(&request, 2);

	pack_str(p, l->name);
	pack_map(p, 5);
	pack_kv_str(p, "id", pending->id);
	pack_kv_bool(p, "again", pending->sent);
	pack_kv_int(p, "slots", l->slots);
	pack_kv_int(p, "wait_ms", wait_left(l));
	pack_kv_str(p, "command", l->command);
	return pending_send(pending, "lock", &request, ret_id);
}

static int read_outcome(struct reader *r, void *to)
{
	static const char *const outcomes[] = {
		[OUTCOME_YOURS] = "yours", [OUTCOME_WAITED] = "waited", [OUTCOME_SLOTS] = "slots"};
	struct reader_text text;

	if (reader_str(r, &text) != 0)
		return -EBADMSG;
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		if (reader_text_is(text, outcomes[i])) {
			*(enum outcome *)to = (enum outcome)i;
			return 0;
		}
	}
	return -EBADMSG;
}

static const struct key answer_keys[] = {
	MESSAGE_KEY("outcome", lock, outcome, KEY_CUSTOM, KEY_REQUIRED, .parse = read_outcome),
	MESSAGE_KEY("number", lock, number, KEY_UINT, KEY_OPTIONAL),
	MESSAGE_KEY("token", lock, token, KEY_UINT, KEY_OPTIONAL),
	MESSAGE_KEY("slots", lock, other_slots, KEY_UINT, KEY_OPTIONAL),
};
static const struct keys answer_form = KEYS(answer_keys, lock, SIZE_MAX);

static int take_answer(const struct pending *pending, struct reader result, int64_t sent_ms)
{
	(void)sent_ms;
	return keys_take(&result, &answer_form, pending->arg);
}

/* --- holding it ----------------------------------------------------------- */

static void set_environment(const struct lock *l)
{
	char token[24];

	snprintf(token, sizeof(token), "%" PRIu64, l->token);
	setenv("ZKLEADER_LOCK", l->name, 1);
	setenv("ZKLEADER_TOKEN", token, 1);
}

/* Prints with --json whether the command begins, before its output. slots: in use; 0: not known. */
static void tell(const struct lock *l, bool started, uint64_t slots)
{
	if (!l->c->output.json)
		return;
	json_auto_t *result =
		json_pack("{s:b, s:o, s:o}", "started", started, "token",
			  started ? json_integer((json_int_t)l->token) : json_null(), "slots",
			  slots > 0 ? json_integer((json_int_t)slots) : json_null());
	output_json(&l->c->output, result);
	fflush(l->c->output.out);
}

static int hold(struct lock *l, const struct pending *p)
{
	struct leased_job leased = {.c = l->c,
				    .kind = &of_locks,
				    .name = l->name,
				    .id = p->id,
				    .number = l->number,
				    .argv = l->c->args + 1,
				    .signals = &l->signals,
				    .kill_after_ms = l->kill_after_ms};
	int code;

	set_environment(l);
	tell(l, true, (uint64_t)l->slots);
	code = leased_job_run(&leased);
	if (leased.unrecorded)
		output_error(&l->c->output,
			     "the sidecar did not say that the lock %s is free: it will be when "
			     "its session is over, at the latest",
			     l->name);
	return code;
}

static int not_ours(const struct lock *l)
{
	const struct output *o = &l->c->output;
	char waited[DURATION_TEXT_SIZE];

	tell(l, false, l->other_slots);
	if (l->outcome == OUTCOME_SLOTS) {
		output_error(o, "others use the lock %s with --slots %" PRIu64, l->name,
			     l->other_slots);
		return ZKLEADER_MISUSE;
	}
	duration_format(l->wait_ms, waited);
	output_error(o, "the lock %s was not free within %s", l->name, waited);
	return ZKLEADER_NOT_LEADER;
}

static int run(struct context *c)
{
	struct lock l = {.c = c,
			 .slots = 1,
			 .wait_ms = -1,
			 .kill_after_ms = LEASED_JOB_BY_LEASE,
			 .began_ms = clock_boot_ms()};
	struct pending p = {.patience_ms = PENDING_PATIENCE_MS,
			    .for_ever = true,
			    .send = send_lock,
			    .ping = pending_ask_at_once,
			    .take = take_answer,
			    .arg = &l};
	int e;

	if (parse(&l) < 0)
		return ZKLEADER_MISUSE;
	e = zkleader_open(c->socket, &c->z);
	if (e < 0)
		return context_failed(c, e);
	if (leased_job_check_kill_after(c, l.kill_after_ms) < 0)
		return ZKLEADER_MISUSE;
	e = signals_block(&l.signals);
	p.z = c->z;
	p.signals = &l.signals;
	if (e == 0)
		e = pending_wait(&p);
	if (e != 0)
		return context_failed(c, e);
	return l.outcome == OUTCOME_YOURS ? hold(&l, &p) : not_ours(&l);
}

const struct command command_lock = {
	.name = "lock",
	.args = "NAME -- CMD...",
	.help = "run CMD while this node holds a lock of the fleet",
	.more = "One of K slots, first come first served. CMD gets TERM in time, and KILL, for it\n"
		"to be dead before another can hold the slot. It finds the name in ZKLEADER_LOCK\n"
		"and in ZKLEADER_TOKEN a number that grows from holder to holder where K is 1.\n"
		"The beginning of CMD is shown to others by `zkleader locks`: do not put secrets\n"
		"there. Only root, the sidecar's own user, its socket-group and recipe-users "
		"may.\n",
	.exits = "CMD's own status (128+N for signal N, 126 and 127 as a shell), 1 not got\n"
		 "      in --wait, 2 no session or the lock was lost, 3 another K, or misuse",
	.min_args = 2,
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};
