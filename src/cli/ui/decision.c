#include "cli/ui/decision.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/output.h"
#include "base/mem.h"

char *decision_word(const json_t *decision)
{
	static const struct {
		const char *kind, *word;
	} words[] = {{"pause", "paused"},
		     {"drain", "drained"},
		     {"resign", "resigned"},
		     {"rerun", "to be rerun"}};
	const char *kind = json_text(decision, "kind", "-");
	char *text = NULL;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(kind, words[i].kind) == 0)
			return mem_strdup(words[i].word);
	if (strcmp(kind, "pin") == 0 &&
	    asprintf(&text, "pinned to version %s", json_text(decision, "version", "-")) >= 0)
		return text;
	return mem_strdup(kind); /* a kind that only a newer sidecar knows */
}

char *decision_text(const json_t *decision, int64_t now_ms)
{
	const char *until = json_text(decision, "until", NULL);
	const char *reason = json_text(decision, "reason", NULL);
	mem_auto char *word = decision_word(decision);
	char age[OUTPUT_AGE_SIZE], *text = NULL;

	age_text(json_text(decision, "since", NULL), now_ms, age);
	if (asprintf(&text, "%s by %s at %s %s ago%s%s%s%s", word, json_text(decision, "by", "-"),
		     json_text(decision, "host", "-"), age, until ? ", until " : "",
		     until ? until : "", reason ? ": " : "", reason ? reason : "") < 0)
		abort();
	return text;
}
