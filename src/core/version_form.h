/*
 * Versions that sort against what their form suggests to people: see core/version.h for the order.
 */
#ifndef ZKLEADER_CORE_VERSION_FORM_H
#define ZKLEADER_CORE_VERSION_FORM_H

enum version_form {
	VERSION_PLAIN,
	VERSION_PREFIXED, /* v1.6, release-1.6: a word before the first number */
	VERSION_HASH,	  /* of a commit: the order of hashes is none */
	VERSION_TYPO,	  /* 1.5.O: a letter that looks like a digit, where a number is expected */
	VERSION_WORDS,	  /* no number at all */
	VERSION_EARLY	  /* 1.5-dev, 1.5~rc1: said to be before 1.5, sorted after it */
};

/* Of a version (see name_is_version()) the first of these that it is. */
enum version_form version_form(const char *version);
/*
 * What comes of it, for people: a constant text that goes on after the version; "" for a plain one.
 */
const char *version_form_text(enum version_form form);

#endif
