/* Pieces of HTML: text is escaped wherever it comes from. */
#ifndef ZKLEADER_WEB_PAGE_HTML_H
#define ZKLEADER_WEB_PAGE_HTML_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct html {
	FILE *out;
	int64_t now_ms;
	char *text;
	size_t len;
};

/* Begins a page: its head, and the header that all pages have. live: it is kept up to date. */
void html_begin(struct html *h, const char *title, int live);
/* Ends the page, and returns it for the caller to free. */
char *html_end(struct html *h, size_t *ret_len);
/* Adds text with escapes; NULL: nothing. */
void html_text(struct html *h, const char *text);
/* Adds markup as it is. */
void html_raw(struct html *h, const char *markup);
/* A cell with this text, "–" for NULL or "". */
void html_cell(struct html *h, const char *class, const char *text);
/* The age of an RFC 3339 time, and the time itself on pointing at it; "–" for NULL. */
void html_age(struct html *h, const char *when);
/* The same for a time to come: in how long that is. */
void html_until(struct html *h, const char *when);
/* A label with a meaning: class is one of ok, warn, bad, idle. */
void html_badge(struct html *h, const char *class, const char *text);
/* A link to a task's page. */
void html_task_link(struct html *h, const char *task);

#endif
