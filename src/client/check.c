#include "client/check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "base/name.h"
#include "client/printable.h"

#define ID_ONCE 256
#define ID_TICK 257

static const struct option_spec specs[] = {
	{'s', "socket", "SOCKET", "the sidecar's socket"},
	{'t', "timeout", "TIMEOUT", "how long to wait for an answer, all in all (5s)"},
	{'w', "wait", "WAIT", "how long to wait while nobody leads (1s)"},
	{'q', "quiet", NULL, "say nothing when it cannot tell"},
	{'v', "verbose", NULL, "say who leads"},
	{ID_ONCE, "once", NULL, NULL},
	{ID_TICK, "tick", "D", NULL},
	{'h', "help", NULL, "show this"},
	{'V', "version", NULL, "show the version"},
	{0, NULL, NULL, NULL},
};

static const char help[] =
	"usage: zkleader-check [-s SOCKET] [-t TIMEOUT] [-w WAIT] [-q] [-v] TASK\n"
	"Tells by its exit code whether this node leads TASK.\n"
	"\n"
	"  -s, --socket SOCKET    the sidecar's socket ($ZKLEADER_SOCKET, or\n"
	"                         " ZKLEADER_SOCKET_DEFAULT ")\n"
	"  -t, --timeout TIMEOUT  how long to wait for an answer, all in all (5s)\n"
	"  -w, --wait WAIT        how long to wait while nobody leads (1s)\n"
	"  -q, --quiet            say nothing when it cannot tell\n"
	"  -v, --verbose          say who leads, with which token and lease\n"
	"  -h, --help             show this\n"
	"  -V, --version          show the version\n"
	"\n"
	"exit: 0 this node leads, 1 another does, 2 cannot tell, 3 misuse,\n"
	"      4 nobody may lead it now\n"
	"example: zkleader-check nightly-report && run-report\n";

static int parse_duration(const char *name, const char *text, int64_t max_ms, int64_t *ret_ms,
			  char why[OPTIONS_WHY_SIZE])
{
	char shown[40], most[DURATION_TEXT_SIZE];
	int64_t ms = 0;
	int e = duration_parse(text, &ms);

	printable(shown, sizeof(shown), text, strlen(text));
	if (e == -ERANGE || (e == 0 && ms > max_ms)) {
		duration_format(max_ms, most);
		snprintf(why, OPTIONS_WHY_SIZE, "%s %s is longer than %s", name, shown, most);
		return -EINVAL;
	}
	if (e < 0) {
		snprintf(why, OPTIONS_WHY_SIZE, "%s \"%s\" is no duration such as 500ms, 10s or 5m",
			 name, shown);
		return e;
	}
	*ret_ms = ms;
	return 0;
}

static int take_task(struct check_options *o, const char *text, char why[OPTIONS_WHY_SIZE])
{
	char shown[100];

	printable(shown, sizeof(shown), text, strlen(text));
	if (o->task) {
		snprintf(why, OPTIONS_WHY_SIZE, "one task at a time, but there is also \"%s\"",
			 shown);
		return -EINVAL;
	}
	if (!name_is_task(text, strlen(text))) {
		snprintf(why, OPTIONS_WHY_SIZE, "\"%s\" is not the name of a task", shown);
		return -EINVAL;
	}
	o->task = text;
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
		return parse_duration("timeout", value, ZKLEADER_TIMEOUT_MAX_MS, &o->timeout_ms,
				      why);
	case 'w': return parse_duration("wait", value, ZKLEADER_WAIT_MAX_MS, &o->wait_ms, why);
	case 'q': o->quiet = true; return 0;
	case 'v': o->verbose = true; return 0;
	case 'h': o->action = CHECK_HELP; return 0;
	case 'V': o->action = CHECK_VERSION; return 0;
	case ID_ONCE:
	case ID_TICK:
		snprintf(why, OPTIONS_WHY_SIZE, "--%s is not available in this version",
			 id == ID_ONCE ? "once" : "tick");
		return -EINVAL;
	case OPTION_OPERAND: return take_task(o, value, why);
	default: return -EINVAL;
	}
}

int check_parse(const char *const *argv, struct check_options *ret_options,
		char why[OPTIONS_WHY_SIZE])
{
	struct check_options o = {.timeout_ms = CHECK_TIMEOUT_MS, .wait_ms = CHECK_WAIT_MS};
	bool timeout_given = false;
	struct options options;
	const char *value;
	int id, e;

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
	/* An answer that is to be waited for must have the time to come. */
	if (!timeout_given && o.wait_ms + CHECK_TIMEOUT_MS > o.timeout_ms &&
	    o.wait_ms > CHECK_TIMEOUT_MS)
		o.timeout_ms = o.wait_ms + CHECK_TIMEOUT_MS;
	*ret_options = o;
	return 0;
}

enum zkleader_code check_code(const struct zkleader_answer *a)
{
	if (a->leader)
		return ZKLEADER_OK;
	if (strcmp(a->state, "paused") == 0)
		return ZKLEADER_NOBODY;
	/* Before led_by: what a sidecar without a confirmed session knows may no longer be so. */
	if (strcmp(a->state, "disconnected") == 0)
		return ZKLEADER_CANNOT_TELL;
	if (a->led)
		return ZKLEADER_NOT_LEADER;
	return strcmp(a->state, "drained") == 0 ? ZKLEADER_NOBODY : ZKLEADER_CANNOT_TELL;
}

/* The line of -v. */
static void say_who(FILE *out, const char *task, const struct zkleader_answer *a)
{
	if (a->leader)
		fprintf(out, "this node leads %s, token %" PRIu64 ", lease %" PRId64 "ms\n", task,
			a->token, a->lease_ms);
	else if (a->led && a->led_by_hostname[0] != '\0')
		fprintf(out, "%s (%s, version %s) leads %s, token %" PRIu64 "; this node is %s\n",
			a->led_by_hostname, a->led_by_ip, a->led_by_version, task, a->token,
			a->state);
	else if (a->led)
		fprintf(out, "%s leads %s, token %" PRIu64 "; this node is %s\n", a->led_by_id,
			task, a->token, a->state);
	else
		fprintf(out, "nobody leads %s; this node is %s\n", task, a->state);
}

static int ask(const struct check_options *o, FILE *out, FILE *err)
{
	struct zkleader_answer a;
	struct zkleader *z;
	int r = zkleader_open(o->socket, &z);

	if (r < 0) {
		fprintf(err, "zkleader-check: the path of the socket is too long\n");
		return ZKLEADER_MISUSE;
	}
	r = zkleader_check(z, o->task, o->wait_ms, o->timeout_ms, &a);
	if (r == 0) {
		r = (int)check_code(&a);
		if (o->verbose)
			say_who(out, o->task, &a);
		if (r == ZKLEADER_CANNOT_TELL && !o->quiet)
			fprintf(err, "zkleader-check: cannot tell: %s\n",
				a.why[0] != '\0' ? a.why : "nobody leads it");
	} else if (r == ZKLEADER_MISUSE || r == -EACCES || r == -EPERM) {
		fprintf(err, "zkleader-check: %s\n", zkleader_message(z));
		r = ZKLEADER_MISUSE;
	} else if (r != ZKLEADER_NOBODY) {
		if (!o->quiet)
			fprintf(err, "zkleader-check: cannot tell: %s\n", zkleader_message(z));
		r = ZKLEADER_CANNOT_TELL;
	}
	zkleader_close(z);
	return r;
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
	case CHECK_HELP: fputs(help, out); return 0;
	case CHECK_VERSION: fputs("zkleader-check " ZKLEADER_VERSION "\n", out); return 0;
	case CHECK_ASK: break;
	}
	return ask(&o, out, err);
}
