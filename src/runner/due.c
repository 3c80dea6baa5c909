#include "runner/due.h"

#include <string.h>

#include "wire/keys.h"

/* Fit for a file name and a log: the claim says whether there is such a tick. */
static bool is_tick(const char *text, size_t len)
{
	static const char fit[] = "0123456789-:TZ";

	for (size_t i = 0; i < len; i++)
		if (!memchr(fit, text[i], sizeof(fit) - 1))
			return false;
	return len > 0;
}

static const struct key due_keys[] = {
	TEXT_KEY(due, task, KEY_REQUIRED, name_is_election, "not the name of a task"),
	TEXT_KEY(due, tick, KEY_REQUIRED, is_tick, "not a tick"),
	INT_KEY(due, attempt, KEY_REQUIRED, 1, INT32_MAX, "not the number of an attempt"),
};
static const struct keys due_form = KEYS(due_keys, due, DUE_MAX);

int due_parse(struct reader r, struct due *ret)
{
	const char *why;

	return keys_read(r.p, (size_t)(r.end - r.p), &due_form, ret, &why);
}
