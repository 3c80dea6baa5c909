#include "web/page/html.h"

#include <stdlib.h>

#include "api/output.h"
#include "base/clock.h"
#include "base/mem.h"

void html_text(struct html *h, const char *text)
{
	for (; text && *text; text++) {
		switch (*text) {
		case '&': fputs("&amp;", h->out); break;
		case '<': fputs("&lt;", h->out); break;
		case '>': fputs("&gt;", h->out); break;
		case '"': fputs("&quot;", h->out); break;
		case '\'': fputs("&#39;", h->out); break;
		default: fputc(*text, h->out); break;
		}
	}
}

void html_raw(struct html *h, const char *markup)
{
	fputs(markup, h->out);
}

void html_begin(struct html *h, const char *title, int live)
{
	*h = (struct html){.now_ms = clock_wall_ms()};
	h->out = mem_stream(&h->text, &h->len);
	html_raw(h, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	html_text(h, title);
	html_raw(h, "</title>\n<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n"
		    "<link rel=\"stylesheet\" href=\"/style.css\">\n");
	if (live)
		html_raw(h, "<script src=\"/app.js\" defer></script>\n");
	html_raw(h, "</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n"
		    "<header><a class=\"home\" href=\"/\">zkleader</a>"
		    "<p id=\"link\" role=\"status\"></p></header>\n<main id=\"main\">\n");
}

char *html_end(struct html *h, size_t *ret_len)
{
	html_raw(h, "</main>\n</body>\n</html>\n");
	mem_stream_end(h->out);
	*ret_len = h->len;
	return h->text;
}

void html_cell(struct html *h, const char *class, const char *text)
{
	fprintf(h->out, "<td%s%s%s>", class ? " class=\"" : "", class ? class : "",
		class ? "\"" : "");
	html_text(h, text && *text ? text : "–");
	html_raw(h, "</td>");
}

static void put_time(struct html *h, const char *when, const char *text)
{
	html_raw(h, "<time datetime=\"");
	html_text(h, when);
	html_raw(h, "\" title=\"");
	html_text(h, when);
	html_raw(h, "\">");
	html_text(h, text);
	html_raw(h, "</time>");
}

void html_age(struct html *h, const char *when)
{
	char age[OUTPUT_AGE_SIZE];

	if (!when) {
		html_raw(h, "–");
		return;
	}
	age_text(when, h->now_ms, age);
	put_time(h, when, age);
}

void html_until(struct html *h, const char *when)
{
	char left[OUTPUT_AGE_SIZE];

	if (!when) {
		html_raw(h, "–");
		return;
	}
	until_text(when, h->now_ms, left);
	put_time(h, when, left);
}

void html_badge(struct html *h, const char *class, const char *text)
{
	fprintf(h->out, "<span class=\"badge %s\">", class);
	html_text(h, text);
	html_raw(h, "</span>");
}

void html_task_link(struct html *h, const char *task)
{
	html_raw(h, "<a href=\"/task/");
	html_text(h, task); /* a name has no character with a meaning in a URL */
	html_raw(h, "\">");
	html_text(h, task);
	html_raw(h, "</a>");
}
