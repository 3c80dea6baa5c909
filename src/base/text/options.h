/*
 * Options of programs. One table of them is parsed and printed as help, from which the completion
 * of shells takes them: -a, -ab, -aVALUE, -a VALUE, --name,
 * --name=VALUE, --name VALUE; "--" ends them. Operands may stand anywhere.
 */
#ifndef ZKLEADER_BASE_TEXT_OPTIONS_H
#define ZKLEADER_BASE_TEXT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OPTIONS_WHY_SIZE 160

#define OPTION_END	 (-1)
#define OPTION_OPERAND	 (-2)
#define OPTION_BAD	 (-3) /* why says what is wrong */

struct option_spec {
	int id; /* the letter, or a number above 255 if there is none */
	const char *name;
	const char *value; /* its name in the help, "[=D]" if optional; NULL: no value */
	const char *help;  /* further lines are indented */
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
/*
 * Prints a line for each option. The first column has that width; a longer one gets a line of its
 * own.
 */
void options_print(FILE *out, const struct option_spec *specs, size_t width);

/* A program that has no commands. */
struct option_program {
	const char *name;
	const char *usage; /* the usage behind the name */
	const char *about; /* lines */
	const struct option_spec *specs;
	const char *rest; /* lines behind the options */
	int misuse;	  /* its exit code */
};

void options_help(FILE *out, const struct option_program *p);
/*
 * options_next() for a program without operands, which itself handles -h, -V and bad options: it
 * then returns OPTION_END, and *ret_code is the exit code. At the end of good arguments *ret_code
 * is -1.
 */
int options_program(struct options *o, const struct option_program *p, const char **ret_value,
		    int *ret_code);
/* The number that is a text of digits, no more of them than `most` has; -1: not one up to that. */
int64_t options_number(const char *text, int64_t most);
/* Parses a duration of at most max_ms: 0, or -EINVAL and the reason in why. */
int options_duration(const char *name, const char *text, int64_t max_ms, int64_t *ret_ms,
		     char why[OPTIONS_WHY_SIZE]);

#endif
