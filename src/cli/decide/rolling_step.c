/* A step of a rolling restart: a request to the sidecar, which may be away for a while. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/call.h"
#include "api/json.h"
#include "base/clock.h"
#include "base/text/name.h"
#include "cli/decide/rolling.h"
#include "cli/ui/ask.h"
#include "wire/pack.h"

#define BOOT_ID	    "/proc/sys/kernel/random/boot_id"
#define KNOCK_MS    500
#define ANSWER_MS   10000 /* time for the answer after the request's own timeout */
#define ENDED_MS    5000  /* time for a step after a signal has told this process to end */
#define BOOT_DIGITS 8	  /* digits of the boot id in the name of a process */

/* --- the name of this process --------------------------------------------- */

/* Reads the first line of a file, without its newline. 0 or -EIO. */
static int read_line(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	bool good = f && fgets(text, (int)size, f);

	if (f)
		fclose(f);
	if (!good)
		return -EIO;
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

/*
 * When the process was started, in clock ticks since boot. Together with the pid this identifies a
 * process, as pids are used again.
 */
static int start_of(long pid, char *text, size_t size)
{
	char path[64], line[1024];

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	if (read_line(path, line, sizeof(line)) < 0)
		return -ESRCH;
	/*
	 * The 2nd field, the name, may contain blanks and brackets, so fields are counted from its
	 * last bracket. The start is the 22nd.
	 */
	char *field = strrchr(line, ')');
	for (int i = 2; field && i < 22; i++)
		field = strchr(field + 1, ' ');
	if (!field)
		return -ESRCH;
	size_t len = strcspn(field + 1, " ");
	snprintf(text, size, "%.*s", (int)(len < 30 ? len : 30), field + 1);
	return 0;
}

static int name_process(const struct rolling_steps *s, long pid, char text[ROLLING_ID_SIZE])
{
	char start[32];

	if (start_of(pid, start, sizeof(start)) < 0)
		return -ESRCH;
	snprintf(text, ROLLING_ID_SIZE, "%.*s %ld %s", BOOT_DIGITS, s->boot_id, pid, start);
	return 0;
}

int rolling_identify(struct rolling_steps *s)
{
	if (read_line(BOOT_ID, s->boot_id, sizeof(s->boot_id)) < 0 ||
	    !name_is_id(s->boot_id, strlen(s->boot_id))) {
		output_error(&s->c->output, "%s does not tell this machine's boot", BOOT_ID);
		return ZKLEADER_CANNOT_TELL;
	}
	if (name_process(s, getpid(), s->process) < 0) {
		output_error(&s->c->output, "/proc/self/stat does not tell when this began");
		return ZKLEADER_CANNOT_TELL;
	}
	return 0;
}

bool rolling_process_lives(const struct rolling_steps *s, const char *process)
{
	const char *space = strchr(process, ' ');
	char now[ROLLING_ID_SIZE];

	return space && strcmp(process, s->process) != 0 &&
	       name_process(s, strtol(space, NULL, 10), now) == 0 && strcmp(now, process) == 0;
}

/* --- asking --------------------------------------------------------------- */

static void pack_text(struct pack *p, const char *key, const char *text)
{
	if (text && text[0])
		pack_kv_str(p, key, text);
}

static void pack(const struct rolling_steps *s, const struct rolling_step *step,
		 struct request *request)
{
	struct pack *p = request_begin(request, 2);
	size_t map;

	pack_str(p, s->group);
	map = pack_open(p);
	pack_kv_str(p, "do", step->order);
	pack_kv_int(p, "max_unavailable", s->max_unavailable);
	pack_kv_int(p, "soak_ms", s->soak_ms);
	pack_kv_int(p, "timeout_ms", step->timeout_ms);
	pack_text(p, "state", step->state);
	pack_text(p, "node", step->node);
	if (step->exit_status >= 0)
		pack_kv_int(p, "exit_status", step->exit_status);
	pack_text(p, "slot", s->slot);
	pack_text(p, "before", s->before);
	pack_text(p, "boot_id", s->boot_id);
	pack_text(p, "process", s->process);
	pack_close(p, map);
}

static int ask_once(struct rolling_steps *s, const struct rolling_step *step,
		    struct reader *ret_result)
{
	int64_t answer_ms = ANSWER_MS;
	struct request request;

	if (step->waits)
		answer_ms = step->timeout_ms < 0 ? ZKLEADER_TIMEOUT_MAX_MS
						 : step->timeout_ms + ANSWER_MS;
	pack(s, step, &request);
	return ask_call(s->c, "rolling", &request, answer_ms, ret_result);
}

/* Whether the failure r may be temporary, so that the step can be tried again. */
static bool is_passing(const struct rolling_steps *s, int r)
{
	return s->c->z && (r == ZKLEADER_CANNOT_TELL ||
			   (r < 0 && r != -EMSGSIZE && r != -EACCES && r != -EPERM));
}

int rolling_step(struct rolling_steps *s, const struct rolling_step *step, json_t **ret_answer)
{
	struct rolling_step now = *step;
	int64_t began_ms = clock_boot_ms(), ended_ms = INT64_MAX;
	struct reader result;
	bool first = true;

	for (;; first = false) {
		int r = ask_once(s, &now, &result);
		int64_t at_ms = clock_boot_ms();

		if (r == 0)
			return ask_to_json(s->c, result, JSON_OBJECT, ret_answer);
		if (s->signals && ended_ms == INT64_MAX && rolling_job_is_ended(s->signals))
			ended_ms = at_ms + ENDED_MS;
		bool over = at_ms >= ended_ms || (step->waits && step->timeout_ms >= 0 &&
						  at_ms - began_ms >= step->timeout_ms);
		bool absent = first && (r == -ENOENT || r == -ECONNREFUSED);
		if (!step->patient || over || (step->begins && absent) || !is_passing(s, r))
			return context_failed(s->c, r);
		if (!s->waiting_told)
			output_error(&s->c->output, "%s: waiting for it",
				     zkleader_message(s->c->z));
		s->waiting_told = true;
		if (step->waits && step->timeout_ms >= 0)
			now.timeout_ms = step->timeout_ms - (at_ms - began_ms);
		poll(NULL, 0, KNOCK_MS);
	}
}

const char *rolling_result(const json_t *answer)
{
	return json_text(answer, "result", "");
}
