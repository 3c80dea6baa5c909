#include "cli/ui/screen.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/ui/table.h"

#define BELOW_PART 4 /* the part below the table gets at most a quarter of the screen */

#define ENTER	   "\033[?1049h\033[?25l"
#define LEAVE	   "\033[?25h\033[?1049l"

/* --- taking the terminal, and giving it back ------------------------------ */

/*
 * Whether this process is in the background, where it must not read, write or change the terminal.
 */
static bool in_background(int fd)
{
	pid_t group = tcgetpgrp(fd);

	return group > 0 && group != getpgrp();
}

static void take_keys(struct screen *s)
{
	struct termios raw;

	s->keys = -1;
	if (!isatty(STDIN_FILENO) || in_background(STDIN_FILENO) ||
	    tcgetattr(STDIN_FILENO, &s->before) < 0)
		return;
	raw = s->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0)
		s->keys = STDIN_FILENO;
}

static void take(struct screen *s)
{
	s->taken = true;
	take_keys(s);
	fputs(ENTER, s->output->out);
}

void screen_init(struct screen *s, const struct output *o)
{
	*s = (struct screen){.output = o, .keys = -1};
}

void screen_end(struct screen *s)
{
	if (s->taken) {
		fprintf(s->output->out, "%s%s", LEAVE, s->last ? s->last : "");
		fflush(s->output->out);
		if (s->keys >= 0)
			tcsetattr(s->keys, TCSANOW, &s->before);
	}
	s->taken = false;
	s->keys = -1;
	free(s->last);
	s->last = NULL;
}

/* --- drawing -------------------------------------------------------------- */

/* The number of lines of each part that are drawn. */
struct layout {
	size_t above, head, body, below, note, status;
};

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

/*
 * Divides the rows of the screen. If there are too few, parts are left out until a line of the
 * table fits: first the part below it, then that above it, the status, the note, and the head.
 */
static struct layout lay_out(const struct screen *s, const struct screen_page *page, size_t rows)
{
	struct layout l = {.above = count_lines(page->above),
			   .head = page->table[0] != '\0',
			   .body = s->n_lines,
			   .below = count_lines(page->below),
			   .note = page->note != NULL,
			   .status = s->filter[0] != '\0' || s->typing};
	size_t *const parts[] = {&l.below, &l.above, &l.status, &l.note, &l.head};
	size_t fixed = l.above + l.head + l.below + l.note + l.status;

	if (fixed + l.body <= rows)
		return l;
	l.status = 1;
	if (l.below > rows / BELOW_PART)
		l.below = rows / BELOW_PART;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		fixed = l.above + l.head + l.below + l.note + l.status;
		if (fixed + (l.body > 0) <= rows)
			break;
		*parts[i] = 0;
	}
	fixed = l.above + l.head + l.below + l.note + l.status;
	if (l.body > rows - fixed)
		l.body = rows - fixed;
	return l;
}

static const char *skip_lines(const char *text, size_t n)
{
	while (n-- > 0 && *text != '\0')
		text += strcspn(text, "\n") + 1;
	return text;
}

static void put_lines(FILE *f, const char *text, size_t n)
{
	const char *end = skip_lines(text, n);

	fprintf(f, "%.*s", (int)(end - text), text);
}

/* Prints n lines of the text. If it has more, the last line says how many are missing. */
static void put_below(FILE *f, const char *text, size_t n)
{
	size_t all = count_lines(text);

	if (n == 0 || n >= all) {
		put_lines(f, text, n);
		return;
	}
	put_lines(f, text, n - 1);
	fprintf(f, "... and %zu more\n", all - (n - 1));
}

static void put_status(FILE *f, const struct screen *s, const struct screen_page *page,
		       const struct layout *l)
{
	const struct output *o = s->output;

	fputs(output_color(o, COLOR_DIM), f);
	if (s->n_lines > l->body)
		fprintf(f, "%zu-%zu of ", s->top + 1, s->top + l->body);
	fprintf(f, "%zu", s->n_lines);
	if (s->n_lines < page->n_all)
		fprintf(f, " of %zu", page->n_all);
	if (s->typing || s->filter[0] != '\0')
		fprintf(f, "  /%s%s", s->filter, s->typing ? "_" : "");
	else if (s->keys >= 0)
		fputs("  arrows and page keys scroll, / filters, q ends", f);
	fprintf(f, "%s\n", o->color ? "\033[0m" : "");
}

/* The part of the page that fits on the screen, for the caller to free. */
static char *compose(struct screen *s, const struct screen_page *page, size_t rows)
{
	size_t lines = count_lines(page->table), len;
	struct layout l;
	char *text = NULL;
	FILE *f;

	s->n_lines = lines > 0 ? lines - 1 : 0; /* the first line is the head */
	l = lay_out(s, page, rows);
	s->room = l.body;
	if (s->top > s->n_lines - l.body)
		s->top = s->n_lines - l.body;
	f = mem_stream(&text, &len);
	put_lines(f, page->above, l.above);
	put_lines(f, page->table, l.head);
	put_lines(f, skip_lines(page->table, 1 + s->top), l.body);
	put_below(f, page->below, l.below);
	if (l.note)
		fputs(page->note, f);
	if (l.status)
		put_status(f, s, page, &l);
	mem_stream_end(f);
	return text;
}

/* The length of the sequence for a colour that the text begins with, or 0. */
static size_t color_length(const char *text)
{
	return text[0] == '\033' ? strcspn(text, "m") + 1 : 0;
}

/* The columns that the line takes, and the bytes of it that fit into so many. */
static size_t measure(const char *line, size_t columns, size_t *ret_fits)
{
	size_t used = 0, len;

	*ret_fits = 0;
	for (const char *at = line; *at != '\0' && *at != '\n'; at += len) {
		len = color_length(at);
		if (len == 0)
			used += table_char_width(at, &len);
		if (used <= columns)
			*ret_fits = (size_t)(at - line) + len;
	}
	return used;
}

/*
 * Writes a line into a row, with a mark for what does not fit: the terminal would write all of that
 * into the last cell, one character over the other. Colours end as in the whole line.
 */
static void put_row(FILE *f, const char *line, size_t columns)
{
	size_t fits;
	bool cut = measure(line, columns, &fits) > columns;

	if (cut)
		measure(line, columns - 1, &fits);
	fprintf(f, "%.*s", (int)fits, line);
	if (!cut)
		return;
	fputs(table_mark(), f);
	for (line += fits; *line != '\0' && *line != '\n'; line++)
		fprintf(f, "%.*s", (int)color_length(line), line);
}

/* The columns that there really are; tables may be for more. */
static size_t count_columns(const struct output *o)
{
	struct winsize w = {0};

	return ioctl(fileno(o->out), TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col
									  : (size_t)o->width;
}

/*
 * Each line takes one row, which is erased before the line is written. Erasing afterwards would
 * remove the last character of a line that fills its row.
 */
void screen_draw(struct screen *s, const struct screen_page *page)
{
	FILE *out = s->output->out;
	size_t columns = count_columns(s->output);
	const char *line;

	if (in_background(fileno(s->output->out)))
		return;
	if (!s->taken)
		take(s);
	free(s->last);
	s->last = compose(s, page, (size_t)s->output->height);
	fputs("\033[?7l\033[H", out);
	for (line = s->last; *line != '\0'; line = skip_lines(line, 1)) {
		bool last = *skip_lines(line, 1) == '\0';
		fprintf(out, "%s%s", line == s->last ? "" : "\r\n", last ? "\033[J" : "\033[K");
		put_row(out, line, columns);
	}
	fputs("\033[?7h", out);
}

/* --- keys ----------------------------------------------------------------- */

enum motion {
	MOTION_NONE,
	MOTION_UP,
	MOTION_DOWN,
	MOTION_PAGE_UP,
	MOTION_PAGE_DOWN,
	MOTION_HOME,
	MOTION_END
};

static enum screen_key move(struct screen *s, enum motion motion)
{
	size_t page = s->room > 1 ? s->room - 1 : 1, top = s->top;
	size_t last = s->n_lines > s->room ? s->n_lines - s->room : 0;

	switch (motion) {
	case MOTION_NONE: break;
	case MOTION_UP: top -= top > 0; break;
	case MOTION_DOWN: top++; break;
	case MOTION_PAGE_UP: top -= top > page ? page : top; break;
	case MOTION_PAGE_DOWN: top += page; break;
	case MOTION_HOME: top = 0; break;
	case MOTION_END: top = last; break;
	}
	top = top < last ? top : last;
	if (top == s->top)
		return SCREEN_SAME;
	s->top = top;
	return SCREEN_MOVED;
}

/*
 * Parses the sequence of a key, after ESC. Returns its length, also if the key is unknown, and 0 if
 * the text is no sequence.
 */
static size_t parse_sequence(const char *text, enum motion *ret_motion)
{
	static const struct {
		const char *text;
		enum motion motion;
	} keys[] = {
		{"[A", MOTION_UP},    {"OA", MOTION_UP},       {"[B", MOTION_DOWN},
		{"OB", MOTION_DOWN},  {"[5~", MOTION_PAGE_UP}, {"[6~", MOTION_PAGE_DOWN},
		{"[H", MOTION_HOME},  {"OH", MOTION_HOME},     {"[1~", MOTION_HOME},
		{"[7~", MOTION_HOME}, {"[F", MOTION_END},      {"OF", MOTION_END},
		{"[4~", MOTION_END},  {"[8~", MOTION_END},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strncmp(text, keys[i].text, strlen(keys[i].text)) == 0) {
			*ret_motion = keys[i].motion;
			return strlen(keys[i].text);
		}
	}
	*ret_motion = MOTION_NONE;
	if (*text != '[' && *text != 'O')
		return 0;
	return 1 + strcspn(text + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz~") +
	       (text[1] != '\0');
}

static enum screen_key type(struct screen *s, char c)
{
	size_t len = strlen(s->filter);

	if (c == '\r' || c == '\n') {
		s->typing = false;
		return SCREEN_MOVED;
	}
	if ((c == '\b' || c == 0x7f) && len > 0)
		s->filter[len - 1] = '\0';
	else if (isprint((unsigned char)c) && len + 1 < sizeof(s->filter))
		s->filter[len] = c; /* the rest of the filter is zeros */
	else
		return SCREEN_SAME;
	s->top = 0;
	return SCREEN_FILTERED;
}

static enum screen_key press(struct screen *s, char c)
{
	if (s->typing)
		return type(s, c);
	switch (c) {
	case 'q': return SCREEN_QUIT;
	case '/': s->typing = true; return SCREEN_MOVED;
	case 'k': return move(s, MOTION_UP);
	case 'j': return move(s, MOTION_DOWN);
	case 'b': return move(s, MOTION_PAGE_UP);
	case ' ': return move(s, MOTION_PAGE_DOWN);
	case 'g': return move(s, MOTION_HOME);
	case 'G': return move(s, MOTION_END);
	case '\f': return SCREEN_MOVED;
	default: return SCREEN_SAME;
	}
}

/* The key ESC: removes the filter. */
static enum screen_key escape(struct screen *s)
{
	bool filtered = s->filter[0] != '\0';

	if (!filtered && !s->typing)
		return SCREEN_SAME;
	memset(s->filter, 0, sizeof(s->filter));
	s->typing = false;
	return SCREEN_FILTERED;
}

enum screen_key screen_read(struct screen *s)
{
	enum screen_key done = SCREEN_SAME;
	char text[256];
	ssize_t n = read(s->keys, text, sizeof(text) - 1);

	if (n <= 0) {
		s->keys = -1; /* the terminal has hung up, or another session has it */
		return SCREEN_SAME;
	}
	text[n] = '\0';
	for (size_t i = 0; i < (size_t)n && done != SCREEN_QUIT;) {
		enum screen_key key;

		if (text[i] == '\033') {
			enum motion motion;
			size_t len = parse_sequence(text + i + 1, &motion);

			key = len > 0 ? move(s, motion) : escape(s);
			i += 1 + len;
		} else {
			key = press(s, text[i++]);
		}
		done = key > done ? key : done;
	}
	return done;
}
