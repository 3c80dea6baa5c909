#include "base/log/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log/errout.h"
#include "base/log/journal.h"
#include "base/utf8.h"

#define PREFIX_LEN 3  /* length of "<N>" */
#define MS_LEN	   4  /* length of ".NNN" */
#define ESCAPE_MAX 24 /* bytes that one character of a string can become */

/* The mark in place of the fields that no longer fit. */
#define CUT_TEXT "..."
#define CUT_JSON ",\"cut\":\"...\""

static const char *const level_words[] = {
	[LOG_ERROR] = "error",
	[LOG_WARNING] = "warning",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

/* syslog(3): LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG. */
static const char level_priorities[] = {
	[LOG_ERROR] = '3',
	[LOG_WARNING] = '4',
	[LOG_INFO] = '6',
	[LOG_DEBUG] = '7',
};

/* Atomics, because ZooKeeper's threads log too while the loop reloads. */
static atomic_int log_level = LOG_INFO;
static atomic_int log_format = LOG_TEXT;
static atomic_bool log_journal = false;

static atomic_uint_least64_t lost; /* lost lines that have not been reported yet */

/* Set before other threads start. */
static const char *journal_path;
static int journal_fd = -1;

/* A line being made; what would not fit sets full and leaves the rest out. */
struct line {
	char *data;
	size_t size; /* len never exceeds this */
	size_t len;
	bool full;
};

void log_setup(enum log_level level, enum log_format format, bool journal)
{
	atomic_store(&log_level, (int)level);
	atomic_store(&log_format, (int)format);
	atomic_store(&log_journal, journal);
}

void log_to_journal(const char *path)
{
	if (journal_fd < 0)
		journal_fd = journal_open();
	journal_path = path;
}

const char *log_begin(enum log_level level, enum log_format format)
{
	const char *stream = getenv("JOURNAL_STREAM");

	log_setup(level, format, stream != NULL);
	if (!journal_is_stream(STDERR_FILENO, stream))
		return NULL;
	log_to_journal(JOURNAL_SOCKET);
	return JOURNAL_SOCKET;
}

bool log_enabled(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

static void put(struct line *l, const char *data, size_t len)
{
	if (l->full || len > l->size - l->len) {
		l->full = true;
		return;
	}
	memcpy(l->data + l->len, data, len);
	l->len += len;
}

static void put_text(struct line *l, const char *text)
{
	put(l, text, strlen(text));
}

/*
 * Characters that act instead of being seen: C0, DEL and C1 controls (a terminal takes U+009B for
 * the start of an escape), line and paragraph separators, and those that turn the order of the
 * text.
 */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* The backslash forms that text and JSON share. */
static const char *short_escape(uint32_t code)
{
	switch (code) {
	case '"': return "\\\"";
	case '\\': return "\\\\";
	case '\n': return "\\n";
	case '\t': return "\\t";
	default: return NULL;
	}
}

/* Puts one character of len bytes; len 0 stands for a byte that is not valid UTF-8. */
static void put_char(struct line *l, enum log_format format, const unsigned char *s, size_t len,
		     uint32_t code)
{
	const char *escape = len > 0 ? short_escape(code) : NULL;
	char hex[ESCAPE_MAX];
	size_t n = 0;

	if (escape) {
		put_text(l, escape);
	} else if (len > 0 && !is_control(code)) {
		put(l, (const char *)s, len);
	} else if (format == LOG_JSON) {
		/* All of is_control() is in the basic plane, so there are no surrogate pairs here.
		 */
		snprintf(hex, sizeof(hex), "\\u%04x", len > 0 ? code & 0xffffU : 0xfffdU);
		put_text(l, hex);
	} else {
		for (size_t i = 0; i < (len > 0 ? len : 1); i++)
			n += (size_t)snprintf(hex + n, sizeof(hex) - n, "\\x%02x", s[i]);
		put(l, hex, n);
	}
}

static void put_quoted(struct line *l, enum log_format format, const char *text)
{
	const char *end = text + strlen(text);

	put_text(l, "\"");
	while (text < end && !l->full) {
		uint32_t code = 0;
		size_t len = utf8_decode(text, (size_t)(end - text), &code);

		put_char(l, format, (const unsigned char *)text, len, code);
		text += len > 0 ? len : 1;
	}
	put_text(l, "\"");
}

static bool is_bare(const char *text)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "._:/@+-";

	return text[0] != '\0' && text[strspn(text, chars)] == '\0';
}

/* "a,b" where all are bare, else each in quotes; in JSON an array. */
static void put_list(struct line *l, enum log_format format, const struct log_field *f)
{
	bool quoted = format == LOG_JSON;

	for (int64_t i = 0; i < f->integer; i++)
		quoted |= !is_bare(f->list[i]);
	put_text(l, format == LOG_JSON ? "[" : "");
	for (int64_t i = 0; i < f->integer; i++) {
		put_text(l, i > 0 ? "," : "");
		if (quoted)
			put_quoted(l, format, f->list[i]);
		else
			put_text(l, f->list[i]);
	}
	put_text(l, format == LOG_JSON ? "]" : "");
}

/* The number in a field, as text. */
static const char *number_text(const struct log_field *f, char number[ESCAPE_MAX])
{
	if (f->type == LOG_TYPE_HEX)
		snprintf(number, ESCAPE_MAX, "0x%" PRIx64, (uint64_t)f->integer);
	else if (f->type == LOG_TYPE_UINT)
		snprintf(number, ESCAPE_MAX, "%" PRIu64, (uint64_t)f->integer);
	else
		snprintf(number, ESCAPE_MAX, "%" PRId64, f->integer);
	return number;
}

static void put_value(struct line *l, enum log_format format, const struct log_field *f)
{
	char number[ESCAPE_MAX];

	if (f->type == LOG_TYPE_STRING && format == LOG_TEXT && is_bare(f->string)) {
		put_text(l, f->string);
	} else if (f->type == LOG_TYPE_STRING) {
		put_quoted(l, format, f->string);
	} else if (f->type == LOG_TYPE_LIST) {
		put_list(l, format, f);
	} else {
		number_text(f, number);
		/*
		 * A hexadecimal number is a string in JSON: one of 64 bits loses its last digits in
		 * many readers.
		 */
		bool quoted = f->type == LOG_TYPE_HEX && format == LOG_JSON;
		put_text(l, quoted ? "\"" : "");
		put_text(l, number);
		put_text(l, quoted ? "\"" : "");
	}
}

static void put_field(struct line *l, enum log_format format, const struct log_field *f)
{
	if (format == LOG_JSON) {
		put_text(l, ",");
		put_quoted(l, format, f->key);
		put_text(l, ":");
	} else {
		put_text(l, " ");
		put_text(l, f->key);
		put_text(l, "=");
	}
	put_value(l, format, f);
}

static void put_head(struct line *l, enum log_level level, enum log_format format, bool journal,
		     int64_t wall_ms)
{
	char now[CLOCK_TEXT_SIZE + MS_LEN];
	unsigned ms = (unsigned)((wall_ms % 1000 + 1000) % 1000);

	clock_format(wall_ms, now);
	snprintf(now + strlen(now) - 1, MS_LEN + sizeof("Z"), ".%03uZ", ms % 1000);
	if (format == LOG_JSON) {
		put_text(l, "{\"time\":\"");
		put_text(l, now);
		put_text(l, "\",\"level\":\"");
		put_text(l, level_words[level]);
		put_text(l, "\"");
	} else if (journal) {
		const char prefix[PREFIX_LEN] = {'<', level_priorities[level], '>'};
		put(l, prefix, PREFIX_LEN);
	} else {
		put_text(l, now);
		put_text(l, " ");
		put_text(l, level_words[level]);
		put_text(l, " ");
	}
}

static void put_message(struct line *l, enum log_format format, const char *message)
{
	if (format == LOG_JSON) {
		put_text(l, ",\"message\":");
		put_quoted(l, format, message);
	} else {
		put_text(l, message);
	}
}

/*
 * Makes a line of less than size bytes and terminates it. The message and each field go in whole or
 * not at all; from the first that does not fit on, only the mark of the cut follows, for which room
 * was kept.
 */
static size_t make_line(char *data, size_t size, enum log_level level, enum log_format format,
			bool journal, int64_t wall_ms, const char *message,
			const struct log_field *fields)
{
	const char *cut = format == LOG_JSON ? CUT_JSON : " " CUT_TEXT;
	const char *end = format == LOG_JSON ? "}" : "";
	size_t kept = strlen(cut) + strlen(end) + 1;
	struct line l = {.data = data};
	size_t whole;

	assert(size >= LOG_LINE_MIN);
	l.size = size - kept;
	put_head(&l, level, format, journal, wall_ms);
	whole = l.len;
	put_message(&l, format, message);
	for (; !l.full && fields->key; fields++) {
		whole = l.len;
		if (fields->type != LOG_TYPE_STRING || fields->string)
			put_field(&l, format, fields);
	}
	if (!l.full) {
		cut = "";
		whole = l.len;
	}
	l = (struct line){.data = data, .size = size - 1, .len = whole};
	put_text(&l, cut);
	put_text(&l, end);
	data[l.len] = '\0';
	return l.len;
}

size_t log_format_line(char *line, size_t size, enum log_level level, enum log_format format,
		       int64_t wall_ms, const char *message, const struct log_field *fields)
{
	return make_line(line, size, level, format, false, wall_ms, message, fields);
}

/* Sends a line to the journal. Returns whether the journal has taken it. */
static bool write_journal(enum log_level level, const char *line, const char *message,
			  const struct log_field *fields)
{
	const char *program = program_invocation_short_name;
	struct journal_entry entry;
	char number[ESCAPE_MAX];

	journal_begin(&entry);
	journal_put(&entry, "", "MESSAGE", line, strlen(line));
	journal_put(&entry, "", "PRIORITY", &level_priorities[level], 1);
	journal_put(&entry, "", "SYSLOG_IDENTIFIER", program, strlen(program));
	journal_put(&entry, "ZKLEADER_", "EVENT", message, strlen(message));
	for (; fields->key; fields++) {
		int64_t n = fields->type == LOG_TYPE_LIST ? fields->integer : 1;

		for (int64_t i = 0; i < n; i++) {
			const char *value = fields->string;

			if (fields->type == LOG_TYPE_LIST)
				value = fields->list[i];
			else if (fields->type != LOG_TYPE_STRING)
				value = number_text(fields, number);
			if (value)
				journal_put(&entry, "ZKLEADER_", fields->key, value, strlen(value));
		}
	}
	return journal_send(journal_fd, journal_path, &entry) == 0;
}

/* Makes a line and hands it to the journal, or else to standard error. False: neither takes it. */
static bool deliver(enum log_level level, const char *message, const struct log_field *fields)
{
	enum log_format format = (enum log_format)atomic_load(&log_format);
	bool prefix = atomic_load(&log_journal);
	char line[LOG_LINE_MAX];
	int64_t now = clock_wall_ms();
	bool taken = false;
	size_t len;

	if (journal_path) {
		/* A text line for the journal has no time and no level, as the entry has both. */
		make_line(line, sizeof(line), level, format, true, now, message, fields);
		taken = write_journal(level, format == LOG_TEXT ? line + PREFIX_LEN : line, message,
				      fields);
	}
	if (taken)
		return true;
	len = make_line(line, sizeof(line), level, format, prefix, now, message, fields);
	line[len] = '\n'; /* overwrites the NUL */
	return errout_write(STDERR_FILENO, line, len + 1) == 0;
}

static void tell_lost(void)
{
	uint64_t n = atomic_exchange(&lost, 0);

	if (n > 0 && !deliver(LOG_WARNING, "lines of the log were lost",
			      (const struct log_field[]){LOG_UINT("lines", n), LOG_END}))
		atomic_fetch_add(&lost, n);
}

void log_catch_up(void)
{
	int saved = errno;

	if (log_lost() > 0)
		tell_lost();
	errno = saved;
}

uint64_t log_lost(void)
{
	return atomic_load_explicit(&lost, memory_order_relaxed);
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
	int saved = errno;

	log_catch_up();
	if (!deliver(level, message, fields))
		atomic_fetch_add(&lost, 1);
	errno = saved;
}
