#include "runner/offer.h"

#include <string.h>

#include "wire/keys.h"

/* Fit for a header and a log: the sidecar says whether there is such a job. */
static bool is_id(const char *text, size_t len)
{
	static const char fit[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	for (size_t i = 0; i < len; i++)
		if (!memchr(fit, text[i], sizeof(fit) - 1))
			return false;
	return len > 0;
}

static const struct key offer_keys[] = {
	TEXT_KEY(offer, queue, KEY_REQUIRED, name_is_task, "not the name of a queue"),
	TEXT_KEY(offer, id, KEY_REQUIRED, is_id, "not the id of a job"),
};
static const struct keys offer_form = KEYS(offer_keys, offer, OFFER_MAX);

int offer_parse(struct reader r, struct offer *ret)
{
	const char *why;

	return keys_read(r.p, (size_t)(r.end - r.p), &offer_form, ret, &why);
}
