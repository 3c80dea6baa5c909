/* Copies, compares and frees texts of a configuration, one or a list of them. */
#ifndef ZKLEADER_CONFIG_TEXT_WORDS_H
#define ZKLEADER_CONFIG_TEXT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* A NULL text or list is taken for none. */
char *word_copy(const char *text);
bool word_same(const char *a, const char *b);
char **words_copy(char *const *words, size_t n);
bool words_same(char *const *a, size_t n_a, char *const *b, size_t n_b);
void words_free(char **words, size_t n);

#endif
