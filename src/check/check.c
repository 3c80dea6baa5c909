#include "check/check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "api/claim.h"
#include "base/clock.h"
#include "base/text/name.h"
#include "base/text/printable.h"

#define ID_ONCE 256
#define ID_TICK 257
#define ID_ANY	258

static const struct option_spec specs[] = {
	{'s', "socket", "SOCKET",
	 "the sidecar's socket ($ZKLEADER_SOCKET, or\n" ZKLEADER_SOCKET_DEFAULT ")"},
	{'t', "timeout", "TIMEOUT", "how long to wait for an answer, all in all (5s)"},
	{'w', "wait", "WAIT", "how long to wait while nobody leads (1s)"},
	{ID_ONCE, "once", NULL, "claim this tick for the caller: one in the fleet\ngets it"},
	{ID_TICK, "tick", "D",
	 "what the clock is rounded down to for that (as the\ntask's file says)"},
	{'p', "partition", "K", "the partition K of TASK; TASK:K says the same"},
	{ID_ANY, "any", NULL, "whether it leads any of the partitions of TASK"},
	{'q', "quiet", NULL, "say nothing when it cannot tell"},
	{'v', "verbose", NULL, "say who leads, with which token and lease"},
	{'h', "help", NULL, "show this"},
	{'V', "version", NULL, "show the version"},
	{0, NULL, NULL, NULL},
};

static const struct option_program program = {
	.name = "zkleader-check",
	.usage = "[-s SOCKET] [-t TIMEOUT] [-w WAIT] [--once [--tick D]]\n"
		 "                      [-q] [-v] TASK | TASK:K | --partition K TASK | --any TASK",
	.about = "Tells by its exit code whether this node leads TASK, or a partition of it.\n",
	.specs = specs,
	.rest = "exit: 0 this node leads (--once: and the tick is claimed for the caller),\n"
		"      1 another does (--once: or the tick is claimed already), 2 cannot tell,\n"
		"      3 misuse, 4 nobody may lead it now\n"
		"example: zkleader-check nightly-report && run-report\n",
};

static int take_task(struct check_options *o, const char *text, char why[OPTIONS_WHY_SIZE])
{
	char shown[100];

	printable(shown, sizeof(shown), text, strlen(text));
	if (o->task) {
		snprintf(why, OPTIONS_WHY_SIZE, "one task at a time, but there is also \"%s\"",
			 shown);
		return -EINVAL;
	}
	if (!name_is_election(text, strlen(text))) {
		snprintf(why, OPTIONS_WHY_SIZE, "\"%s\" is not the name of a task", shown);
		return -EINVAL;
	}
	o->task = text;
	return 0;
}

static int take_partition(struct check_options *o, const char *text, char why[OPTIONS_WHY_SIZE])
{
	char name[NAME_ELECTION_MAX];
	int len = snprintf(name, sizeof(name), "x:%s", text);

	if (len >= (int)sizeof(name) || !name_partition_parse(name, (size_t)len, NULL, NULL)) {
		snprintf(why, OPTIONS_WHY_SIZE, "a partition is a number from 0 to %d",
			 NAME_PARTITIONS_MAX - 1);
		return -EINVAL;
	}
	o->partition = text;
	return 0;
}

static int take_option(struct check_options *o, int id, const char *value, bool *timeout_given,
		       char why[OPTIONS_WHY_SIZE])
{
	switch (id) {
	case 's':
		if (value[0] == '\0') {
			snprintf(why, OPTIONS_WHY_SIZE, "the socket's path is empty");
			return -EINVAL;
		}
		o->socket = value;
		return 0;
	case 't':
		*timeout_given = true;
		return options_duration("timeout", value, ZKLEADER_TIMEOUT_MAX_MS, &o->timeout_ms,
					why);
	case 'w': return options_duration("wait", value, ZKLEADER_WAIT_MAX_MS, &o->wait_ms, why);
	case 'q': o->quiet = true; return 0;
	case 'v': o->verbose = true; return 0;
	case 'h': o->action = CHECK_HELP; return 0;
	case 'V': o->action = CHECK_VERSION; return 0;
	case 'p': return take_partition(o, value, why);
	case ID_ANY: o->any = true; return 0;
	case ID_ONCE: o->once = true; return 0;
	case ID_TICK: return claim_tick_parse(value, &o->tick_ms, why);
	case OPTION_OPERAND: return take_task(o, value, why);
	default: return -EINVAL;
	}
}

/* Refuses options that exclude each other. Makes the name TASK:K if a partition was given. */
static int check_partition(struct check_options *o, char why[OPTIONS_WHY_SIZE])
{
	bool is_partition = name_partition_parse(o->task, strlen(o->task), NULL, NULL);

	if (o->any && (o->partition || is_partition))
		snprintf(why, OPTIONS_WHY_SIZE, "--any is about all partitions, not about one");
	else if (o->any && o->once)
		snprintf(why, OPTIONS_WHY_SIZE, "--once is about one partition, not about --any");
	else if (o->partition && is_partition)
		snprintf(why, OPTIONS_WHY_SIZE, "the partition is there twice: in \"%s\" as well",
			 o->task);
	else if (o->partition)
		snprintf(o->name, sizeof(o->name), "%s:%s", o->task, o->partition);
	return why[0] ? -EINVAL : 0;
}

int check_parse(const char *const *argv, struct check_options *ret_options,
		char why[OPTIONS_WHY_SIZE])
{
	struct check_options o = {.timeout_ms = CHECK_TIMEOUT_MS, .wait_ms = CHECK_WAIT_MS};
	bool timeout_given = false;
	struct options options;
	const char *value;
	int id, e;

	why[0] = '\0';
	options_init(&options, argv, specs, NULL);
	while ((id = options_next(&options, &value)) != OPTION_END) {
		if (id == OPTION_BAD) {
			printable(why, OPTIONS_WHY_SIZE, options.why, strlen(options.why));
			return -EINVAL;
		}
		e = take_option(&o, id, value, &timeout_given, why);
		if (e < 0)
			return -EINVAL;
		if (o.action != CHECK_ASK)
			break;
	}
	if (o.action == CHECK_ASK && !o.task) {
		snprintf(why, OPTIONS_WHY_SIZE, "which task? zkleader-check -h shows the usage");
		return -EINVAL;
	}
	if (o.action == CHECK_ASK && check_partition(&o, why) < 0)
		return -EINVAL;
	if (o.action == CHECK_ASK && o.tick_ms > 0 && !o.once) {
		snprintf(why, OPTIONS_WHY_SIZE, "--tick is for --once");
		return -EINVAL;
	}
	/*
	 * The default timeout grows with --wait: the connection must not time out before the wait
	 * does.
	 */
	if (!timeout_given && o.wait_ms + CHECK_TIMEOUT_MS > o.timeout_ms &&
	    o.wait_ms > CHECK_TIMEOUT_MS)
		o.timeout_ms = o.wait_ms + CHECK_TIMEOUT_MS;
	*ret_options = o;
	if (o.name[0])
		ret_options->task = ret_options->name;
	return 0;
}

/* The exit code for an answer. */
static enum zkleader_code code_of(const struct zkleader_answer *a)
{
	if (a->leader)
		return ZKLEADER_OK;
	if (strcmp(a->state, "paused") == 0)
		return ZKLEADER_NOBODY;
	/* This comes before led_by, which may be out of date without a confirmed session. */
	if (strcmp(a->state, "disconnected") == 0)
		return ZKLEADER_CANNOT_TELL;
	if (a->led)
		return ZKLEADER_NOT_LEADER;
	return strcmp(a->state, "drained") == 0 ? ZKLEADER_NOBODY : ZKLEADER_CANNOT_TELL;
}

/* Prints the line of -v. */
static void say_who(FILE *out, const char *name, bool any, const struct zkleader_answer *a)
{
	char task[NAME_ELECTION_MAX + sizeof("partitions of ")];

	snprintf(task, sizeof(task), "%s%s", any ? "partitions of " : "", name);
	if (a->leader)
		fprintf(out, "this node leads %s, token %" PRIu64 ", lease %" PRId64 "ms\n", task,
			a->token, a->lease_ms);
	else if (a->led && (a->led_by_node[0] != '\0' || a->led_by_hostname[0] != '\0'))
		fprintf(out, "%s (%s, version %s) leads %s, token %" PRIu64 "; this node is %s\n",
			a->led_by_node[0] != '\0' ? a->led_by_node : a->led_by_hostname,
			a->led_by_ip, a->led_by_version, task, a->token, a->state);
	else if (a->led)
		fprintf(out, "%s leads %s, token %" PRIu64 "; this node is %s\n",
			a->led_by_id[0] != '\0' ? a->led_by_id : "another node", task, a->token,
			a->state);
	else if (strcmp(a->state, "disconnected") == 0)
		fprintf(out, "who leads %s is not known here; this node is disconnected\n", task);
	else
		fprintf(out, "nobody leads %s; this node is %s\n", task, a->state);
}

static void cannot_tell(const struct check_options *o, FILE *err, const char *why)
{
	if (!o->quiet)
		fprintf(err, "zkleader-check: cannot tell: %s\n",
			why[0] != '\0' ? why : "nobody leads it");
}

/* Asks whether this node leads. 0 and the exit code, or what zkleader_check() failed with. */
static int lead(struct zkleader *z, const struct check_options *o, int64_t wait_ms, FILE *out,
		FILE *err, int *ret_code)
{
	struct zkleader_answer a = {.size = sizeof(a)};
	int r = o->any ? zkleader_check_any(z, o->task, wait_ms, o->timeout_ms, &a)
		       : zkleader_check(z, o->task, wait_ms, o->timeout_ms, &a);

	if (r != 0)
		return r;
	*ret_code = (int)code_of(&a);
	if (o->verbose)
		say_who(out, o->task, o->any, &a);
	if (*ret_code == ZKLEADER_CANNOT_TELL)
		cannot_tell(o, err, a.why);
	return 0;
}

static void say_outcome(FILE *out, const char *task, const struct zkleader_tick *t)
{
	int64_t left = t->valid_until - clock_boot_ms();

	switch (t->outcome) {
	case ZKLEADER_YOURS:
		fprintf(out,
			"tick %s of %s is claimed for the caller, token %" PRIu64 ", lease %" PRId64
			"ms\n",
			t->tick, task, t->token, left > 0 ? left : 0);
		break;
	case ZKLEADER_TAKEN:
		fprintf(out, "tick %s of %s is claimed already\n", t->tick, task);
		break;
	case ZKLEADER_WAITED:
		fprintf(out, "tick %s of %s is not claimed here: this node does not lead it\n",
			t->tick, task);
		break;
	case ZKLEADER_PAUSED: fprintf(out, "nobody may lead %s now\n", task); break;
	}
}

static enum zkleader_code once_code_of(const struct zkleader_tick *t)
{
	switch (t->outcome) {
	case ZKLEADER_YOURS: return ZKLEADER_OK;
	case ZKLEADER_TAKEN: return ZKLEADER_NOT_LEADER;
	case ZKLEADER_WAITED: return t->why[0] == '\0' ? ZKLEADER_NOT_LEADER : ZKLEADER_CANNOT_TELL;
	case ZKLEADER_PAUSED: return ZKLEADER_NOBODY;
	}
	return ZKLEADER_CANNOT_TELL;
}

/* Claims the tick for --once. Returns as lead() does. */
static int once(struct zkleader *z, const struct check_options *o, FILE *out, FILE *err,
		int *ret_code)
{
	struct zkleader_tick t = {.size = sizeof(t)};
	int r = zkleader_claim(z, o->task, o->tick_ms, o->wait_ms, o->timeout_ms, &t);

	if (r != 0)
		return r;
	*ret_code = (int)once_code_of(&t);
	if (o->verbose)
		say_outcome(out, o->task, &t);
	if (*ret_code == ZKLEADER_CANNOT_TELL)
		cannot_tell(o, err, t.why);
	/* The lease of the claim may have run out during a long wait, so a new one is asked for. */
	if (*ret_code == ZKLEADER_OK && clock_boot_ms() >= t.valid_until)
		return lead(z, o, 0, out, err, ret_code);
	return 0;
}

static int ask(const struct check_options *o, FILE *out, FILE *err)
{
	struct zkleader *z;
	int code = ZKLEADER_CANNOT_TELL;
	int r = zkleader_open(o->socket, &z);

	if (r < 0) {
		fprintf(err, "zkleader-check: the path of the socket is too long\n");
		return ZKLEADER_MISUSE;
	}
	r = o->once ? once(z, o, out, err, &code) : lead(z, o, o->wait_ms, out, err, &code);
	if (r == ZKLEADER_MISUSE || r == -EACCES || r == -EPERM) {
		fprintf(err, "zkleader-check: %s\n", zkleader_message(z));
		code = ZKLEADER_MISUSE;
	} else if (r == ZKLEADER_NOBODY) {
		code = r;
	} else if (r != 0) {
		cannot_tell(o, err, zkleader_message(z));
	}
	zkleader_close(z);
	return code;
}

int check_run(const char *const *argv, FILE *out, FILE *err)
{
	char why[OPTIONS_WHY_SIZE];
	struct check_options o;

	if (check_parse(argv, &o, why) < 0) {
		fprintf(err, "zkleader-check: %s\n", why);
		return ZKLEADER_MISUSE;
	}
	switch (o.action) {
	case CHECK_HELP: options_help(out, &program); return 0;
	case CHECK_VERSION: fputs("zkleader-check " ZKLEADER_VERSION "\n", out); return 0;
	case CHECK_ASK: break;
	}
	return ask(&o, out, err);
}
