#include <criterion/criterion.h>
#include <string.h>

#include "base/text/nearest.h"

static const char *const words[] = {
	"status",  "resume",  "resign", "drain",   "undrain", "nightly-report",
	"job-100", "job-101", "tasks",	"explain", "unpin",
};

static const char *nearest(const char *word)
{
	struct nearest n;

	nearest_init(&n, word, strlen(word));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		nearest_offer(&n, words[i]);
	return n.best;
}

Test(nearest, by_edits)
{
	static const struct {
		const char *word, *best;
	} cases[] = {
		{"status", "status"},	       /* as it is */
		{"statsu", "status"},	       /* two changed */
		{"tatus", "status"},	       /* one missing */
		{"sstatus", "status"},	       /* one too many */
		{"statusss", "status"},	       /* two */
		{"statussss", NULL},	       /* three */
		{"tat", NULL},		       /* three missing */
		{"xxatus", "status"},	       /* at the front */
		{"nightly", "nightly-report"}, /* the beginning */
		{"nightly-reqport", "nightly-report"},
		{"nightlyreport", "nightly-report"},
		{"night1y-rep0rt", "nightly-report"},
		{"resime", "resume"},	/* nearer than resign, which is as near as it may be */
		{"job-10", "job-100"},	/* the first of equals */
		{"job-101", "job-101"}, /* the nearer one later */
		{"undrian", "undrain"},
		{"x", NULL}, /* as many edits as letters: anything would be near */
		{"b", NULL},
		{"xy", NULL},
		{"", NULL},
		{"resumerésumé", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *best = nearest(cases[i].word);

		cr_assert_eq(best == NULL, cases[i].best == NULL, "\"%s\": %s", cases[i].word,
			     best ? best : "none");
		if (best)
			cr_assert_str_eq(best, cases[i].best, "\"%s\"", cases[i].word);
	}
}

/* The whole matrix, as the books have it. */
static size_t plain_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), d[12][12];

	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			d[i][j] = i == 0   ? j
				  : j == 0 ? i
					   : d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (i > 0 && d[i - 1][j] + 1 < d[i][j])
				d[i][j] = d[i - 1][j] + 1;
			if (j > 0 && d[i][j - 1] + 1 < d[i][j])
				d[i][j] = d[i][j - 1] + 1;
		}
	return d[n][m];
}

/* All pairs of words of two letters, up to six of them. */
Test(nearest, as_the_whole_matrix_says)
{
	char text[2][7];

	for (unsigned pair = 0; pair < 127u * 127u; pair++) {
		unsigned codes[] = {pair / 127 + 1, pair % 127 + 1};
		struct nearest n;

		for (int k = 0; k < 2; k++) { /* the bits below the highest one */
			size_t len = 0;

			for (unsigned code = codes[k]; code > 1; code >>= 1)
				text[k][len++] = code & 1 ? 'a' : 'b';
			text[k][len] = '\0';
		}
		size_t expected = plain_distance(text[0], text[1]), len = strlen(text[0]);
		bool near = expected <= NEAREST_EDITS && expected < len;
		if (len >= 2 && strncmp(text[1], text[0], len) == 0)
			near = true;
		nearest_init(&n, text[0], len);
		nearest_offer(&n, text[1]);
		cr_assert_eq(n.best != NULL, near, "%s and %s: %zu", text[0], text[1], expected);
	}
}

Test(nearest, long_words)
{
	char word[NEAREST_WORD_MAX + 2], other[NEAREST_WORD_MAX + 2];
	struct nearest n;

	memset(word, 'a', sizeof(word));
	memset(other, 'a', sizeof(other));
	word[NEAREST_WORD_MAX] = other[NEAREST_WORD_MAX] = '\0';
	other[NEAREST_WORD_MAX - 1] = 'b';
	nearest_init(&n, word, NEAREST_WORD_MAX);
	nearest_offer(&n, other);
	cr_assert_eq(n.best, other);
	other[NEAREST_WORD_MAX] = 'b';
	other[NEAREST_WORD_MAX + 1] = '\0';
	nearest_init(&n, word, NEAREST_WORD_MAX);
	nearest_offer(&n, other);
	cr_assert_null(n.best, "too long a candidate");
	nearest_init(&n, other, NEAREST_WORD_MAX + 1);
	nearest_offer(&n, word);
	cr_assert_null(n.best, "too long a word");
}
