/* The word that was probably meant, among those that there are. */
#ifndef ZKLEADER_BASE_NEAREST_H
#define ZKLEADER_BASE_NEAREST_H

#include <stddef.h>

#define NEAREST_EDITS	 2   /* letters that may be wrong; more are no typing error */
#define NEAREST_WORD_MAX 100 /* bytes; longer words are none either */

struct nearest {
	const char *word; /* as it was typed; borrowed, as is the best */
	size_t len;
	const char *best; /* NULL: none of the candidates is near */
	size_t edits;	  /* that make the best of the word */
};

void nearest_init(struct nearest *n, const char *word, size_t len);
/* Of equally near candidates the first stays. */
void nearest_offer(struct nearest *n, const char *candidate);

#endif
