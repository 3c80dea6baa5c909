/*
 * Command-line options, the same in both programs: -a, -ab, -aVALUE, -a VALUE, --name,
 * --name=VALUE, --name VALUE; "--" ends them. Operands may stand anywhere.
 */
#ifndef ZKLEADER_BASE_TEXT_OPTIONS_H
#define ZKLEADER_BASE_TEXT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_WHY_SIZE 160

#define OPTION_END	 (-1)
#define OPTION_OPERAND	 (-2)
#define OPTION_BAD	 (-3) /* why says what is wrong */

struct option_spec {
	int id; /* the letter, or a number above 255 if there is none */
	const char *name;
	const char *value; /* its name in the help, "[=D]" if optional; NULL: no value */
	const char *help;
};

struct options {
	const struct option_spec *specs[2]; /* each ends with id 0; may be NULL */
	const char *const *argv;
	const char *cluster; /* remaining letters of the current argument */
	bool only_operands;
	char why[OPTIONS_WHY_SIZE];
};

/* argv ends with a NULL; its first element is the first argument. */
void options_init(struct options *o, const char *const *argv, const struct option_spec *specs,
		  const struct option_spec *more);
/* The id of the next option and its value, or one of the OPTION_* above. */
int options_next(struct options *o, const char **ret_value);
/* Parses a duration of at most max_ms: 0, or -EINVAL and the reason in why. */
int options_duration(const char *name, const char *text, int64_t max_ms, int64_t *ret_ms,
		     char why[OPTIONS_WHY_SIZE]);

#endif
