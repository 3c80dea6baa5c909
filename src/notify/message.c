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

/* Whether the event is in a list of words that ends with NULL. */
static bool is_in(const char *event, const char *const *words)
{
	while (*words && strcmp(event, *words) != 0)
		words++;
	return *words != NULL;
}

static const char *severity_of(const char *event)
{
	static const char *const info[] = {"leader", "rollout", "recovered", NULL};
	static const char *const warning[] = {"missed", "disconnected", "retrying", NULL};

	return is_in(event, info) ? "info" : is_in(event, warning) ? "warning" : "critical";
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

/* --- PagerDuty and Teams -------------------------------------------------- */

/*
 * The incident that an event is about. All that is wrong with a task is one incident, which
 * `recovered` resolves; any other event is one of its own.
 */
static void put_incident(json_t *whole, const json_t *event, const char *kind)
{
	static const char *const of_task[] = {"failed", "lost",	     "missed", "overdue",
					      "dead",	"recovered", NULL};
	const char *task = json_text(event, "task", "");
	char key[256];

	if (is_in(kind, of_task) && task[0] != '\0')
		snprintf(key, sizeof(key), "zkleader/%.240s", task);
	else
		snprintf(key, sizeof(key), "zkleader/event/%.200s", json_text(event, "id", ""));
	json_object_set_new(whole, "dedup_key", json_string(key));
	json_object_set_new(whole, "event_action",
			    json_string(strcmp(kind, "recovered") == 0 ? "resolve" : "trigger"));
}

/* An event for Events API v2. */
static char *pagerduty(const json_t *event, const char *key)
{
	const char *kind = json_text(event, "event", "?"), *task = json_text(event, "task", "");
	const char *node = json_text(event, "node", "");
	json_t *whole = json_object(), *payload = json_object();
	char summary[1025];

	snprintf(summary, sizeof(summary), "%.1000s", json_text(event, "text", "?"));
	json_object_set_new(payload, "summary", json_string(summary));
	json_object_set_new(payload, "source",
			    json_string(node[0]	  ? node
					: task[0] ? task
						  : "zkleader"));
	json_object_set_new(payload, "severity", json_string(severity_of(kind)));
	json_object_set_new(payload, "timestamp", json_string(json_text(event, "time", "")));
	json_object_set_new(payload, "class", json_string(kind));
	if (task[0] != '\0')
		json_object_set_new(payload, "component", json_string(task));
	json_object_set_new(payload, "custom_details", json_deep_copy(event));
	json_object_set_new(whole, "routing_key", json_string(key));
	put_incident(whole, event, kind);
	json_object_set_new(whole, "client", json_string("zkleader"));
	json_object_set_new(whole, "payload", payload);
	return dump(whole);
}

/* A block of text as it is: a TextBlock would take it for Markdown. */
static json_t *block_of(const char *text, const char *key, const char *value)
{
	return json_pack("{s:s, s:[{s:s, s:s, s:s}]}", "type", "RichTextBlock", "inlines", "type",
			 "TextRun", "text", text, key, value);
}

static void put_fact(json_t *facts, const json_t *event, const char *key, const char *title)
{
	const char *value = json_text(event, key, "");

	if (value[0] != '\0')
		json_array_append_new(facts,
				      json_pack("{s:s, s:s}", "title", title, "value", value));
}

/* An adaptive card, as a workflow "when a webhook request is received" takes it. */
static char *teams(const json_t *event)
{
	const char *kind = json_text(event, "event", "?");
	const char *output = json_text(event, "output", "");
	bool info = strcmp(severity_of(kind), "info") == 0;
	json_t *body = json_array(), *facts = json_array();

	json_array_append_new(body, block_of(kind, "color", info ? "Good" : "Attention"));
	json_array_append_new(body, block_of(json_text(event, "text", "?"), "size", "Medium"));
	put_fact(facts, event, "task", "Task");
	put_fact(facts, event, "tick", "Tick");
	put_fact(facts, event, "node", "Node");
	put_fact(facts, event, "version", "Version");
	put_fact(facts, event, "why", "Why");
	put_fact(facts, event, "detail", "Detail");
	put_fact(facts, event, "time", "Time");
	json_array_append_new(body, json_pack("{s:s, s:o}", "type", "FactSet", "facts", facts));
	if (output[0] != '\0')
		json_array_append_new(body, block_of(end_of(output), "fontType", "Monospace"));
	return dump(json_pack("{s:s, s:[{s:s, s:n, s:{s:s, s:s, s:s, s:o}}]}", "type", "message",
			      "attachments", "contentType",
			      "application/vnd.microsoft.card.adaptive", "contentUrl", "content",
			      "$schema", "http://adaptivecards.io/schemas/adaptive-card.json",
			      "type", "AdaptiveCard", "version", "1.4", "body", body));
}

char *message_text(const json_t *event, enum notify_template form, const char *key)
{
	char *text;

	switch (form) {
	case NOTIFY_SLACK: return slack(event);
	case NOTIFY_ALERTMANAGER: return alertmanager(event);
	case NOTIFY_PAGERDUTY: return pagerduty(event, key);
	case NOTIFY_TEAMS: return teams(event);
	case NOTIFY_JSON: break;
	}
	text = json_dumps(event, JSON_COMPACT);
	if (!text)
		abort();
	return text;
}
