#include "runner/due.h"

#include <errno.h>
#include <string.h>

#include "api/fields.h"

static int read_task(struct reader *r, void *to)
{
	struct reader_text text;

	if (reader_str(r, &text) < 0 || !name_is_election(text.data, text.len))
		return -EBADMSG;
	return reader_text_copy(text, to, NAME_ELECTION_MAX + 1);
}

/*
 * Reads a tick, and checks only that it is fit for a file name and a log. The claim says whether
 * there is such a tick.
 */
static int read_tick(struct reader *r, void *to)
{
	static const char fit[] = "0123456789-:TZ";
	struct reader_text text;

	if (reader_str(r, &text) < 0 || text.len == 0)
		return -EBADMSG;
	for (size_t i = 0; i < text.len; i++)
		if (!memchr(fit, text.data[i], sizeof(fit) - 1))
			return -EBADMSG;
	return reader_text_copy(text, to, DUE_TICK_SIZE);
}

static int read_attempt(struct reader *r, void *to)
{
	int64_t *attempt = to;

	return reader_int(r, attempt) < 0 || *attempt < 1 || *attempt > INT32_MAX ? -EBADMSG : 0;
}

int due_parse(struct reader r, struct due *ret)
{
	struct due due;
	const struct field fields[] = {
		{"task", read_task, due.task, false},
		{"tick", read_tick, due.tick, false},
		{"attempt", read_attempt, &due.attempt, false},
	};
	int e = fields_read(&r, fields, N_FIELDS(fields));

	if (e < 0)
		return e;
	*ret = due;
	return 0;
}
