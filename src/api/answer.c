#include "api/answer.h"

#include <errno.h>
#include <string.h>

#include "api/fields.h"

struct led_by {
	struct zkleader_answer *answer;
	bool given;
};

static int read_led_by(struct reader *r, void *to)
{
	struct led_by *led_by = to;
	struct zkleader_answer *a = led_by->answer;
	struct field_text id = {a->led_by_id, sizeof(a->led_by_id)};
	struct field_text ip = {a->led_by_ip, sizeof(a->led_by_ip)};
	struct field_text hostname = {a->led_by_hostname, sizeof(a->led_by_hostname)};
	struct field_text version = {a->led_by_version, sizeof(a->led_by_version)};
	struct field_text node = {a->led_by_node, sizeof(a->led_by_node)};
	const struct field fields[] = {
		{"id", field_text, &id, false},
		{"ip", field_text, &ip, false},
		{"hostname", field_text, &hostname, false},
		{"version", field_text, &version, false},
		{"node", field_text, &node, true},
	};

	led_by->given = true;
	if (reader_nil(r) == 0)
		return 0;
	a->led = true;
	return fields_read(r, fields, N_FIELDS(fields));
}

int answer_parse(struct reader result, const char *task, int64_t sent_ms,
		 struct zkleader_answer *ret_answer)
{
	struct zkleader_answer a = {.leader = false};
	struct led_by led_by = {&a, false};
	struct field_text state = {a.state, sizeof(a.state)}, why = {a.why, sizeof(a.why)};
	const struct field fields[] = {
		{"leader", field_bool, &a.leader, false},
		{"state", field_text, &state, false},
		{"lease_ms", field_lease, &a.lease_ms, false},
		{"token", field_token, &a.token, false},
		{"task", field_task, &task, true},
		{"led_by", read_led_by, &led_by, true},
		{"why", field_text, &why, true},
	};
	int e = fields_read(&result, fields, N_FIELDS(fields));

	if (e < 0)
		return e;
	if (result.p != result.end || (a.leader && a.token == 0))
		return -EBADMSG;
	if (!led_by.given)
		a.led = a.token > 0; /* the sidecar may leave led_by out */
	a.valid_until = sent_ms + a.lease_ms;
	*ret_answer = a;
	return 0;
}
