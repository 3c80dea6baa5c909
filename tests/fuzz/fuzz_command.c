/* The commands of zkleader, whole, against a hostile sidecar: nothing raw reaches the terminal. */
#include "fake_sidecar.h"
#include "json_check.h"

#include <locale.h>

#include "cli/ui/command.h"

struct stream {
	FILE *file;
	char *text;
	size_t len;
};

static void stream_open(struct stream *s)
{
	s->file = open_memstream(&s->text, &s->len);
	FUZZ_CHECK(s->file);
}

/* Every line of it; with `json`, each is a value of its own. */
static void check_lines(const struct stream *s, bool json)
{
	const char *line = s->text, *end;

	FUZZ_CHECK(s->len == 0 || s->text[s->len - 1] == '\n');
	for (; (end = strchr(line, '\n')); line = end + 1) {
		FUZZ_CHECK(fuzz_is_line(line, (size_t)(end - line)));
		if (json)
			FUZZ_CHECK(json_is_one(line, (size_t)(end - line)));
	}
	FUZZ_CHECK(line == s->text + s->len); /* no NUL byte in it */
}

static const char *const invocations[][4] = {
	{"list", NULL},
	{"list", "--wide", NULL},
	{"tasks", NULL},
	{"status", NULL},
	{"explain", "report", NULL},
	{"watch", NULL},
	{"reload", NULL},
	{"watch", "--json", NULL},
	{"list", "--json", NULL},
	{"tasks", "--json", NULL},
	{"status", "--json", NULL},
	{"explain", "--json", "report", NULL},
	{"reload", "--json", NULL},
	{"history", "--json", "report", NULL},
	{"history", "report", NULL},
};

#define FIRST_JSON    7
#define LAST_JSON     13
#define WATCH_JSON    7
#define N_INVOCATIONS (sizeof(invocations) / sizeof(invocations[0]))

/* As main() does. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	setlocale(LC_CTYPE, "");
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int widths[] = {0, 20, 80, 200};
	struct feed f = {data, size};
	size_t which = feed_below(&f, N_INVOCATIONS);
	uint8_t look = feed_byte(&f);
	struct stream out, err;
	struct output output;
	int code;

	stream_open(&out);
	stream_open(&err);
	output = (struct output){.out = out.file,
				 .err = err.file,
				 .color = (look & 4) != 0,
				 .width = widths[look & 3],
				 .now_ms = 1790000000000};
	fake_begin(&f);
	code = command_main(invocations[which], &output);
	FUZZ_CHECK(code >= 0 && code <= 4);
	fclose(out.file);
	fclose(err.file);
	check_lines(&err, false);
	if (which >= FIRST_JSON && which <= LAST_JSON && which != WATCH_JSON)
		FUZZ_CHECK(out.len == 0 || json_is_one(out.text, out.len));
	else if (!output.color)
		check_lines(&out, which == WATCH_JSON);
	FUZZ_CHECK(code == 0 || out.len > 0 || err.len > 0);
	free(out.text);
	free(err.text);
	fake_over();
	return 0;
}
