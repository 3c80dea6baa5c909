/*
 * Versions whose order is not the one that people expect: see core/fleet/version.h for the order.
 */
#ifndef ZKLEADER_CORE_FLEET_VERSION_FORM_H
#define ZKLEADER_CORE_FLEET_VERSION_FORM_H

enum version_form {
	VERSION_PLAIN,
	VERSION_PREFIXED, /* v1.6, release-1.6: a word before the first number */
	VERSION_HASH,	  /* hash of a commit: hashes have no meaningful order */
	VERSION_TYPO,	  /* 1.5.O: a letter that looks like a digit, where a number is expected */
	VERSION_WORDS,	  /* no number at all */
	VERSION_EARLY	  /* 1.5-dev, 1.5~rc1: said to be before 1.5, sorted after it */
};

/* The first of these forms that fits the version (see name_is_version()). */
enum version_form version_form(const char *version);
/*
 * The consequence, for people: a constant text that follows the version; "" for a plain one.
 */
const char *version_form_text(enum version_form form);

/*
 * The form of its numbers, up to the first word: "N.N.N" for 1.6.0 and 1.6.0-rc1, "N.N" for 1.60,
 * "N,N,N" for 1,6,0, "Y.N.N" for a date. Versions of one application usually share it.
 */
#define VERSION_OUTLINE_MAX 32
void version_outline(const char *version, char ret_outline[VERSION_OUTLINE_MAX]);

#endif
