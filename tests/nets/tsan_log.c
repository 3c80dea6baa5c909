/*
 * The log from several threads while its settings change, under TSan: no race, and every line whole.
 * Prints how many lines there were.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log/log.h"

#define THREADS	   4
#define LINES	   2000
#define BUFFER_MAX (16 * 1024 * 1024)

static void *write_lines(void *arg)
{
	for (int i = 0; i < LINES; i++)
		log_error("from a thread", LOG_STR("name", arg), LOG_INT("line", i),
			  LOG_STR("odd", "\x1b[31m \"quoted\"\n"));
	return NULL;
}

/* Reads from this pipe what the threads write to standard error. */
static void *read_lines(void *arg)
{
	FILE *in = fdopen(*(int *)arg, "r");
	char line[LOG_LINE_MAX + 1];
	long n = 0;

	while (in && fgets(line, sizeof(line), in)) {
		size_t len = strlen(line);

		/* Each begins as a line does and ends as this one does, in any of the formats. */
		if (len < 2 || line[len - 1] != '\n' || !strchr("{<2", line[0]) ||
		    !strstr(line, "from a thread") || !strstr(line, "quoted"))
			return NULL;
		n++;
	}
	return n == (long)THREADS * LINES ? arg : NULL;
}

int main(void)
{
	static char names[THREADS][2] = {"a", "b", "c", "d"};
	pthread_t writers[THREADS], reader;
	int ends[2];
	void *good;

	if (pipe(ends) < 0 || dup2(ends[1], STDERR_FILENO) < 0)
		return 2;
	close(ends[1]);
	pthread_create(&reader, NULL, read_lines, &ends[0]);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&writers[i], NULL, write_lines, names[i]);
	for (int i = 0; i < LINES; i++)
		log_setup((enum log_level)(i % 4), i % 2 ? LOG_JSON : LOG_TEXT, i % 3 == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(writers[i], NULL);
	close(STDERR_FILENO);
	pthread_join(reader, &good);
	printf("%d lines from %d threads, %s\n", THREADS * LINES, THREADS,
	       good ? "each whole" : "not all of them whole");
	return good ? 0 : 1;
}
