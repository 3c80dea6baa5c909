#include "core/queue/job_id.h"

#include <string.h>

#include "base/text/uuid_text.h"

#define UUID_LEN     (UUID_TEXT_SIZE - 1)
#define MINUTE_MAX   INT64_C(4738381338321616895) /* twelve digits of base 36: zzzzzzzzzzzz */
#define MINUTE_WIDTH (JOB_MINUTE_SIZE - 1)

/* Appends text, and gives the place behind it. */
static char *append(char *at, const char *text)
{
	size_t len = strlen(text);

	memcpy(at, text, len + 1);
	return at + len;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : -1;
}

bool job_minute_parse(const char *text, size_t len, int64_t *ret_minute)
{
	int64_t minute = 0;

	if (len == 0 || len > MINUTE_WIDTH || (len > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		int digit = digit_of(text[i]);
		if (digit < 0)
			return false;
		minute = minute * 36 + digit;
	}
	*ret_minute = minute;
	return true;
}

void job_minute_format(int64_t minute, char text[JOB_MINUTE_SIZE])
{
	char digits[JOB_MINUTE_SIZE];
	size_t n = 0;

	if (minute < 0)
		minute = 0; /* the clock is before 1970 */
	if (minute > MINUTE_MAX)
		minute = MINUTE_MAX;
	do {
		digits[n++] = "0123456789abcdefghijklmnopqrstuvwxyz"[minute % 36];
		minute /= 36;
	} while (minute > 0);
	for (size_t i = 0; i < n; i++)
		text[i] = digits[n - 1 - i];
	text[n] = '\0';
}

bool job_name_parse(const char *text, size_t len, struct job_id *ret_id)
{
	int64_t minute;

	if (len < UUID_LEN + 2 || text[len - UUID_LEN - 1] != '.' ||
	    !uuid_text_is(text + len - UUID_LEN, UUID_LEN) ||
	    !job_minute_parse(text, len - UUID_LEN - 1, &minute))
		return false;
	ret_id->minute = minute;
	memcpy(ret_id->uuid, text + len - UUID_LEN, UUID_LEN);
	ret_id->uuid[UUID_LEN] = '\0';
	return true;
}

/* The queue's name may have dots: what comes behind it is read from the end. */
bool job_id_parse(const char *text, size_t len, struct job_id *ret_id)
{
	struct job_id id;
	size_t name;

	if (len < UUID_LEN + 2 || len > JOB_ID_MAX)
		return false;
	name = len - UUID_LEN - 1;
	while (name > 0 && text[name - 1] != '.')
		name--;
	if (name < 2 || name - 1 > NAME_TASK_MAX || !name_is_task(text, name - 1) ||
	    !job_name_parse(text + name, len - name, &id))
		return false;
	memcpy(id.queue, text, name - 1);
	id.queue[name - 1] = '\0';
	*ret_id = id;
	return true;
}

void job_name_format(const struct job_id *id, char text[JOB_NAME_MAX + 1])
{
	char minute[JOB_MINUTE_SIZE];

	job_minute_format(id->minute, minute);
	append(append(append(text, minute), "."), id->uuid);
}

void job_id_format(const struct job_id *id, char text[JOB_ID_MAX + 1])
{
	char name[JOB_NAME_MAX + 1];

	job_name_format(id, name);
	append(append(append(text, id->queue), "."), name);
}

/* --- pointers ------------------------------------------------------------- */

#define CALLBACK ".callback"
#define MS_LEN	 13 /* digits of the years from 2001 to 2286 */
#define MS_MAX	 15

static bool parse_ms(const char *text, size_t len, int64_t *ret_ms, size_t *ret_len)
{
	int64_t ms = 0;
	size_t n = 0;

	while (n < len && text[n] >= '0' && text[n] <= '9' && n <= MS_MAX)
		ms = ms * 10 + (text[n++] - '0');
	if (n < MS_LEN || n > MS_MAX || n == len || text[n] != '.' ||
	    (n > MS_LEN && text[0] == '0'))
		return false;
	*ret_ms = ms;
	*ret_len = n + 1;
	return true;
}

bool job_pointer_parse(const char *text, size_t len, bool due, struct job_pointer *ret)
{
	size_t suffix = strlen(CALLBACK), ms_len = 0;
	struct job_pointer p = {.due_ms = 0};
	struct job_id id;

	if (due && !parse_ms(text, len, &p.due_ms, &ms_len))
		return false;
	text += ms_len;
	len -= ms_len;
	if (len > suffix && memcmp(text + len - suffix, CALLBACK, suffix) == 0) {
		p.callback = true;
		len -= suffix;
	}
	if (!job_name_parse(text, len, &id))
		return false;
	p.minute = id.minute;
	memcpy(p.uuid, id.uuid, sizeof(p.uuid));
	*ret = p;
	return true;
}

/* Thirteen digits and a full stop, or more. */
static char *append_ms(char *at, int64_t ms)
{
	char digits[MS_MAX + 1];
	size_t n = MS_MAX;

	digits[n] = '\0';
	while (n > 0 && (ms > 0 || MS_MAX - n < MS_LEN)) {
		digits[--n] = (char)('0' + ms % 10);
		ms /= 10;
	}
	return append(append(at, digits + n), ".");
}

void job_pointer_format(const struct job_pointer *p, bool due, char text[JOB_POINTER_MAX + 1])
{
	char minute[JOB_MINUTE_SIZE], *at = text;

	job_minute_format(p->minute, minute);
	if (due)
		at = append_ms(at, p->due_ms);
	at = append(append(append(at, minute), "."), p->uuid);
	append(at, p->callback ? CALLBACK : "");
}

bool job_pointer_same(const struct job_pointer *a, const struct job_pointer *b)
{
	return a->minute == b->minute && a->callback == b->callback &&
	       strcmp(a->uuid, b->uuid) == 0;
}

struct job_pointer job_pointer_to(const struct job_id *id, int64_t due_ms, bool callback)
{
	struct job_pointer p = {.due_ms = due_ms, .minute = id->minute, .callback = callback};

	memcpy(p.uuid, id->uuid, sizeof(p.uuid));
	return p;
}

void job_pointer_id(const struct job_pointer *p, const char *queue, struct job_id *ret_id)
{
	*ret_id = (struct job_id){.minute = p->minute};
	append(ret_id->queue, queue);
	memcpy(ret_id->uuid, p->uuid, sizeof(ret_id->uuid));
}
