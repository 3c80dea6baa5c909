#include "api/answer.h"

#include <errno.h>
#include <string.h>

struct answer {
	struct zkleader_answer is;
	struct reader_text task;
	bool has_led_by;
};

static const struct key led_by_keys[] = {
	MESSAGE_KEY("id", zkleader_answer, led_by_id, KEY_SHOWN, KEY_REQUIRED),
	MESSAGE_KEY("ip", zkleader_answer, led_by_ip, KEY_SHOWN, KEY_REQUIRED),
	MESSAGE_KEY("hostname", zkleader_answer, led_by_hostname, KEY_SHOWN, KEY_REQUIRED),
	MESSAGE_KEY("version", zkleader_answer, led_by_version, KEY_SHOWN, KEY_REQUIRED),
	MESSAGE_KEY("node", zkleader_answer, led_by_node, KEY_SHOWN, KEY_OPTIONAL),
};
static const struct keys led_by_form = KEYS(led_by_keys, zkleader_answer, SIZE_MAX);

static int read_led_by(struct reader *r, void *to)
{
	struct answer *a = to;

	a->has_led_by = true;
	if (reader_nil(r) == 0)
		return 0;
	a->is.led = true;
	return keys_take(r, &led_by_form, &a->is);
}

static const struct key answer_keys[] = {
	MESSAGE_KEY("leader", answer, is.leader, KEY_BOOL, KEY_REQUIRED),
	MESSAGE_KEY("state", answer, is.state, KEY_SHOWN, KEY_REQUIRED),
	LEASE_KEY("lease_ms", answer, is.lease_ms, KEY_REQUIRED),
	MESSAGE_KEY("token", answer, is.token, KEY_UINT, KEY_REQUIRED, .nil = true),
	MESSAGE_KEY("task", answer, task, KEY_BORROWED, KEY_OPTIONAL),
	MESSAGE_KEY("led_by", answer, is, KEY_CUSTOM, KEY_OPTIONAL, .parse = read_led_by),
	MESSAGE_KEY("why", answer, is.why, KEY_SHOWN, KEY_OPTIONAL),
};
static const struct keys answer_form = KEYS(answer_keys, answer, SIZE_MAX);

int answer_parse(struct reader result, const char *task, int64_t sent_ms,
		 struct zkleader_answer *ret_answer)
{
	struct answer a = {.has_led_by = false};
	int e = keys_take(&result, &answer_form, &a);

	if (e < 0)
		return e;
	if (result.p != result.end || (a.task.data && !reader_text_is(a.task, task)) ||
	    (a.is.leader && a.is.token == 0))
		return -EBADMSG;
	if (!a.has_led_by)
		a.is.led = a.is.token > 0; /* the sidecar may leave led_by out */
	a.is.valid_until = sent_ms + a.is.lease_ms;
	*ret_answer = a.is;
	return 0;
}
