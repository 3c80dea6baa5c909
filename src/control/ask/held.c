#include "control/ask/held.h"

#include <errno.h>

#include "base/utf8.h"
#include "control/ask/options.h"
#include "core/queue/job_outcome.h"

void held_pack_attached(struct pack *p, bool attached, uint64_t number, bool recorded)
{
	pack_map(p, 3);
	pack_kv_bool(p, "attached", attached);
	pack_kv_uint(p, "run", number);
	pack_kv_bool(p, "recorded", recorded);
}

const struct ask_kind held_ask_kind = {.size = sizeof(struct held_ask)};

struct pack *held_answer(struct held_ask *a, bool failed, const char *why, bool attached,
			 uint64_t number)
{
	struct pack *p;

	if (failed && !a->attaches) {
		ask_fail(&a->ask, RPC_CANNOT_TELL, why);
		return NULL;
	}
	p = ask_result(&a->ask);
	if (!a->attaches)
		return p;
	held_pack_attached(p, attached, number, false);
	ask_end(&a->ask);
	return NULL;
}

void held_pack_renewed(struct pack *p, int64_t lease_ms, int64_t timeout_ms)
{
	pack_map(p, 3);
	pack_kv_bool(p, "leads", lease_ms > 0);
	pack_kv_int(p, "lease_ms", lease_ms);
	pack_kv_int(p, "timeout_ms", timeout_ms);
}

uint64_t held_number(struct call *call)
{
	uint64_t number = 0;

	reader_uint(&call->params, &number);
	return number;
}

void held_renewed(const struct call *call, int64_t lease_ms)
{
	if (lease_ms < 0) {
		call_misused(call);
		return;
	}
	held_pack_renewed(call_result(call), lease_ms, call->m->node->session.lease.timeout_ms);
	call_end(call);
}

void held_finished(void *ask)
{
	pack_bool(ask_result(ask), true);
	ask_end(ask);
}

/* --- the end of a command -------------------------------------------------- */

static int read_output(struct reader *r, void *to)
{
	struct held_end *end = to;
	struct reader_text output;

	if (reader_bin(r, &output) != 0 || output.len > RECORD_OUTPUT_MAX)
		return -EBADMSG;
	end->output = output.data;
	end->len = output.len;
	return 0;
}

/* The text is for people only: one that is too long for a record, or is not UTF-8, is left out. */
static int read_start(struct reader *r, void *to)
{
	struct held_end *end = to;
	struct reader_text text;

	if (reader_str(r, &text) != 0)
		return -EBADMSG;
	if (!utf8_is_valid(text.data, text.len) ||
	    reader_text_copy(text, end->start, sizeof(end->start)) != 0)
		end->start[0] = '\0';
	return 0;
}

/* Reads the answer to an HTTP request. */
static int read_how(struct reader *r, void *to)
{
	static const struct {
		const char *word;
		enum attempt_answer answer;
	} words[] = {{"ok", ATTEMPT_ACCEPTED},
		     {"dead", ATTEMPT_REFUSED},
		     {"failed", ATTEMPT_UNANSWERED}};
	struct held_end *end = to;
	struct reader_text text;
	int e = reader_str(r, &text);

	for (size_t i = 0; e == 0 && i < sizeof(words) / sizeof(words[0]); i++)
		if (reader_text_is(text, words[i].word))
			end->what.answer = words[i].answer;
	return end->what.answer == ATTEMPT_NO_ANSWER ? -EBADMSG : 0;
}

bool held_take_end(struct call *call, struct held_end *ret)
{
	static const struct key keys[] = {
		OPTION_INT(held_end, what.exit_status, "exit_status", -1, 255, "not from 0 to 255"),
		OPTION_INT(held_end, retry_ms, "retry_ms", -1, QUEUE_DELAY_MAX_MS,
			   "not a time up to 90 days"),
		OPTION_BOOL(held_end, what.interrupted, "interrupted"),
		OPTION_BOOL(held_end, what.timeout, "timeout"),
		OPTION("how", read_how, "not one of ok, dead, failed"),
		OPTION("output", read_output, "not a bin of at most 2048 bytes"),
		OPTION("start", read_start, "not a text"),
	};

	*ret = (struct held_end){.what.exit_status = -1, .retry_ms = -1};
	if (!options_take(call, OPTIONS(keys), ret))
		return false;
	if (ret->what.answer != ATTEMPT_NO_ANSWER)
		ret->what.exit_status = -1; /* a process's status says nothing here */
	return true;
}
