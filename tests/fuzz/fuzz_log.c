/* Log lines: whatever a field quotes, JSON is one valid object and text has no control characters. */
#include "fuzz.h"
#include "json_check.h"

#include "base/log/log.h"

#define FIELDS_MAX 8

static const char *const messages[] = {"state", "leader gone", "zookeeper client", "a"};
static const char *const keys[] = {"task", "from", "to", "reason", "token"};

static void check_line(enum log_format format, size_t size, enum log_level level, int64_t wall_ms,
		       const char *message, const struct log_field *fields)
{
	/* On the heap and no longer than it was said to be. */
	char *line = malloc(size);
	size_t len;

	FUZZ_CHECK(line);
	len = log_format_line(line, size, level, format, wall_ms, message, fields);
	FUZZ_CHECK(len > 0 && len < size && strlen(line) == len);
	FUZZ_CHECK(fuzz_is_line(line, len));
	if (format == LOG_JSON)
		FUZZ_CHECK(line[0] == '{' && json_is_one(line, len));
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = {data, size};
	uint8_t kind = feed_byte(&f);
	size_t room = LOG_LINE_MIN + feed_below(&f, LOG_LINE_MAX - LOG_LINE_MIN + 1);
	struct log_field fields[FIELDS_MAX + 1];
	char *texts[FIELDS_MAX];
	size_t n = 0;

	while (n < FIELDS_MAX && f.left > 0) {
		uint8_t type = feed_byte(&f);

		texts[n] = (type & 3) ? NULL : feed_text(&f, '\0');
		fields[n] = (struct log_field){.key = keys[(type >> 2) % 5],
					       .type = (enum log_type)(type & 3),
					       .string = texts[n]};
		if (type & 3)
			fields[n].integer = (int64_t)feed_number(&f, type & 128 ? 8 : 2);
		n++;
	}
	fields[n] = LOG_END;
	for (int format = LOG_TEXT; format <= LOG_JSON; format++)
		check_line((enum log_format)format, kind & 128 ? LOG_LINE_MAX : room,
			   (enum log_level)(kind & 3), (int64_t)kind << 32, messages[kind >> 2 & 3],
			   fields);
	while (n > 0)
		free(texts[--n]);
	return 0;
}
