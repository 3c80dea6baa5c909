/* zkleader join: runs a command as a member of a gang, once all of its members are there. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/call.h"
#include "base/clock.h"
#include "base/text/duration.h"
#include "base/text/name.h"
#include "cli/ui/ask.h"
#include "supervise/leased_job.h"
#include "supervise/pending.h"
#include "wire/keys.h"
#include "wire/pack.h"

#define COUNT_MAX  256
#define ID_LEN	   16
#define STATE_SIZE 16
#define ANSWER_MAX (256 * 1024) /* bytes, including the addresses of all members */
#define PEER_SIZE  (NAME_IP_MAX + NAME_HOST_MAX + 8)

enum { OPTION_COUNT, OPTION_AS, OPTION_ON_LOSS, OPTION_TIMEOUT, OPTION_KILL_AFTER };

static const struct option_spec options[] = {
	{'n', "count", "N", "how many members; needed, the same for all"},
	{301, "as", "KEY", "which member this is (the node's name)"},
	{302, "on-loss", "stop|continue", "when a member is lost (stop)"},
	{303, "timeout", "D", "wait no longer than D for the others (for ever)"},
	{304, "kill-after", "D", "from TERM to KILL (a fifth of the lease, up to 5s)"},
	{0, NULL, NULL, NULL},
};

static const struct job_kind of_gangs = {.renew = "join_renew",
					 .finish = "join_finish",
					 .attach = "join_attach",
					 .lease = "a member of the gang"};

struct join {
	struct context *c;
	const char *name, *key; /* key: of --as, NULL: none */
	int64_t count;
	bool goes_on;
	int64_t kill_after_ms;
	int64_t deadline_ms; /* CLOCK_BOOTTIME; INT64_MAX: none */
	struct signals signals;
	struct pending pending;
	char id[ID_LEN + 1];
	/* from the sidecar's answer */
	char state[STATE_SIZE], why[ZKLEADER_TEXT_SIZE];
	uint64_t number, index, of, instance;
	char *peers;	/* the lines of the file of the peers; owned */
	char path[300]; /* of the file of the peers; "": none */
};

/* --- the command line ----------------------------------------------------- */

static const char *parse_times(struct join *j, char why[OPTIONS_WHY_SIZE])
{
	const char *const *values = j->c->values;
	int64_t timeout_ms;

	j->kill_after_ms = LEASED_JOB_BY_LEASE;
	j->deadline_ms = INT64_MAX;
	if (values[OPTION_KILL_AFTER] &&
	    options_duration("kill-after", values[OPTION_KILL_AFTER], LEASED_JOB_KILL_AFTER_MAX_MS,
			     &j->kill_after_ms, why) < 0)
		return why;
	if (!values[OPTION_TIMEOUT])
		return NULL;
	if (options_duration("timeout", values[OPTION_TIMEOUT], DURATION_MAX_MS, &timeout_ms, why) <
	    0)
		return why;
	j->deadline_ms = clock_boot_ms() + timeout_ms;
	return NULL;
}

/* Parses the command line. Returns what is wrong with it, or NULL. */
static const char *parse(struct join *j, char why[OPTIONS_WHY_SIZE])
{
	const struct context *c = j->c;
	const char *count = c->values[OPTION_COUNT], *loss = c->values[OPTION_ON_LOSS];

	if (c->n_before != 1)
		return "where does the command begin? zkleader join NAME --count N -- CMD [ARG...]";
	j->name = c->args[0];
	if (!name_is_task(j->name, strlen(j->name)))
		return "that is no name: up to 100 letters, digits, dots, hyphens and "
		       "underscores, a letter or digit first";
	if (!count)
		return "--count N is needed: how many members has the gang?";
	j->count = options_number(count, COUNT_MAX);
	if (j->count < 1)
		return "--count is a number from 1 to 256";
	j->key = c->values[OPTION_AS];
	if (j->key && !name_is_task(j->key, strlen(j->key)))
		return "--as is no key: up to 100 letters, digits, dots, hyphens and "
		       "underscores, a letter or digit first";
	j->goes_on = loss && strcmp(loss, "continue") == 0;
	if (loss && !j->goes_on && strcmp(loss, "stop") != 0)
		return "--on-loss is stop or continue";
	return parse_times(j, why);
}

/* --- waiting for the others ----------------------------------------------- */

static int64_t timeout_left(const struct join *j)
{
	int64_t now = clock_boot_ms();

	if (j->deadline_ms == INT64_MAX)
		return -1;
	return j->deadline_ms > now ? j->deadline_ms - now : 0;
}

/* Each request has the same id, so that a restarted sidecar finds the member again. */
static int send_join(const struct pending *pending, uint32_t *ret_id)
{
	struct join *j = pending->arg;
	struct request request;
	size_t map;

	memcpy(j->id, pending->id, ID_LEN);
	struct pack *p = request_begin(&request, 2);
	pack_str(p, j->name);
	map = pack_open(p);
	pack_kv_str(p, "id", j->id);
	pack_kv_int(p, "count", j->count);
	pack_kv_int(p, "timeout_ms", timeout_left(j));
	pack_kv_bool(p, "goes_on", j->goes_on);
	if (j->key)
		pack_kv_str(p, "key", j->key);
	pack_close(p, map);
	return pending_send(pending, "join", &request, ret_id);
}

/* Reads the members, [ip, hostname] in the order of their index, as the lines of the file. */
static int read_peers(struct reader *r, void *to)
{
	char ip[NAME_IP_MAX + 1], host[NAME_HOST_MAX + 1], **peers = to;
	struct reader_text text;
	size_t n, two, len = 0;

	if (reader_array(r, &n) != 0 || n > COUNT_MAX)
		return -EBADMSG;
	free(*peers);
	*peers = calloc(n + 1, PEER_SIZE);
	if (!*peers)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (reader_array(r, &two) != 0 || two != 2 || reader_str(r, &text) != 0 ||
		    !name_is_ip(text.data, text.len) || reader_text_copy(text, ip, sizeof(ip)) != 0)
			return -EBADMSG;
		if (reader_str(r, &text) != 0 || !name_is_host(text.data, text.len) ||
		    reader_text_copy(text, host, sizeof(host)) != 0)
			return -EBADMSG;
		len += (size_t)snprintf(*peers + len, PEER_SIZE, "%zu %s %s\n", i, ip, host);
	}
	return 0;
}

static const struct key answer_keys[] = {
	MESSAGE_KEY("state", join, state, KEY_SHOWN, KEY_REQUIRED),
	MESSAGE_KEY("why", join, why, KEY_SHOWN, KEY_OPTIONAL, .nil = true),
	MESSAGE_KEY("number", join, number, KEY_UINT, KEY_OPTIONAL),
	MESSAGE_KEY("index", join, index, KEY_UINT, KEY_OPTIONAL),
	MESSAGE_KEY("count", join, of, KEY_UINT, KEY_OPTIONAL),
	MESSAGE_KEY("instance", join, instance, KEY_UINT, KEY_OPTIONAL),
	MESSAGE_KEY("peers", join, peers, KEY_CUSTOM, KEY_OPTIONAL, .parse = read_peers),
};
static const struct keys answer_form = KEYS(answer_keys, join, SIZE_MAX);

static int take_answer(const struct pending *pending, struct reader result, int64_t sent_ms)
{
	(void)sent_ms;
	return keys_take(&result, &answer_form, pending->arg);
}

/* --- running with them ---------------------------------------------------- */

/* Writes the file of the peers for the command; 0 or a negative errno. */
static int write_peers(struct join *j)
{
	const char *folder = getenv("TMPDIR"), *at = j->peers;
	size_t left = strlen(at);
	int fd, e = 0;

	if (snprintf(j->path, sizeof(j->path), "%s/zkleader-peers.XXXXXX",
		     folder && folder[0] == '/' ? folder : "/tmp") >= (int)sizeof(j->path))
		e = -ENAMETOOLONG;
	fd = e == 0 ? mkstemp(j->path) : -1;
	if (fd < 0) {
		j->path[0] = '\0';
		return e != 0 ? e : -errno;
	}
	while (left > 0 && e == 0) {
		ssize_t n = write(fd, at, left);
		if (n < 0 && errno != EINTR)
			e = -errno;
		at += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
	if (close(fd) != 0 && e == 0)
		e = -errno;
	return e;
}

static void set_environment(const struct join *j)
{
	char number[24];

	setenv("ZKLEADER_GANG", j->name, 1);
	snprintf(number, sizeof(number), "%" PRIu64, j->index);
	setenv("ZKLEADER_INDEX", number, 1);
	snprintf(number, sizeof(number), "%" PRIu64, j->of);
	setenv("ZKLEADER_COUNT", number, 1);
	setenv("ZKLEADER_PEERS", j->path, 1);
}

static void tell(const struct join *j, bool started)
{
	if (!j->c->output.json)
		return;
	json_auto_t *result =
		json_pack("{s:b, s:o, s:o, s:o}", "started", started, "index",
			  started ? json_integer((json_int_t)j->index) : json_null(), "count",
			  j->of > 0 ? json_integer((json_int_t)j->of) : json_null(), "instance",
			  started ? json_integer((json_int_t)j->instance) : json_null());
	output_json(&j->c->output, result);
	fflush(j->c->output.out);
}

static int run_command(struct join *j)
{
	struct leased_job leased = {.c = j->c,
				    .kind = &of_gangs,
				    .name = j->name,
				    .id = j->id,
				    .number = j->number,
				    .argv = j->c->args + 1,
				    .signals = &j->signals,
				    .kill_after_ms = j->kill_after_ms};
	int e = j->peers ? write_peers(j) : -EBADMSG, code;

	if (e != 0) {
		output_error(&j->c->output, "the file of the peers cannot be written: %s",
			     strerror(-e));
		code = ZKLEADER_CANNOT_TELL;
	} else {
		set_environment(j);
		tell(j, true);
		code = leased_job_run(&leased);
	}
	if (j->path[0])
		unlink(j->path);
	if (leased.unrecorded && code != ZKLEADER_CANNOT_TELL)
		output_error(&j->c->output,
			     "the sidecar did not say that %s has been left: it will be when its "
			     "session is over, at the latest",
			     j->name);
	return code;
}

static int not_started(const struct join *j)
{
	const struct output *o = &j->c->output;

	tell(j, false);
	if (strcmp(j->state, "timeout") == 0)
		output_error(o, "%s: not all of %" PRId64 " members came in time", j->name,
			     j->count);
	else if (strcmp(j->state, "count") == 0)
		output_error(o, "%s: the others wait with --count %" PRIu64, j->name, j->of);
	else
		output_error(o, "%s is in use: %s", j->name, j->why);
	return ZKLEADER_NOT_LEADER;
}

static int join(struct join *j)
{
	struct context *c = j->c;
	int e = zkleader_open(c->socket, &c->z);

	if (e < 0)
		return context_failed(c, e);
	if (leased_job_check_kill_after(c, j->kill_after_ms) < 0)
		return ZKLEADER_MISUSE;
	e = signals_block(&j->signals);
	j->pending = (struct pending){.z = c->z,
				      .signals = &j->signals,
				      .patience_ms = PENDING_PATIENCE_MS,
				      .for_ever = true,
				      .send = send_join,
				      .ping = pending_ask_at_once,
				      .take = take_answer,
				      .answer_max = ANSWER_MAX,
				      .arg = j};
	if (e == 0)
		e = pending_wait(&j->pending);
	if (e != 0)
		return context_failed(c, e);
	return strcmp(j->state, "started") == 0 ? run_command(j) : not_started(j);
}

static int run(struct context *c)
{
	struct join j = {.c = c};
	char text[OPTIONS_WHY_SIZE];
	const char *why = parse(&j, text);
	int code;

	if (why) {
		output_error(&c->output, "%s", why);
		return ZKLEADER_MISUSE;
	}
	code = join(&j);
	free(j.peers);
	return code;
}

const struct command command_join = {
	.name = "join",
	.args = "NAME --count N -- CMD...",
	.help = "run CMD as one of N, numbered, at the same time",
	.more = "A gang: once N members are there, each runs CMD with ZKLEADER_INDEX from 0 on,\n"
		"ZKLEADER_COUNT, and in ZKLEADER_PEERS a file with a line INDEX IP HOSTNAME for\n"
		"each. When a member is lost, the others' CMDs get TERM; with --on-loss continue\n"
		"they go on, and the lost KEY may come back. Where all were lost they come back\n"
		"by their KEYs, with their numbers. All give the same --count and --on-loss.\n"
		"Only root, the sidecar's own user, its socket-group and recipe-users may.\n",
	.exits = "CMD's own status (128+N for signal N, 126 and 127 as a shell), 1 in use,\n"
		 "      another count, or not all there in time, 2 no session, or stopped as a\n"
		 "      member was lost, 3 misuse",
	.min_args = 2,
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};
