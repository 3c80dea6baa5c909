#include "api/output.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/printable.h"

#define WIDTH_DEFAULT  80
#define HEIGHT_DEFAULT 24
#define WIDTH_MIN      20
#define WIDTH_MAX      1000

#define MINUTE	       INT64_C(60)
#define HOUR	       (60 * MINUTE)
#define DAY	       (24 * HOUR)

static int terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w = {0};
	long width = columns ? strtol(columns, NULL, 10) : 0;

	if (width <= 0 && ioctl(fd, TIOCGWINSZ, &w) == 0)
		width = w.ws_col;
	if (width <= 0)
		return WIDTH_DEFAULT;
	if (width < WIDTH_MIN)
		return WIDTH_MIN;
	return width < WIDTH_MAX ? (int)width : WIDTH_MAX;
}

void output_resize(struct output *o)
{
	int fd = fileno(o->out);
	struct winsize w = {0};

	if (o->width > 0)
		o->width = terminal_width(fd);
	if (o->height > 0)
		o->height =
			ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_row > 1 ? w.ws_row : HEIGHT_DEFAULT;
}

void output_init(struct output *o, FILE *out, FILE *err)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");
	int fd = fileno(out);
	bool terminal = fd >= 0 && isatty(fd);

	*o = (struct output){.out = out, .err = err, .now_ms = clock_wall_ms()};
	if (!terminal)
		return;
	bool smart = term && strcmp(term, "dumb") != 0;
	o->width = WIDTH_DEFAULT;
	o->height = smart ? HEIGHT_DEFAULT : 0;
	o->color = smart && (!no_color || no_color[0] == '\0');
	output_resize(o);
}

const char *output_color(const struct output *o, enum color color)
{
	if (!o->color)
		return "";
	switch (color) {
	case COLOR_NONE: return "";
	case COLOR_BOLD: return "\033[1m";
	case COLOR_DIM: return "\033[2m";
	case COLOR_GREEN: return "\033[32m";
	case COLOR_YELLOW: return "\033[33m";
	case COLOR_RED: return "\033[31m";
	}
	return "";
}

__attribute__((format(printf, 1, 0))) static char *format_line(const char *format, va_list ap)
{
	mem_auto char *text = NULL;
	int len = vasprintf(&text, format, ap);

	if (len < 0) {
		text = NULL; /* vasprintf() leaves it undefined after an error */
		return mem_strdup("?");
	}
	return printable_dup(text, (size_t)len);
}

void output_line(const struct output *o, enum color color, const char *format, ...)
{
	const char *begin = output_color(o, color);
	mem_auto char *line = NULL;
	va_list ap;

	va_start(ap, format);
	line = format_line(format, ap);
	va_end(ap);
	fprintf(o->out, "%s%s%s\n", begin, line, begin[0] != '\0' ? "\033[0m" : "");
}

void output_error(const struct output *o, const char *format, ...)
{
	mem_auto char *line = NULL;
	va_list ap;

	va_start(ap, format);
	line = format_line(format, ap);
	va_end(ap);
	/* If both streams go to the same file, their lines keep their order. */
	fflush(o->out);
	fprintf(o->err, "zkleader: %s\n", line);
}

/*
 * Writes JSON, and escapes DEL: the only control character that JSON allows in a string, so jansson
 * does not escape it.
 */
static int write_json(const char *text, size_t len, void *arg)
{
	FILE *out = arg;

	for (const char *del; (del = memchr(text, 0x7f, len)); text = del + 1) {
		fwrite(text, 1, (size_t)(del - text), out);
		fputs("\\u007f", out);
		len -= (size_t)(del - text) + 1;
	}
	fwrite(text, 1, len, out);
	return 0;
}

void output_json(const struct output *o, const json_t *json)
{
	json_dump_callback(json, write_json, o->out,
			   JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
	fputc('\n', o->out);
}

void output_json_line(const struct output *o, const json_t *json)
{
	json_dump_callback(json, write_json, o->out,
			   JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
	fputc('\n', o->out);
}

size_t output_problems(FILE *file, const char *before, const json_t *problems)
{
	for (size_t i = 0; i < json_array_size(problems); i++) {
		const json_t *problem = json_array_get(problems, i);
		const char *name = json_text(problem, "file", "?");
		const char *message = json_text(problem, "message", "?");
		mem_auto char *shown_name = printable_dup(name, strlen(name));
		mem_auto char *shown_message = printable_dup(message, strlen(message));

		int64_t line = json_number(problem, "line", 0);

		/* Without a line, the problem is one of the whole file. */
		if (line > 0)
			fprintf(file, "%s:%" PRId64 ": %s%s\n", shown_name, line, before,
				shown_message);
		else
			fprintf(file, "%s: %s%s\n", shown_name, before, shown_message);
	}
	return json_array_size(problems);
}

int output_flush(const struct output *o)
{
	if (fflush(o->out) != 0 || ferror(o->out))
		return -EIO;
	return 0;
}

bool output_is_closed(const struct output *o)
{
	struct pollfd fd = {.fd = fileno(o->out)};

	return poll(&fd, 1, 0) > 0 && (fd.revents & (POLLERR | POLLHUP));
}

void elapsed_text(int64_t ms, char text[OUTPUT_AGE_SIZE])
{
	static const struct {
		int64_t seconds;
		char name;
	} units[] = {{DAY, 'd'}, {HOUR, 'h'}, {MINUTE, 'm'}, {1, 's'}};
	int64_t left = ms / 1000;
	size_t i = 0;

	if (left < 0)
		left = 0;
	while (left < units[i].seconds && units[i].seconds > 1)
		i++;
	if (units[i].seconds == 1 || left % units[i].seconds < units[i + 1].seconds)
		snprintf(text, OUTPUT_AGE_SIZE, "%" PRId64 "%c", left / units[i].seconds,
			 units[i].name);
	else
		snprintf(text, OUTPUT_AGE_SIZE, "%" PRId64 "%c%" PRId64 "%c",
			 left / units[i].seconds, units[i].name,
			 left % units[i].seconds / units[i + 1].seconds, units[i + 1].name);
}

void age_text(const char *since, int64_t now_ms, char text[OUTPUT_AGE_SIZE])
{
	int64_t then_ms = 0;

	if (!since || clock_parse(since, &then_ms) < 0)
		snprintf(text, OUTPUT_AGE_SIZE, "-");
	else
		elapsed_text(now_ms - then_ms, text); /* 0s if the other clock is ahead of ours */
}

void until_text(const char *at, int64_t now_ms, char text[OUTPUT_AGE_SIZE])
{
	int64_t at_ms;

	if (!at || clock_parse(at, &at_ms) < 0)
		snprintf(text, OUTPUT_AGE_SIZE, "-");
	else if (at_ms <= now_ms)
		snprintf(text, OUTPUT_AGE_SIZE, "now");
	else
		elapsed_text(at_ms - now_ms, text);
}

void duration_text(int64_t ms, char text[OUTPUT_AGE_SIZE])
{
	if (ms < 1000)
		snprintf(text, OUTPUT_AGE_SIZE, "%" PRId64 " ms", ms);
	else if (ms < 10000)
		snprintf(text, OUTPUT_AGE_SIZE, "%" PRId64 ".%" PRId64 " s", ms / 1000,
			 ms % 1000 / 100);
	else if (ms < 60000)
		snprintf(text, OUTPUT_AGE_SIZE, "%" PRId64 " s", ms / 1000);
	else
		elapsed_text(ms, text);
}
