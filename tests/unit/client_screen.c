/* The rows of the terminal that the screens of --watch write. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "cli/ui/screen.h"

#define BEGIN "\033[?1049h\033[?25l\033[?7l\033[H"
#define END   "\033[?7h"

/* Draws a page of one line, which stands above an empty table. */
static void draws(const char *line, const char *row)
{
	char *text = NULL, expected[400];
	size_t len;
	struct output o = {.out = open_memstream(&text, &len), .width = 10, .height = 24};
	struct screen s;

	screen_init(&s, &o);
	screen_draw(&s, &(struct screen_page){.above = line, .table = "", .below = ""});
	fflush(o.out);
	snprintf(expected, sizeof(expected), BEGIN "\033[J%s" END, row);
	cr_expect_str_eq(text, expected, "%s", text);
	screen_end(&s);
	fclose(o.out);
	free(text);
}

Test(screen, a_line_is_cut_at_the_last_column)
{
	cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
	draws("0123456789\n", "0123456789");
	draws("0123456789X\n", "012345678\xe2\x80\xa6");
	draws("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
	      "56789\n",
	      "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
	      "56789");
	draws("\033[31m0123456789\033[0m\n", "\033[31m0123456789\033[0m");
	draws("\033[31m0123456789X\033[0mY\n", "\033[31m012345678\xe2\x80\xa6\033[0m");
}

Test(screen, the_mark_is_in_ascii_where_there_is_no_other)
{
	draws("0123456789X\n", "012345678~");
}
