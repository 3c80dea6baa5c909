/* The texts of an event for each kind of channel: whole JSON, whatever the event holds. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "notify/message.h"

static json_t *made;

/* An event with a task, as the sidecar sends it. */
static json_t *event_of(const char *kind, const char *text, const char *output)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "event", kind, "id",
			 "id-1", "task", "nightly-report", "tick", "2026-11-28T02:00:00Z", "node",
			 "host1", "time", "2026-11-28T02:00:05Z", "text", text, "why", "status",
			 "output", output);
}

static const json_t *text_of(json_t *event, enum notify_template form)
{
	char *text = message_text(event, form, "the-key");

	json_decref(made);
	made = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	cr_assert_not_null(made, "no JSON: %s", text);
	free(text);
	json_decref(event);
	return made;
}

Test(message, json_is_the_event_as_it_came)
{
	json_t *event = event_of("failed", "it failed", "");

	json_incref(event);
	cr_expect(json_equal(text_of(event, NOTIFY_JSON), event));
	json_decref(event);
}

Test(message, slack_is_escaped_and_has_the_end_of_the_output)
{
	char output[3000];
	const char *text;

	memset(output, 'x', sizeof(output));
	memcpy(output + sizeof(output) - 10, "<the end>", 10);
	text = json_text(text_of(event_of("failed", "a <b> & c", output), NOTIFY_SLACK), "text",
			 "");
	cr_expect_eq(strncmp(text, "*failed*: a &lt;b&gt; &amp; c\n```x", 34), 0, "%.60s", text);
	cr_expect_not_null(strstr(text, "&lt;the end&gt;```"));
	cr_expect_lt(strlen(text), 1200);
}

/* A cut in the middle of a character would be no JSON. */
Test(message, an_output_is_cut_at_a_whole_character)
{
	static const enum notify_template forms[] = {NOTIFY_SLACK, NOTIFY_TEAMS};
	char output[2001];

	for (size_t shift = 0; shift < 3; shift++) {
		memset(output, 'a', sizeof(output));
		for (size_t i = shift; i + 3 < sizeof(output); i += 3)
			memcpy(output + i, "\xe2\x82\xac", 3);
		output[shift + 3 * ((sizeof(output) - 1 - shift) / 3)] = '\0';
		for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
			text_of(event_of("failed", "x", output), forms[i]);
	}
}

Test(message, alertmanager_names_the_alert)
{
	const json_t *alert = json_array_get(
		text_of(event_of("missed", "it was missed", "out"), NOTIFY_ALERTMANAGER), 0);
	const json_t *labels = json_object_get(alert, "labels");

	cr_expect_str_eq(json_text(labels, "alertname", ""), "ZkleaderMissed");
	cr_expect_str_eq(json_text(labels, "severity", ""), "warning");
	cr_expect_str_eq(json_text(labels, "task", ""), "nightly-report");
	cr_expect_str_eq(json_text(json_object_get(alert, "annotations"), "description", ""),
			 "out");
	cr_expect_str_eq(json_text(alert, "startsAt", ""), "2026-11-28T02:00:05Z");
}

/* All that is wrong with a task is one incident, and what ends it resolves the same. */
Test(message, pagerduty_resolves_what_it_triggered)
{
	static const struct {
		const char *event, *action, *severity;
	} cases[] = {
		{"failed", "trigger", "critical"},
		{"overdue", "trigger", "critical"},
		{"missed", "trigger", "warning"},
		{"recovered", "resolve", "info"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const json_t *whole = text_of(event_of(cases[i].event, "x", ""), NOTIFY_PAGERDUTY);

		cr_expect_str_eq(json_text(whole, "dedup_key", ""), "zkleader/nightly-report");
		cr_expect_str_eq(json_text(whole, "event_action", ""), cases[i].action);
		cr_expect_str_eq(json_text(whole, "routing_key", ""), "the-key");
		cr_expect_str_eq(json_text(json_object_get(whole, "payload"), "severity", ""),
				 cases[i].severity, "%s", cases[i].event);
	}
	cr_expect_str_eq(
		json_text(text_of(event_of("leader", "x", ""), NOTIFY_PAGERDUTY), "dedup_key", ""),
		"zkleader/event/id-1", "what is no trouble of a task is for itself");
}

Test(message, teams_shows_text_as_it_is)
{
	const json_t *whole = text_of(event_of("failed", "**bold** [x](y)", "out"), NOTIFY_TEAMS);
	const json_t *card = json_object_get(
		json_array_get(json_object_get(whole, "attachments"), 0), "content");
	const json_t *body = json_object_get(card, "body");

	cr_expect_str_eq(json_text(whole, "type", ""), "message");
	cr_expect_str_eq(json_text(card, "type", ""), "AdaptiveCard");
	cr_expect_str_eq(json_text(json_array_get(body, 1), "type", ""), "RichTextBlock");
	cr_expect_str_eq(
		json_text(json_array_get(json_object_get(json_array_get(body, 1), "inlines"), 0),
			  "text", ""),
		"**bold** [x](y)");
}

/* An event of a later release may lack what this one expects. */
Test(message, an_event_without_anything_is_told_all_the_same)
{
	static const enum notify_template forms[] = {NOTIFY_JSON, NOTIFY_SLACK, NOTIFY_ALERTMANAGER,
						     NOTIFY_PAGERDUTY, NOTIFY_TEAMS};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		text_of(json_object(), forms[i]);
	text_of(json_pack("{s:s}", "event", ""), NOTIFY_ALERTMANAGER);
}
