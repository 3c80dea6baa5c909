/*
 * The log from several threads while its settings change, under TSan: no race, and every line whole.
 * Prints how many lines there were.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log/log.h"

#define THREADS 4
#define LINES	2000

static void *write_lines(void *arg)
{
	for (int i = 0; i < LINES; i++)
		log_error("from a thread", LOG_STR("name", arg), LOG_INT("line", i),
			  LOG_STR("odd", "\x1b[31m \"quoted\"\n"));
	return NULL;
}

/* Whether all lines are there, each whole: it begins as a line does and ends as this one does, in any format. */
static bool are_whole(FILE *in)
{
	char line[LOG_LINE_MAX + 1];
	long n = 0;

	rewind(in);
	while (fgets(line, sizeof(line), in)) {
		size_t len = strlen(line);

		if (len < 2 || line[len - 1] != '\n' || !strchr("{<2", line[0]) ||
		    !strstr(line, "from a thread") || !strstr(line, "quoted"))
			return false;
		n++;
	}
	return n == (long)THREADS * LINES;
}

int main(void)
{
	static char names[THREADS][2] = {"a", "b", "c", "d"};
	pthread_t writers[THREADS];
	FILE *file = tmpfile(); /* a pipe that is full would lose lines: the log waits for nobody */
	bool good;

	if (!file || dup2(fileno(file), STDERR_FILENO) < 0)
		return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&writers[i], NULL, write_lines, names[i]);
	for (int i = 0; i < LINES; i++)
		log_setup((enum log_level)(i % 4), i % 2 ? LOG_JSON : LOG_TEXT, i % 3 == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(writers[i], NULL);
	good = are_whole(file);
	printf("%d lines from %d threads, %s\n", THREADS * LINES, THREADS,
	       good ? "each whole" : "not all of them whole");
	return good ? 0 : 1;
}
