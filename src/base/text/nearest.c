#include "base/text/nearest.h"

#include <string.h>

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Levenshtein's distance: how many letters to insert, drop or change. Above NEAREST_EDITS it is
 * some number above that: so only the cells next to the diagonal matter, which is what makes it
 * cheap.
 */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[NEAREST_WORD_MAX + 2];

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t from = i > NEAREST_EDITS ? i - NEAREST_EDITS : 1;
		size_t to = least(i + NEAREST_EDITS, b_len);
		size_t diagonal = row[from - 1];

		row[from - 1] = from > 1 ? NEAREST_EDITS + 1 : i;
		for (size_t j = from; j <= to; j++) {
			size_t above = j < i + NEAREST_EDITS ? row[j] : NEAREST_EDITS;

			row[j] = least(diagonal + (a[i - 1] != b[j - 1]),
				       least(above, row[j - 1]) + 1);
			diagonal = above;
		}
	}
	return row[b_len];
}

void nearest_init(struct nearest *n, const char *word, size_t len)
{
	*n = (struct nearest){.word = word, .len = len, .edits = NEAREST_EDITS + 1};
}

void nearest_offer(struct nearest *n, const char *candidate)
{
	size_t len = strlen(candidate), edits = NEAREST_EDITS + 1;

	if (n->len > NEAREST_WORD_MAX || len > NEAREST_WORD_MAX)
		return;
	if (n->len <= len + NEAREST_EDITS && len <= n->len + NEAREST_EDITS)
		edits = distance(n->word, n->len, candidate, len);
	/* A word that begins as it was typed counts as one wrong letter. */
	if (edits > 1 && n->len >= 2 && n->len < len && strncmp(n->word, candidate, n->len) == 0)
		edits = 1;
	if (edits < n->edits && edits < n->len) {
		n->edits = edits;
		n->best = candidate;
	}
}
