/* Pieces of HTML: text is escaped wherever it comes from. */
#ifndef ZKLEADER_WEB_PAGE_HTML_H
#define ZKLEADER_WEB_PAGE_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HTML_CLOCK_SIZE 40

struct html {
	FILE *out;
	int64_t now_ms;
	char *text;
	size_t len;
};

/* The pages that the header leads to. */
enum html_place { HTML_HOME, HTML_RUNS, HTML_NIGHT, HTML_ELSEWHERE };

/* Begins a page: its head, and the header that all pages have. live: it is kept up to date. */
void html_begin(struct html *h, const char *title, enum html_place place, bool live);
/* Ends the page, and returns it for the caller to free. */
char *html_end(struct html *h, size_t *ret_len);
/* Adds text with escapes; NULL: nothing. */
void html_text(struct html *h, const char *text);
/* The same, and each URL of http or https in it is a link. */
void html_linked(struct html *h, const char *text);
/* Adds text as a part of a URL's query. */
void html_query(struct html *h, const char *text);
/* Adds markup as it is. */
void html_raw(struct html *h, const char *markup);
/* A cell with this text, "–" for NULL or "". */
void html_cell(struct html *h, const char *class, const char *text);
/* The age of an RFC 3339 time; "–" for NULL. */
void html_age(struct html *h, const char *when);
/* An RFC 3339 time of a clock in UTC, with its day unless that is today; "–" for NULL. */
void html_clock(struct html *h, const char *when);
/* The same as text, without markup; seconds: with them. */
void html_clock_text(const struct html *h, int64_t ms, bool seconds, char text[HTML_CLOCK_SIZE]);
/* The same for a time to come: in how long that is. */
void html_until(struct html *h, const char *when);
/* A label with a meaning: class is one of ok, warn, bad, idle. */
void html_badge(struct html *h, const char *class, const char *text);
/* A link to a task's page. */
void html_task_link(struct html *h, const char *task);

#endif
