#include "cli/ui/outcome.h"

#include <stdio.h>
#include <string.h>

#include "api/json.h"

enum color outcome_color(const char *state)
{
	static const struct {
		const char *state;
		enum color color;
	} colors[] = {
		{"ok", COLOR_GREEN}, {"running", COLOR_BOLD}, {"failed", COLOR_RED},
		{"lost", COLOR_RED}, {"timeout", COLOR_RED},  {"missed", COLOR_YELLOW},
	};

	for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++)
		if (strcmp(state, colors[i].state) == 0)
			return colors[i].color;
	return COLOR_NONE;
}

void outcome_last(const json_t *last, int64_t now_ms, char text[OUTCOME_TEXT_SIZE])
{
	const char *tick = json_text(last, "tick", NULL);
	char age[OUTPUT_AGE_SIZE];

	if (!json_is_object(last)) {
		snprintf(text, OUTCOME_TEXT_SIZE, "-");
		return;
	}
	age_text(json_text(last, "ended_at", tick), now_ms, age);
	snprintf(text, OUTCOME_TEXT_SIZE, "%.12s %s", json_text(last, "state", "-"), age);
}
