#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "base/log/log.h"
#include "base/text/names.h"

#define WALL	 INT64_C(1795140000042)
#define NOW	 "2026-11-20T02:00:00.042Z"
#define TEXT(s)	 NOW " info " s
#define JSON(s)	 "{\"time\":\"" NOW "\",\"level\":\"info\"," s "}"
#define N_FIELDS 8

/* --- a small reader of flat JSON objects, so that validity is not a matter of looking -------- */

static bool json_string(const char **s)
{
	if (*(*s)++ != '"')
		return false;
	while (**s != '"') {
		if ((unsigned char)**s < 0x20)
			return false;
		if (*(*s)++ != '\\')
			continue;
		if (**s == 'u') {
			if (strspn(*s + 1, "0123456789abcdef") < 4)
				return false;
			*s += 5;
		} else if (**s != '\0' && strchr("\"\\nt", **s)) {
			(*s)++;
		} else {
			return false;
		}
	}
	(*s)++;
	return true;
}

static bool json_value(const char **s)
{
	size_t n;

	if (**s == '[') { /* of strings */
		do
			(*s)++;
		while (json_string(s) && **s == ',');
		return *(*s)++ == ']';
	}
	if (**s == '"')
		return json_string(s);
	if (**s == '-')
		(*s)++;
	n = strspn(*s, "0123456789");
	*s += n;
	return n > 0;
}

static bool is_json(const char *s)
{
	if (*s++ != '{')
		return false;
	while (json_string(&s) && *s++ == ':' && json_value(&s)) {
		if (*s == '}')
			return s[1] == '\0';
		if (*s++ != ',')
			return false;
	}
	return false;
}

/* --- lines ------------------------------------------------------------------------------------ */

Test(log, lines)
{
	static const char *const bare[] = {"job-9", "job-10"}, *const odd[] = {"a b", "c\""};
	static const struct {
		struct log_field fields[N_FIELDS];
		const char *text;
		const char *json;
	} cases[] = {
		{{{.key = NULL}}, TEXT("leading"), JSON("\"message\":\"leading\"")},
		{{{.key = "task", .string = "nightly-report"},
		  {.key = "from", .string = "following"},
		  {.key = "token", .type = LOG_TYPE_HEX, .integer = 0x1a},
		  {.key = "reason", .string = "yielded by better"}},
		 TEXT("leading task=nightly-report from=following token=0x1a "
		      "reason=\"yielded by better\""),
		 JSON("\"message\":\"leading\",\"task\":\"nightly-report\",\"from\":\"following\","
		      "\"token\":\"0x1a\",\"reason\":\"yielded by better\"")},
		{{{.key = "a", .type = LOG_TYPE_INT, .integer = INT64_MIN},
		  {.key = "b", .type = LOG_TYPE_INT, .integer = INT64_MAX},
		  {.key = "c", .type = LOG_TYPE_UINT, .integer = -1},
		  {.key = "d", .type = LOG_TYPE_HEX, .integer = -1},
		  {.key = "e", .type = LOG_TYPE_INT},
		  {.key = "f", .type = LOG_TYPE_HEX}},
		 TEXT("leading a=-9223372036854775808 b=9223372036854775807 "
		      "c=18446744073709551615 d=0xffffffffffffffff e=0 f=0x0"),
		 JSON("\"message\":\"leading\",\"a\":-9223372036854775808,"
		      "\"b\":9223372036854775807,\"c\":18446744073709551615,"
		      "\"d\":\"0xffffffffffffffff\",\"e\":0,\"f\":\"0x0\"")},
		{{{.key = "task", .type = LOG_TYPE_LIST, .list = bare, .integer = 2},
		  {.key = "b", .type = LOG_TYPE_LIST, .list = odd, .integer = 2},
		  {.key = "c", .type = LOG_TYPE_LIST, .list = bare, .integer = 1}},
		 TEXT("leading task=job-9,job-10 b=\"a b\",\"c\\\"\" c=job-9"),
		 JSON("\"message\":\"leading\",\"task\":[\"job-9\",\"job-10\"],"
		      "\"b\":[\"a b\",\"c\\\"\"],\"c\":[\"job-9\"]")},
		/* NULL leaves its field out, and only that. */
		{{{.key = "a", .string = NULL}, {.key = "b", .string = "x"}, {.key = "c"}},
		 TEXT("leading b=x"),
		 JSON("\"message\":\"leading\",\"b\":\"x\"")},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char line[LOG_LINE_MAX];
		size_t n;

		n = log_format_line(line, sizeof(line), LOG_INFO, LOG_TEXT, WALL, "leading",
				    cases[i].fields);
		cr_assert_str_eq(line, cases[i].text, "case %zu: %s", i, line);
		cr_assert_eq(n, strlen(line));
		n = log_format_line(line, sizeof(line), LOG_INFO, LOG_JSON, WALL, "leading",
				    cases[i].fields);
		cr_assert_str_eq(line, cases[i].json, "case %zu: %s", i, line);
		cr_assert_eq(n, strlen(line));
		cr_assert(is_json(line));
	}
}

Test(log, a_list_goes_into_lines_that_are_not_cut)
{
	static char names[50][101];
	const char *list[50];
	char line[LOG_LINE_MAX];
	size_t part;

	for (size_t i = 0; i < 50; i++) {
		memset(names[i], 'x', 100);
		list[i] = names[i];
	}
	for (size_t i = 0; i < 50; i += part) {
		part = names_fit(list + i, 50 - i, LOG_LIST_MAX);
		cr_assert_gt(part, 0);
		const struct log_field fields[] = {LOG_LIST("task", list + i, part), LOG_END};
		log_format_line(line, sizeof(line), LOG_INFO, LOG_JSON, WALL, "leading", fields);
		cr_expect_null(strstr(line, "\"cut\""), "%s", line);
		cr_expect(is_json(line));
	}
}

Test(log, levels)
{
	static const char *const words[] = {"error", "warning", "info", "debug"};

	for (int i = 0; i < 4; i++) {
		char expected[LOG_LINE_MAX];
		char line[LOG_LINE_MAX];

		snprintf(expected, sizeof(expected), NOW " %s stopped", words[i]);
		log_format_line(line, sizeof(line), (enum log_level)i, LOG_TEXT, WALL, "stopped",
				&LOG_END);
		cr_assert_str_eq(line, expected);
		snprintf(expected, sizeof(expected),
			 "{\"time\":\"" NOW "\",\"level\":\"%s\",\"message\":\"stopped\"}",
			 words[i]);
		log_format_line(line, sizeof(line), (enum log_level)i, LOG_JSON, WALL, "stopped",
				&LOG_END);
		cr_assert_str_eq(line, expected);
	}
}

Test(log, strings)
{
	static const struct {
		const char *value;
		const char *text;
		const char *json; /* without its quotes */
	} cases[] = {
		{"azAZ09._:/@+-", "azAZ09._:/@+-", "azAZ09._:/@+-"},
		{"", "\"\"", ""},
		{"a b", "\"a b\"", "a b"},
		{"a=b", "\"a=b\"", "a=b"},
		{"{}", "\"{}\"", "{}"},
		{"say \"x\"", "\"say \\\"x\\\"\"", "say \\\"x\\\""},
		{"a\\b", "\"a\\\\b\"", "a\\\\b"},
		{"a\nb", "\"a\\nb\"", "a\\nb"},
		{"a\tb", "\"a\\tb\"", "a\\tb"},
		{"a\rb", "\"a\\x0db\"", "a\\u000db"},
		{"\x1b[2J", "\"\\x1b[2J\"", "\\u001b[2J"},
		{"\x01\x1f", "\"\\x01\\x1f\"", "\\u0001\\u001f"},
		{"\x7f", "\"\\x7f\"", "\\u007f"},
		/* UTF-8 stays as it is: é, €, 😀. */
		{"\xc3\xa9", "\"\xc3\xa9\"", "\xc3\xa9"},
		{"\xe2\x82\xac", "\"\xe2\x82\xac\"", "\xe2\x82\xac"},
		{"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"", "\xf0\x9f\x98\x80"},
		{"\xc2\xa0", "\"\xc2\xa0\"", "\xc2\xa0"},
		/* C1 controls, of which U+009B begins an escape. */
		{"\xc2\x80", "\"\\xc2\\x80\"", "\\u0080"},
		{"\xc2\x9b", "\"\\xc2\\x9b\"", "\\u009b"},
		{"\xc2\x9f", "\"\\xc2\\x9f\"", "\\u009f"},
		/* Line separators and marks of direction. */
		{"\xe2\x80\xa8", "\"\\xe2\\x80\\xa8\"", "\\u2028"},
		{"\xe2\x80\xae", "\"\\xe2\\x80\\xae\"", "\\u202e"},
		{"\xe2\x81\xa6", "\"\\xe2\\x81\\xa6\"", "\\u2066"},
		{"\xe2\x80\x8f", "\"\\xe2\\x80\\x8f\"", "\\u200f"},
		/* No UTF-8: lone, cut, overlong, surrogate, beyond the last. */
		{"\x9b", "\"\\x9b\"", "\\ufffd"},
		{"\xff", "\"\\xff\"", "\\ufffd"},
		{"\xf8\x88\x80\x80\x80", "\"\\xf8\\x88\\x80\\x80\\x80\"",
		 "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd"},
		{"a\xc3", "\"a\\xc3\"", "a\\ufffd"},
		{"\xe2\x82", "\"\\xe2\\x82\"", "\\ufffd\\ufffd"},
		{"\xe2\x82z", "\"\\xe2\\x82z\"", "\\ufffd\\ufffdz"},
		{"\xc0\xaf", "\"\\xc0\\xaf\"", "\\ufffd\\ufffd"},
		{"\xc1\x8a", "\"\\xc1\\x8a\"", "\\ufffd\\ufffd"},
		{"\xe0\x9f\xbf", "\"\\xe0\\x9f\\xbf\"", "\\ufffd\\ufffd\\ufffd"},
		{"\xed\xa0\x80", "\"\\xed\\xa0\\x80\"", "\\ufffd\\ufffd\\ufffd"},
		{"\xf0\x8f\xbf\xbf", "\"\\xf0\\x8f\\xbf\\xbf\"", "\\ufffd\\ufffd\\ufffd\\ufffd"},
		{"\xf4\x90\x80\x80", "\"\\xf4\\x90\\x80\\x80\"", "\\ufffd\\ufffd\\ufffd\\ufffd"},
		{"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"", "\xf4\x8f\xbf\xbf"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct log_field fields[] = {LOG_STR("k", cases[i].value), LOG_END};
		char expected[LOG_LINE_MAX];
		char line[LOG_LINE_MAX];

		snprintf(expected, sizeof(expected), TEXT("m k=%s"), cases[i].text);
		log_format_line(line, sizeof(line), LOG_INFO, LOG_TEXT, WALL, "m", fields);
		cr_assert_str_eq(line, expected, "case %zu: %s", i, line);
		snprintf(expected, sizeof(expected), JSON("\"message\":\"m\",\"k\":\"%s\""),
			 cases[i].json);
		log_format_line(line, sizeof(line), LOG_INFO, LOG_JSON, WALL, "m", fields);
		cr_assert_str_eq(line, expected, "case %zu: %s", i, line);
	}
}

/* Whatever the bytes, the line is UTF-8 (by the C library's opinion) without any control. */
static void check_line(const char *line, size_t len)
{
	mbstate_t state = {0};

	cr_assert_eq(strlen(line), len);
	for (const char *s = line; *s != '\0';) {
		wchar_t c;
		size_t n = mbrtowc(&c, s, MB_CUR_MAX, &state);

		cr_assert(n > 0 && n <= MB_CUR_MAX, "no UTF-8 at %zu", (size_t)(s - line));
		cr_assert_not(iswcntrl((wint_t)c), "control %#x", (unsigned)c);
		s += n;
	}
}

Test(log, nothing_gets_through)
{
	srandom(1);
	cr_assert_not_null(setlocale(LC_ALL, "C.UTF-8"));
	for (int i = 0; i < 20000; i++) {
		char value[64];
		struct log_field fields[] = {LOG_STR("k", value), LOG_INT("after", i), LOG_END};
		char line[256];
		size_t n = (size_t)random() % sizeof(value);
		size_t len;

		for (size_t j = 0; j < n; j++)
			value[j] =
				(char)(random() % 3 ? 0x80 + random() % 128 : 1 + random() % 127);
		value[n] = '\0';
		len = log_format_line(line, sizeof(line), LOG_INFO, LOG_TEXT, WALL, "m", fields);
		check_line(line, len);
		cr_assert(strstr(line, " after=") || strcmp(line + len - 4, " ...") == 0);
		len = log_format_line(line, sizeof(line), LOG_INFO, LOG_JSON, WALL, "m", fields);
		check_line(line, len);
		cr_assert(is_json(line), "%s", line);
	}
}

/* --- what is too long ------------------------------------------------------------------------- */

Test(log, cut_at_a_whole_field)
{
	static const size_t sizes[] = {LOG_LINE_MIN, 200, LOG_LINE_MAX};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		bool cut_text = false;
		bool cut_json = false;

		for (size_t n = 0; n < sizes[s] + 10; n++) {
			char value[LOG_LINE_MAX + 20] = "";
			struct log_field fields[] = {LOG_STR("a", "x"), LOG_STR("k", value),
						     LOG_STR("z", "y"), LOG_END};
			char line[LOG_LINE_MAX];
			size_t len;

			memset(value, 'v', n);
			value[n] = '\0';
			len = log_format_line(line, sizes[s], LOG_ERROR, LOG_TEXT, WALL, "m",
					      fields);
			cr_assert(len == strlen(line) && len < sizes[s]);
			cr_assert(!cut_text || strstr(line, "..."), "longer but not cut");
			if (strstr(line, "..."))
				cut_text = true;
			if (cut_text)
				cr_assert(strcmp(line, NOW " error m a=x ...") == 0 ||
						  strcmp(line + len - 5, "v ...") == 0,
					  "%s", line);
			len = log_format_line(line, sizes[s], LOG_ERROR, LOG_JSON, WALL, "m",
					      fields);
			cr_assert(len == strlen(line) && len < sizes[s]);
			cr_assert(is_json(line), "%s", line);
			if (strstr(line, "\"cut\":\"...\"}"))
				cut_json = true;
			else
				cr_assert_not(cut_json);
		}
		cr_assert(cut_text && cut_json);
	}
}

Test(log, cut_message)
{
	char message[3000];
	char line[LOG_LINE_MAX];

	memset(message, 'm', sizeof(message));
	message[sizeof(message) - 1] = '\0';
	log_format_line(line, sizeof(line), LOG_INFO, LOG_TEXT, WALL, message, &LOG_END);
	cr_assert_str_eq(line, NOW " info  ...");
	log_format_line(line, sizeof(line), LOG_INFO, LOG_JSON, WALL, message, &LOG_END);
	cr_assert_str_eq(line, "{\"time\":\"" NOW "\",\"level\":\"info\",\"cut\":\"...\"}");
}

/* --- settings --------------------------------------------------------------------------------- */

Test(log, enabled)
{
	for (int set = LOG_ERROR; set <= LOG_DEBUG; set++) {
		log_setup((enum log_level)set, LOG_TEXT, false);
		for (int level = LOG_ERROR; level <= LOG_DEBUG; level++)
			cr_assert_eq(log_enabled((enum log_level)level), level <= set);
	}
}

/* --- standard error --------------------------------------------------------------------------- */

/* Captures what f writes to standard error, through a file so that no amount of it blocks. */
static size_t capture(void (*f)(void), char *text, size_t size)
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t n;

	cr_assert_not_null(file);
	cr_assert(saved >= 0);
	cr_assert(dup2(fileno(file), STDERR_FILENO) >= 0);
	f();
	cr_assert(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	rewind(file);
	n = fread(text, 1, size - 1, file);
	text[n] = '\0';
	fclose(file);
	return n;
}

static int evaluated;

static void write_some(void)
{
	errno = EDOM;
	log_error("broken", LOG_STR("why", "x y"));
	log_warning("odd", LOG_INT("n", 1), LOG_INT("m", 2));
	log_info("calm", LOG_END);
	log_debug("noise", LOG_INT("n", ++evaluated));
	cr_assert_eq(errno, EDOM);
}

Test(log, journal)
{
	char text[4096];

	log_setup(LOG_INFO, LOG_TEXT, true);
	evaluated = 0;
	capture(write_some, text, sizeof(text));
	cr_assert_str_eq(text, "<3>broken why=\"x y\"\n<4>odd n=1 m=2\n<6>calm\n");
	cr_assert_eq(evaluated, 0, "the fields of a line that is not written cost nothing");
	log_setup(LOG_DEBUG, LOG_TEXT, true);
	capture(write_some, text, sizeof(text));
	cr_assert(strstr(text, "\n<7>noise n=1\n"));
}

Test(log, no_journal)
{
	char text[4096];

	log_setup(LOG_ERROR, LOG_TEXT, false);
	capture(write_some, text, sizeof(text));
	cr_assert(strlen(text) > 24 && text[10] == 'T' && text[19] == '.' && text[23] == 'Z');
	cr_assert_str_eq(text + 24, " error broken why=\"x y\"\n");
}

Test(log, json_with_journal_has_no_prefix)
{
	char text[4096];
	char *end;

	log_setup(LOG_ERROR, LOG_JSON, true);
	capture(write_some, text, sizeof(text));
	end = strchr(text, '\n');
	cr_assert(end && end[1] == '\0');
	*end = '\0';
	cr_assert(is_json(text), "%s", text);
}

static void write_closed(void)
{
	close(STDERR_FILENO);
	errno = 0;
	log_error("nobody hears this", LOG_END);
	cr_assert_eq(errno, 0);
}

Test(log, closed_standard_error)
{
	char text[64];

	log_setup(LOG_INFO, LOG_TEXT, false);
	cr_assert_eq(capture(write_closed, text, sizeof(text)), 0);
}

static void write_too_long(void)
{
	char value[LOG_LINE_MAX * 2];

	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	log_error("broken", LOG_STR("k", value));
}

Test(log, too_long)
{
	char text[LOG_LINE_MAX * 2];

	log_setup(LOG_INFO, LOG_TEXT, true);
	capture(write_too_long, text, sizeof(text));
	cr_assert_str_eq(text, "<3>broken ...\n");
}

#define THREADS 4
#define LINES	500

static void *write_lines(void *name)
{
	char value[1001];

	memset(value, *(char *)name, sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	for (int i = 0; i < LINES; i++) {
		log_setup(LOG_INFO, LOG_TEXT, true); /* a reload meanwhile */
		log_info("m", LOG_STR("k", value));
	}
	return NULL;
}

static void write_from_threads(void)
{
	char names[THREADS] = {'a', 'b', 'c', 'd'};
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, write_lines, &names[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

Test(log, threads_do_not_mix_lines)
{
	enum { LINE = 3 + 1 + 3 + 1000 + 1 };
	static char text[THREADS * LINES * LINE + 1];
	size_t n = capture(write_from_threads, text, sizeof(text));
	int counts[THREADS] = {0};

	cr_assert_eq(n, THREADS * LINES * LINE);
	for (size_t i = 0; i < n; i += LINE) {
		char first = text[i + 7];

		cr_assert(first >= 'a' && first < 'a' + THREADS);
		cr_assert_eq(memcmp(text + i, "<6>m k=", 7), 0);
		for (size_t j = 7; j < LINE - 1; j++)
			cr_assert_eq(text[i + j], first);
		cr_assert_eq(text[i + LINE - 1], '\n');
		counts[first - 'a']++;
	}
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(counts[i], LINES);
}
