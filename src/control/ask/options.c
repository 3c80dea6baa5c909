#include "control/ask/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "core/time/tick.h"

#define ID_LEN 16

const char *options_read(struct reader *r, const struct key *keys, size_t n, void *to)
{
	const struct keys all = {.keys = keys, .n = n, .max = BUFFER_LIMIT_MAX};
	const char *why = NULL;
	struct reader rest = *r;
	struct reader_text name;
	size_t left;

	if (reader_map(&rest, &left) != 0)
		return "the options are no map";
	for (; left > 0; left--)
		if (reader_str(&rest, &name) != 0 || reader_skip(&rest) != 0)
			return "an option has no name";
	if (keys_parse(r->p, (size_t)(rest.p - r->p), &all, to, &why) < 0)
		return why;
	*r = rest;
	return NULL;
}

bool options_take(struct call *call, const struct key *keys, size_t n, void *to)
{
	static const uint8_t empty_map[] = {0x80};
	const char *why;
	struct reader none;

	reader_init(&none, empty_map, sizeof(empty_map));
	why = options_read(call->params.p == call->params.end ? &none : &call->params, keys, n, to);
	return !why || call_refuse(call, why);
}

int options_read_tick(struct reader *r, void *to)
{
	struct reader_text text;
	int64_t ms;

	if (reader_str(r, &text) != 0 || reader_text_copy(text, to, TICK_NAME_SIZE) != 0 ||
	    (text.len > 0 && !tick_parse(to, &ms)))
		return -EBADMSG;
	return 0;
}

int options_read_text(struct reader *r, void *to)
{
	return reader_str(r, to);
}

int options_read_id(struct reader *r, void *to)
{
	uint64_t *id = to;
	char digits[ID_LEN + 1];
	struct reader_text text;

	if (reader_str(r, &text) != 0 || reader_text_copy(text, digits, sizeof(digits)) != 0 ||
	    strspn(digits, "0123456789abcdef") != ID_LEN)
		return -EBADMSG;
	*id = strtoull(digits, NULL, 16);
	return *id == 0 ? -EBADMSG : 0;
}

bool options_is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

bool options_is_line(const char *text, size_t len)
{
	return options_is_plain(text, len) && utf8_is_valid(text, len);
}
