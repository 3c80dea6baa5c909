/*
 * The values of sections, after the file was read: each is checked, a key that the section does not
 * set gets the value of the section `defaults`, and then the built-in one.
 */
#ifndef ZKLEADER_CONFIG_TEXT_SECTION_H
#define ZKLEADER_CONFIG_TEXT_SECTION_H

#include <stddef.h>
#include <stdint.h>

#include "config/text/settings.h"

#define SECTION_NO_KEY SIZE_MAX

/* The index of a key of that name; SECTION_NO_KEY: the form has none. */
size_t section_key(const struct settings_form *form, const char *name, size_t len);
/*
 * The kind of sections, among `form` and those beside it, that has the key; NULL: none but
 * defaults.
 */
const struct settings_form *section_form_with(const struct settings_form *form, const char *name,
					      size_t len);
/* Completes all sections; adds a problem for each bad value. */
void sections_complete(struct settings *s, struct problems *problems);
void section_drop_values(struct setting *setting);

#endif
