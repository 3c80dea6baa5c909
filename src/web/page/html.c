#include "web/page/html.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

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

static size_t url_length(const char *text)
{
	static const char *const schemes[] = {"http://", "https://"};
	size_t len, scheme = 0;

	for (size_t i = 0; i < 2 && scheme == 0; i++)
		if (strncasecmp(text, schemes[i], strlen(schemes[i])) == 0)
			scheme = strlen(schemes[i]);
	if (scheme == 0)
		return 0;
	for (len = scheme; (unsigned char)text[len] > ' ' && !strchr("<>\"'`\x7f", text[len]);)
		len++;
	/* A sentence may end behind it. A bracket belongs to it if it was opened in it. */
	while (len > scheme && strchr(".,;:!?)]}", text[len - 1]) &&
	       !(text[len - 1] == ')' && memchr(text, '(', len)))
		len--;
	return len > scheme ? len : 0;
}

void html_linked(struct html *h, const char *text)
{
	const char *at = text;
	size_t len = 0;

	while (at && *at) {
		mem_auto char *url = NULL, *before = NULL;
		const char *from = at;

		while (*at && (len = url_length(at)) == 0)
			at++;
		before = mem_strndup(from, (size_t)(at - from));
		html_text(h, before);
		if (!*at)
			return;
		url = mem_strndup(at, len);
		html_raw(h, "<a rel=\"noopener noreferrer\" href=\"");
		html_text(h, url);
		html_raw(h, "\">");
		html_text(h, url);
		html_raw(h, "</a>");
		at += len;
	}
}

void html_query(struct html *h, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (isalnum(c) || strchr("-._:*", c))
			fputc(c, h->out);
		else
			fprintf(h->out, "%%%02X", c);
	}
}

static void place_link(struct html *h, const char *path, const char *name, bool here)
{
	fprintf(h->out, "<a href=\"%s\"%s>%s</a>", path, here ? " aria-current=\"page\"" : "",
		name);
}

void html_begin(struct html *h, const char *title, enum html_place place, bool live)
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
		    "<header><a class=\"home\" href=\"/\">zkleader</a><nav aria-label=\"Pages\">");
	place_link(h, "/", "Fleet", place == HTML_HOME);
	place_link(h, "/runs", "Runs", place == HTML_RUNS);
	place_link(h, "/night", "Night", place == HTML_NIGHT);
	html_raw(h, "</nav>");
	if (place == HTML_HOME)
		html_raw(h, "<nav class=\"parts\" aria-label=\"Parts of this page\">"
			    "<a href=\"#tasks-part\">Tasks</a><a href=\"#queues-part\">Queues</a>"
			    "<a href=\"#workers-part\">Workers</a></nav>");
	html_raw(h, "<p id=\"link\" role=\"status\"></p></header>\n<main id=\"main\">\n");
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
	char left[OUTPUT_AGE_SIZE], text[OUTPUT_AGE_SIZE + 3];

	if (!when) {
		html_raw(h, "–");
		return;
	}
	until_text(when, h->now_ms, left);
	snprintf(text, sizeof(text), "%s%s", isdigit((unsigned char)left[0]) ? "in " : "", left);
	put_time(h, when, text);
}

void html_clock_text(const struct html *h, int64_t ms, bool seconds, char text[HTML_CLOCK_SIZE])
{
	static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t s = (time_t)(ms / 1000), now = (time_t)(h->now_ms / 1000);
	struct tm at, today;
	int used = 0;

	gmtime_r(&s, &at);
	gmtime_r(&now, &today);
	if (at.tm_year != today.tm_year)
		used = snprintf(text, HTML_CLOCK_SIZE, "%d %s %d ", at.tm_mday, months[at.tm_mon],
				at.tm_year + 1900);
	else if (at.tm_yday != today.tm_yday)
		used = snprintf(text, HTML_CLOCK_SIZE, "%d %s ", at.tm_mday, months[at.tm_mon]);
	used += snprintf(text + used, HTML_CLOCK_SIZE - (size_t)used, "%02d:%02d", at.tm_hour,
			 at.tm_min);
	if (seconds)
		snprintf(text + used, HTML_CLOCK_SIZE - (size_t)used, ":%02d", at.tm_sec);
}

void html_clock(struct html *h, const char *when)
{
	char text[HTML_CLOCK_SIZE];
	int64_t ms;

	if (!when || clock_parse(when, &ms) < 0) {
		html_raw(h, "–");
		return;
	}
	html_clock_text(h, ms, true, text);
	html_raw(h, "<time class=\"at\" datetime=\"");
	html_text(h, when);
	html_raw(h, "\" title=\"");
	html_text(h, when);
	fprintf(h->out, "\">%s</time>", text);
}

void html_badge(struct html *h, const char *class, const char *text)
{
	fprintf(h->out, "<b class=\"badge %s\">", class);
	html_text(h, text);
	html_raw(h, "</b>");
}

void html_task_link(struct html *h, const char *task)
{
	html_raw(h, "<a href=\"/task/");
	html_text(h, task); /* a name has no character with a meaning in a URL */
	html_raw(h, "\">");
	html_text(h, task);
	html_raw(h, "</a>");
}
