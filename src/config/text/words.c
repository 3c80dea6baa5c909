#include "config/text/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

char *word_copy(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

bool word_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

char **words_copy(char *const *words, size_t n)
{
	char **copy = n ? mem_calloc(n, sizeof(*copy)) : NULL;

	for (size_t i = 0; i < n; i++)
		copy[i] = mem_strdup(words[i]);
	return copy;
}

bool words_same(char *const *a, size_t n_a, char *const *b, size_t n_b)
{
	if (n_a != n_b)
		return false;
	for (size_t i = 0; i < n_a; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

void words_free(char **words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(words[i]);
	free(words);
}
