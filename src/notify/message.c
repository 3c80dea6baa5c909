#include "notify/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/mem.h"

#define OUTPUT_SHOWN 1000 /* bytes of a run's output in a line of chat */

static char *dump(json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);

	json_decref(json);
	if (!text)
		abort(); /* out of memory, as in base/mem.h */
	return text;
}

/* Writes a text with Slack's three escapes. */
static void put_escaped(FILE *f, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (*c == '&')
			fputs("&amp;", f);
		else if (*c == '<')
			fputs("&lt;", f);
		else if (*c == '>')
			fputs("&gt;", f);
		else
			fputc(*c, f);
	}
}

/* The end of the output, from the beginning of a character on. */
static const char *end_of(const char *output)
{
	size_t len = strlen(output);
	const char *from = len > OUTPUT_SHOWN ? output + len - OUTPUT_SHOWN : output;

	while (((unsigned char)*from & 0xc0) == 0x80)
		from++;
	return from;
}

static char *slack(const json_t *event)
{
	const char *output = json_text(event, "output", "");
	char *text = NULL;
	size_t len;
	FILE *f = mem_stream(&text, &len);
	json_t *made;

	fprintf(f, "*%s*: ", json_text(event, "event", "?"));
	put_escaped(f, json_text(event, "text", "?"));
	if (output[0] != '\0') {
		fputs("\n```", f);
		put_escaped(f, end_of(output));
		fputs("```", f);
	}
	mem_stream_end(f);
	made = json_pack("{s:s}", "text", text);
	free(text);
	return dump(made);
}

static const char *severity_of(const char *event)
{
	if (strcmp(event, "leader") == 0 || strcmp(event, "rollout") == 0)
		return "info";
	return strcmp(event, "missed") == 0 || strcmp(event, "disconnected") == 0 ? "warning"
										  : "critical";
}

/* A label, or an annotation. */
static void put_label(json_t *labels, const json_t *event, const char *key)
{
	const char *text = json_text(event, key, "");

	if (text[0] != '\0')
		json_object_set_new(labels, key, json_string(text));
}

/* A list of one alert, as /api/v2/alerts of an Alertmanager takes it. */
static char *alertmanager(const json_t *event)
{
	const char *kind = json_text(event, "event", "?");
	json_t *labels = json_object(), *notes = json_object();
	char name[40];

	snprintf(name, sizeof(name), "Zkleader%c%.20s", kind[0] >= 'a' ? kind[0] - 32 : kind[0],
		 kind[0] ? kind + 1 : "");
	json_object_set_new(labels, "alertname", json_string(name));
	json_object_set_new(labels, "severity", json_string(severity_of(kind)));
	put_label(labels, event, "event");
	put_label(labels, event, "task");
	put_label(labels, event, "node");
	put_label(labels, event, "version");
	put_label(labels, event, "tick");
	put_label(labels, event, "id");
	json_object_set_new(notes, "summary", json_string(json_text(event, "text", "?")));
	put_label(notes, event, "why");
	put_label(notes, event, "detail");
	if (json_text(event, "output", "")[0] != '\0')
		json_object_set_new(notes, "description",
				    json_string(json_text(event, "output", "")));
	return dump(json_pack("[{s:o, s:o, s:s}]", "labels", labels, "annotations", notes,
			      "startsAt", json_text(event, "time", "")));
}

char *message_text(const json_t *event, enum notify_template form)
{
	char *text;

	switch (form) {
	case NOTIFY_SLACK: return slack(event);
	case NOTIFY_ALERTMANAGER: return alertmanager(event);
	case NOTIFY_JSON: break;
	}
	text = json_dumps(event, JSON_COMPACT);
	if (!text)
		abort();
	return text;
}
