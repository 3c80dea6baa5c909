#include "base/text/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MARKS_LEN 3 /* quotes and a comma */

int names_compare(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

char **names_sorted(char *const *names, size_t n)
{
	char **sorted = mem_calloc(n + 1, sizeof(*sorted));

	for (size_t i = 0; i < n; i++)
		sorted[i] = names[i];
	qsort(sorted, n, sizeof(*sorted), names_compare);
	return sorted;
}

char **names_copy(const char *const *names, size_t n)
{
	char **copy = mem_calloc(n + 1, sizeof(*copy));

	for (size_t i = 0; i < n; i++)
		copy[i] = mem_strdup(names[i]);
	return copy;
}

bool names_same(const char *const *a, size_t n_a, const char *const *b, size_t n_b)
{
	for (size_t i = 0; n_a == n_b && i < n_a; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return n_a == n_b;
}

bool names_has(char *const *sorted, size_t n, const char *name)
{
	return n > 0 && bsearch(&name, sorted, n, sizeof(*sorted), names_compare);
}

size_t names_fit(const char *const *names, size_t n, size_t max)
{
	size_t len = 0, i = 0;

	while (i < n && (i == 0 || len + strlen(names[i]) + MARKS_LEN <= max))
		len += strlen(names[i++]) + MARKS_LEN;
	return i;
}

void names_free(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

/* The run of digits that begins here: its digits behind leading zeros, and how many those are. */
static const char *number_at(const char **text, size_t *ret_len)
{
	const char *digits = *text + strspn(*text, "0");

	*ret_len = strspn(digits, "0123456789");
	*text = digits + *ret_len;
	return digits;
}

int names_natural(const char *a, const char *b)
{
	const char *x = a, *y = b;

	while (*x != '\0' && *y != '\0') {
		bool digits = *x >= '0' && *x <= '9' && *y >= '0' && *y <= '9';
		size_t len_x, len_y;

		if (!digits) {
			if (*x != *y)
				return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
			x++, y++;
			continue;
		}
		const char *number_x = number_at(&x, &len_x), *number_y = number_at(&y, &len_y);
		if (len_x != len_y)
			return len_x < len_y ? -1 : 1;
		int order = strncmp(number_x, number_y, len_x);
		if (order != 0)
			return order;
	}
	if (*x != *y)
		return *x == '\0' ? -1 : 1;
	return strcmp(a, b); /* they differ in leading zeros at most */
}
