/* Finds the word that was probably meant, among candidates. */
#ifndef ZKLEADER_BASE_TEXT_NEAREST_H
#define ZKLEADER_BASE_TEXT_NEAREST_H

#include <stddef.h>

#define NEAREST_EDITS	 2   /* more wrong letters are not a typing error */
#define NEAREST_WORD_MAX 100 /* bytes; longer words are not compared */

struct nearest {
	const char *word; /* as it was typed; borrowed, as is the best */
	size_t len;
	const char *best; /* NULL: none of the candidates is near */
	size_t edits;	  /* the edit distance of the best */
};

void nearest_init(struct nearest *n, const char *word, size_t len);
/* Offers a candidate. Of equally near ones the first is kept. */
void nearest_offer(struct nearest *n, const char *candidate);

#endif
