/* Makes the command of a task from that of a crontab's line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/run/crontab.h"

#define NEEDS_SHELL "|&;<>()$`\\\"'*?[]#~{}!\n"
#define CHAR_MAX_   6 /* bytes that one of the input becomes */

static void add(json_t *words, const char *text)
{
	json_array_append_new(words, json_string(text));
}

/* Splits a command that needs no shell: an absolute path and plain words. False: it needs one. */
static bool add_plain(json_t *words, const char *command)
{
	if (command[0] != '/' || command[strcspn(command, NEEDS_SHELL)] != '\0')
		return false;
	while (*command) {
		size_t n = strcspn(command, " \t");
		mem_auto char *one = mem_strndup(command, n);

		add(words, one);
		command += n;
		command += strspn(command, " \t");
	}
	return true;
}

/* Writes a byte of the input for the %b of printf(1), within single quotes. Returns the length. */
static size_t put_byte(char *to, char c)
{
	unsigned char byte = (unsigned char)c;

	if (c == '\n')
		return (size_t)sprintf(to, "' '");
	if (c == '\'')
		return (size_t)sprintf(to, "'\\''");
	if (c == '\\')
		return (size_t)sprintf(to, "\\\\");
	if (byte < ' ' || byte == 0x7f)
		return (size_t)sprintf(to, "\\0%03o", byte);
	*to = c;
	return 1;
}

/*
 * The script that gives the input to the command, which is its second argument, and its shell the
 * first. Each line is a word for printf(1), and ends with a newline, the last one as well: so does
 * cron. Control characters are escaped, as a task file has none.
 */
static char *script_of(const char *input)
{
	static const char before[] = "printf '%b\\n' '", behind[] = "' | \"$0\" -c \"$1\"";
	size_t len = strlen(input), n = sizeof(before) - 1;
	char *script = mem_alloc(CHAR_MAX_ * len + sizeof(before) + sizeof(behind));

	memcpy(script, before, n);
	len -= input[len - 1] == '\n';
	for (size_t i = 0; i < len; i++)
		n += put_byte(script + n, input[i]);
	memcpy(script + n, behind, sizeof(behind));
	return script;
}

json_t *crontab_words(const char *shell, const char *command, const char *input)
{
	json_t *words = json_array();
	mem_auto char *plain = NULL, *script = NULL;

	/* The standard input is empty anyway. */
	if (input && !input[0])
		input = NULL;
	if (!input && add_plain(words, command))
		return words;
	plain = mem_strdup(command);
	for (char *p = plain; *p; p++)
		if (*p == '\t')
			*p = ' ';
	if (input) {
		script = script_of(input);
		add(words, "/bin/sh");
		add(words, "-c");
		add(words, script);
		add(words, shell);
	} else {
		add(words, shell);
		add(words, "-c");
	}
	add(words, plain);
	return words;
}
