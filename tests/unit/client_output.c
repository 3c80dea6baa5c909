#include <criterion/criterion.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "api/output.h"
#include "base/text/printable.h"
#include "cli/ui/table.h"

#define NOW INT64_C(1795226400000) /* 2026-11-21T02:00:00Z */

static const struct {
	const char *text, *shown;
} texts[] = {
	{"", ""},
	{"plain text\\", "plain text\\"},
	{"a\nb\tc\rd", "a\\nb\\tc\\x0dd"},
	{"\033[31mred\a\x7f", "\\x1b[31mred\\x07\\x7f"},
	{"g\xc3\xbcnstig \xe2\x82\xac \xf0\x9f\x98\x80",
	 "g\xc3\xbcnstig \xe2\x82\xac \xf0\x9f\x98\x80"},
	{"\xc2\x9b", "\\xc2\\x9b"}, /* CSI in one character */
	{"a\xe2\x80\xae"
	 "b",
	 "a\\xe2\\x80\\xae"
	 "b"}, /* right to left from here */
	{"\xe2\x81\xa6\xe2\x80\x8f\xe2\x80\xa8", "\\xe2\\x81\\xa6\\xe2\\x80\\x8f\\xe2\\x80\\xa8"},
	{"\xff\xc3", "\\xff\\xc3"},
	{"\xc0\xaf", "\\xc0\\xaf"},		      /* overlong */
	{"\xed\xa0\x80", "\\xed\\xa0\\x80"},	      /* a surrogate */
	{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond U+10FFFF */
	{"\xe2\x82", "\\xe2\\x82"},
};

Test(printable, texts)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *shown = printable_dup(texts[i].text, strlen(texts[i].text));

		cr_expect_str_eq(shown, texts[i].shown, "case %zu: %s", i, shown);
		free(shown);
	}
}

Test(printable, a_nul_is_shown_and_the_bytes_behind_are_not_read)
{
	char out[20];

	cr_expect_eq(printable(out, sizeof(out), "a\0b\xe2\x82\xac", 5), 14);
	cr_expect_str_eq(out, "a\\x00b\\xe2\\x82");
}

Test(printable, too_long_a_text_ends_with_dots)
{
	static const struct {
		const char *text;
		size_t size;
		const char *shown;
	} long_texts[] = {
		{"abcd", 5, "abcd"},
		{"abcde", 5, "a..."},
		{"abc", 4, "abc"},
		{"abcd", 4, "..."},
		{"ab\n\n", 7, "ab\\n\\n"},
		{"ab\n\n", 6, "ab..."},
		{"a\xe2\x82\xac"
		 "bcd",
		 7, "a..."},
		{"a\xe2\x82\xac"
		 "bcd",
		 8,
		 "a\xe2\x82\xac"
		 "bcd"},
		{"\033\033\033", 10, "\\x1b..."},
	};

	for (size_t i = 0; i < sizeof(long_texts) / sizeof(long_texts[0]); i++) {
		char out[32];
		size_t len = printable(out, long_texts[i].size, long_texts[i].text,
				       strlen(long_texts[i].text));

		cr_expect_str_eq(out, long_texts[i].shown, "case %zu: %s", i, out);
		cr_expect_eq(len, strlen(out));
	}
}

Test(output, ages)
{
	static const struct {
		const char *since, *age;
	} ages[] = {
		{"2026-11-21T02:00:00Z", "0s"},	  {"2026-11-21T01:59:01Z", "59s"},
		{"2026-11-21T01:59:00Z", "1m"},	  {"2026-11-21T01:47:55Z", "12m5s"},
		{"2026-11-21T01:00:00Z", "1h"},	  {"2026-11-21T00:59:59Z", "1h"},
		{"2026-11-20T22:58:00Z", "3h2m"}, {"2026-11-20T02:00:00Z", "1d"},
		{"2026-11-17T22:00:00Z", "3d4h"}, {"2016-11-21T02:00:00Z", "3652d"},
		{"2026-11-21T02:00:09Z", "0s"},	  {"yesterday", "-"},
		{"2026-11-20T01:00:01Z", "1d"},
	};
	char text[OUTPUT_AGE_SIZE];

	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		age_text(ages[i].since, NOW, text);
		cr_expect_str_eq(text, ages[i].age, "%s: %s", ages[i].since, text);
	}
	age_text(NULL, NOW, text);
	cr_expect_str_eq(text, "-");
}

Test(output, how_long_until)
{
	static const struct {
		const char *at, *until;
	} cases[] = {
		{"2026-11-21T02:00:00Z", "now"},
		{"2026-11-21T01:59:00Z", "now"},
		{"2026-11-21T02:00:05Z", "5s"},
		{"2026-11-21T02:12:05Z", "12m5s"},
		{"2027-11-21T02:00:00Z", "365d"},
		{"tomorrow", "-"},
		{NULL, "-"},
	};
	char text[OUTPUT_AGE_SIZE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		until_text(cases[i].at, NOW, text);
		cr_expect_str_eq(text, cases[i].until, "case %zu: %s", i, text);
	}
}

/* Prints a little table on a terminal of that width. */
static char *print_table(int width, bool color)
{
	static const struct table_column columns[] = {
		{"NAME", TABLE_CUT}, {"VERSION", TABLE_CUT_LAST}, {"N", TABLE_RIGHT}, {"STATE", 0}};
	static const char *const rows[][4] = {
		{"a-name-of-some-length.example.com", "1.0-alpha-some-more-1", "7", "good"},
		{"b\033[31m", "2.0", "1234", NULL},
	};
	char *text = NULL;
	size_t len;
	struct output o = {.out = open_memstream(&text, &len), .width = width, .color = color};
	struct table *t = table_new(&o, columns, 4);

	table_row(t, rows[0], COLOR_BOLD);
	table_row(t, rows[1], COLOR_NONE);
	table_color(t, 3, COLOR_RED);
	table_print(t);
	fclose(o.out);
	return text;
}

Test(table, text)
{
	static const struct {
		int width;
		const char *text;
	} tables[] = {
		{0, "NAME                              VERSION                  N STATE\n"
		    "a-name-of-some-length.example.com 1.0-alpha-some-more-1    7 good\n"
		    "b\\x1b[31m                         2.0                   1234 -\n"},
		{68, "NAME                              VERSION                  N STATE\n"
		     "a-name-of-some-length.example.com 1.0-alpha-some-more-1    7 good\n"
		     "b\\x1b[31m                         2.0                   1234 -\n"},
		{60, "NAME                        VERSION                  N STATE\n"
		     "a-name-of-som…h.example.com 1.0-alpha-some-more-1    7 good\n"
		     "b\\x1b[31m                   2.0                   1234 -\n"},
		{44, "NAME           VERSION               N STATE\n"
		     "a-name-…le.com 1.0-alpha…e-more-1    7 good\n"
		     "b\\x1b[31m      2.0                1234 -\n"},
	};

	cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		char *text = print_table(tables[i].width, false);

		cr_expect_str_eq(text, tables[i].text, "width %d:\n%s", tables[i].width, text);
		free(text);
	}
}

/* The longest line in columns of a terminal, for ASCII and the one mark. */
static size_t widest(const char *text)
{
	size_t most = 0, n = 0;

	for (; *text; text++) {
		if (*text == '\n')
			n = 0;
		else if (((unsigned char)*text & 0xc0) != 0x80)
			n++;
		if (n > most)
			most = n;
	}
	return most;
}

Test(table, fits_as_long_as_it_can)
{
	static const char *const locales[] = {"C", "C.UTF-8"};

	for (size_t l = 0; l < 2; l++) {
		cr_assert_not_null(setlocale(LC_CTYPE, locales[l]));
		for (int width = 40; width < 70; width++) {
			char *text = print_table(width, false);

			cr_expect_leq(widest(text), (size_t)width, "%s %d:\n%s", locales[l], width,
				      text);
			free(text);
		}
	}
}

Test(table, of_the_columns_that_can_go_the_last_goes_first)
{
	static const struct table_column columns[] = {
		{"START", TABLE_DROP}, {"STATE", 0}, {"TOKEN", TABLE_DROP}};
	static const char *const row[] = {"02:00:00Z", "ok", "4711"};
	static const struct {
		int width;
		const char *text;
	} cases[] = {
		{21, "START     STATE TOKEN\n02:00:00Z ok    4711\n"},
		{20, "START     STATE\n02:00:00Z ok\n"},
		{14, "STATE\nok\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = NULL;
		size_t len;
		struct output o = {.out = open_memstream(&text, &len), .width = cases[i].width};
		struct table *t = table_new(&o, columns, 3);

		table_row(t, row, COLOR_NONE);
		table_print(t);
		fclose(o.out);
		cr_expect_str_eq(text, cases[i].text, "%d:\n%s", cases[i].width, text);
		free(text);
	}
}

/* In a pipe or a file, whatever width the environment says. */
Test(table, off_a_terminal_nothing_is_cut_or_wrapped)
{
	static const struct table_column columns[] = {
		{"A", TABLE_HOST}, {"B", TABLE_CUT},  {"C", TABLE_CUT_LAST},
		{"D", TABLE_DROP}, {"E", TABLE_REST}, {"F", 0},
	};
	char word[301], expected[4000], *text = NULL;
	const char *const row[] = {word, word, word, word, word, "the end of the row"};
	size_t len;
	struct output o;

	memset(word, 'x', 300);
	word[300] = '\0';
	setenv("COLUMNS", "40", 1);
	output_init(&o, open_memstream(&text, &len), stderr);
	struct table *t = table_new(&o, columns, 6);
	table_row(t, row, COLOR_NONE);
	table_print(t);
	fclose(o.out);
	snprintf(expected, sizeof(expected), "\n%s %s %s %s %s the end of the row\n", word, word,
		 word, word, word);
	cr_expect_not_null(strstr(text, expected), "%s", text);
	cr_expect_eq(strchr(strchr(text, '\n') + 1, '\n')[1], '\0', "one line of the row");
	free(text);
}

/* Found by fuzzing: such characters had more columns in the whole than one by one. */
Test(table, characters_that_have_no_width)
{
	static const struct table_column column = {"NAME", TABLE_REST};
	const char *cell = "12345678\xf2\x80\xae\xa5\xf2\x80\xae\xa5";
	char *text = NULL;
	size_t len;

	cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
	struct output o = {.out = open_memstream(&text, &len), .width = 5};
	struct table *t = table_new(&o, &column, 1);
	table_row(t, &cell, COLOR_NONE);
	table_print(t);
	fclose(o.out);
	cr_expect_not_null(strstr(text, "12345678"), "%s", text);
	cr_expect_not_null(strstr(text, "…"), "%s", text);
	cr_expect_null(strstr(text, "\xae\xa5\xf2"), "%s", text);
	free(text);
}

/* The domain goes that all have in common, then the end of a text, a column, and the middle of names. */
Test(table, what_goes_first)
{
	static const struct table_column columns[] = {
		{"HOST", TABLE_HOST}, {"TOKEN", TABLE_DROP}, {"WHAT", TABLE_REST}, {"LAST", 0}};
	static const char *const rows[][4] = {
		{"app-server-000001.eu.example.com", "123456789", "a text of some length", "ok"},
		{"app-server-000002.us.example.com", "12", "b", "ok"},
		{"-", "-", "", "-"},
	};
	static const struct {
		int width;
		const char *first;
	} cases[] = {
		{80, "\napp-server-000001.eu.example.com 123456789 a text of some length ok\n"},
		{69, "\napp-server-000001.eu.example.com 123456789 a text of some length ok\n"},
		{68, "\napp-server-000001.eu 123456789 a text of some length ok\n"},
		{50, "\napp-server-000001.eu 123456789 a text of som… ok\n"},
		{47, "\napp-server-000001.eu a text of som… ok\n"},
		{37, "\napp-serv…00001.eu a text of som… ok\n"},
	};

	cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = NULL;
		size_t len;
		struct output o = {.out = open_memstream(&text, &len), .width = cases[i].width};
		struct table *t = table_new(&o, columns, 4);

		for (size_t row = 0; row < 3; row++)
			table_row(t, rows[row], COLOR_NONE);
		table_print(t);
		fclose(o.out);
		cr_expect_not_null(strstr(text, cases[i].first), "width %d:\n%s", cases[i].width,
				   text);
		free(text);
	}
}

Test(table, domains_in_common)
{
	static const struct table_column column = {"NODE", TABLE_HOST};
	static const struct {
		const char *hosts[3], *shown[3];
	} cases[] = {
		{{"a.x.y", "b.x.y", "c.x.y"}, {"a", "b", "c"}},
		{{"a.x.y", "b.z.y", "c.x.y"}, {"a.x", "b.z", "c.x"}},
		{{"a.x.y", "b.x.z", "c"}, {"a.x.y", "b.x.z", "c"}},
		{{"a.x.y", "a.x.y", "-"}, {"a", "a", "-"}},
		{{"a.xx.y", "b.x.y", "b.ax.y"}, {"a.xx", "b.x", "b.ax"}},
		{{"10.0.0.1", "11.0.0.1", "12.0.0.1"}, {"10.0.0.1", "11.0.0.1", "12.0.0.1"}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = NULL, expected[100];
		size_t len;
		struct output o = {.out = open_memstream(&text, &len), .width = 4};
		struct table *t = table_new(&o, &column, 1);

		snprintf(expected, sizeof(expected), "NODE\n%s\n%s\n%s\n", cases[i].shown[0],
			 cases[i].shown[1], cases[i].shown[2]);
		for (size_t row = 0; row < 3; row++)
			table_row(t, &cases[i].hosts[row], COLOR_NONE);
		table_print(t);
		fclose(o.out);
		cr_expect_str_eq(text, expected, "case %zu:\n%s", i, text);
		free(text);
	}
}

Test(table, colours_only_where_wanted)
{
	char *text = print_table(0, false);

	cr_expect_null(strchr(text, '\033'));
	free(text);
	text = print_table(80, true);
	cr_expect_not_null(strstr(text, "\033[1m"));
	cr_expect_not_null(strstr(text, "\033[31m-"));
	cr_expect_null(strstr(text, "b\033"));
	free(text);
}

Test(output, lines_are_escaped_and_coloured)
{
	char *text = NULL;
	size_t len;
	struct output o = {.out = open_memstream(&text, &len)};

	output_line(&o, COLOR_RED, "%s", "a\033b");
	o.color = true;
	output_line(&o, COLOR_RED, "%s", "a\033b");
	output_line(&o, COLOR_NONE, "%d\n", 1);
	fclose(o.out);
	cr_expect_str_eq(text, "a\\x1bb\n\033[31ma\\x1bb\033[0m\n1\\n\n");
	free(text);
}

Test(output, no_terminal_no_colour)
{
	struct output o;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	setenv("TERM", "xterm", 1);
	setenv("COLUMNS", "80", 1);
	output_init(&o, out, out);
	cr_expect(!o.color && o.width == 0 && !o.json);
	fclose(out);
	free(text);
}

Test(output, a_full_disk_is_noticed)
{
	struct output o = {.out = fopen("/dev/full", "w")};

	output_line(&o, COLOR_NONE, "x");
	cr_expect_eq(output_flush(&o), -EIO);
	fclose(o.out);
}

/* Found by fuzzing: JSON allows DEL as it is. */
Test(json, no_control_character_is_printed)
{
	json_t *json = json_pack("{s:s}", "a\177", "\177b\033\177");
	char *text = NULL;
	size_t len;
	struct output o = {.out = open_memstream(&text, &len)};

	output_json_line(&o, json);
	fclose(o.out);
	cr_expect_str_eq(text, "{\"a\\u007f\":\"\\u007fb\\u001B\\u007f\"}\n", "%s", text);
	json_decref(json);
	free(text);
}
