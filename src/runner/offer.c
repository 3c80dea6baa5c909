#include "runner/offer.h"

#include <errno.h>
#include <string.h>

#include "api/fields.h"

/*
 * Reads a job's id, and checks only that it is fit for a header and a log. The sidecar says whether
 * there is such a job.
 */
static int read_id(struct reader *r, void *to)
{
	static const char fit[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	struct reader_text text;

	if (reader_str(r, &text) < 0 || text.len == 0)
		return -EBADMSG;
	for (size_t i = 0; i < text.len; i++)
		if (!memchr(fit, text.data[i], sizeof(fit) - 1))
			return -EBADMSG;
	return reader_text_copy(text, to, OFFER_ID_SIZE);
}

static int read_queue(struct reader *r, void *to)
{
	struct reader_text text;

	if (reader_str(r, &text) < 0 || !name_is_task(text.data, text.len))
		return -EBADMSG;
	return reader_text_copy(text, to, NAME_TASK_MAX + 1);
}

int offer_parse(struct reader r, struct offer *ret)
{
	struct offer offer = {.queue = ""};
	const struct field fields[] = {
		{"queue", read_queue, offer.queue, false},
		{"id", read_id, offer.id, false},
	};
	int e = fields_read(&r, fields, N_FIELDS(fields));

	if (e < 0)
		return e;
	*ret = offer;
	return 0;
}
