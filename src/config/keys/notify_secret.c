#include "config/keys/notify_secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "config/text/textfile.h"

#define OTHERS (S_IROTH | S_IWOTH | S_IWGRP)

static char *refuse(const char *key, const char *path, const char *what, char *text,
		    char why[NOTIFY_WHY_SIZE])
{
	snprintf(why, NOTIFY_WHY_SIZE, "%s %.150s: %s", key, path, what);
	free(text);
	return NULL;
}

/* The whole file; NULL and why. */
static char *read_secret(const char *key, const char *path, char why[NOTIFY_WHY_SIZE])
{
	struct stat st;
	char *text = NULL;
	size_t len;
	int e = textfile_read(path, NOTIFY_SECRET_MAX, &text, &len, &st);

	if (e < 0)
		return refuse(key, path, textfile_error(e), NULL, why);
	if (st.st_mode & OTHERS)
		return refuse(key, path, "others can read it, or its group can write it: chmod 640",
			      text, why);
	if (strlen(text) != len)
		return refuse(key, path, "it has a NUL", text, why);
	return text;
}

/* Appends the lines of a file but for empty ones; false: one of them is no header. */
static bool put_lines(FILE *f, char *text)
{
	size_t n = 0;
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		size_t len = strlen(line);

		if (len > 0 && line[len - 1] == '\r')
			line[--len] = '\0';
		if (len == 0)
			continue;
		if (!notify_header_is_good(line) || ++n > NOTIFY_HEADERS_MAX)
			return false;
		fprintf(f, "%s\n", line);
	}
	return true;
}

char *notify_secret_headers(const struct notify_config *c, char why[NOTIFY_WHY_SIZE])
{
	mem_auto char *text = NULL;
	char *headers = NULL;
	bool good = true;
	size_t len;

	if (c->headers_file && !(text = read_secret("headers-file", c->headers_file, why)))
		return NULL;
	FILE *f = mem_stream(&headers, &len);
	for (size_t i = 0; i < c->n_headers; i++)
		fprintf(f, "%s\n", c->headers[i]);
	if (text)
		good = put_lines(f, text);
	mem_stream_end(f);
	return good ? headers
		    : refuse("headers-file", c->headers_file,
			     "a line of it is not \"Name: value\", or there are over 50", headers,
			     why);
}

char *notify_secret_routing_key(const struct notify_config *c, char why[NOTIFY_WHY_SIZE])
{
	char *text;

	if (!c->routing_key_file)
		return mem_strdup("");
	text = read_secret("routing-key-file", c->routing_key_file, why);
	if (!text)
		return NULL;
	text[strcspn(text, " \t\r\n")] = '\0';
	return text[0] ? text
		       : refuse("routing-key-file", c->routing_key_file, "it is empty", text, why);
}
