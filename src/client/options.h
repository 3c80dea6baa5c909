/*
 * Command-line options, the same in both programs: -a, -ab, -aVALUE, -a VALUE, --name,
 * --name=VALUE, --name VALUE; "--" ends them. Operands may stand anywhere.
 */
#ifndef ZKLEADER_CLIENT_OPTIONS_H
#define ZKLEADER_CLIENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_WHY_SIZE 160

#define OPTION_END	 (-1)
#define OPTION_OPERAND	 (-2)
#define OPTION_BAD	 (-3) /* why says what is wrong */

struct option_spec {
	int id; /* the letter, or something above 255 where there is none */
	const char *name;
	const char *value; /* its name in the help, "[=D]": may be left out; NULL: it has none */
	const char *help;
};

struct options {
	const struct option_spec *specs[2]; /* each ends with id 0; may be NULL */
	const char *const *argv;
	const char *cluster; /* letters of the current argument that are still to come */
	bool only_operands;
	char why[OPTIONS_WHY_SIZE];
};

/* argv ends with a NULL; its first element is already an argument. */
void options_init(struct options *o, const char *const *argv, const struct option_spec *specs,
		  const struct option_spec *more);
/* The id of the next option and its value, or one of the OPTION_* above. */
int options_next(struct options *o, const char **ret_value);
/* A value that is a duration of at most max_ms: 0, or -EINVAL and why it is none. */
int options_duration(const char *name, const char *text, int64_t max_ms, int64_t *ret_ms,
		     char why[OPTIONS_WHY_SIZE]);

#endif
