/*
 * The keys of a task or queue as a text of digests, by which hosts find out where their files
 * differ without telling each other the values.
 */
#ifndef ZKLEADER_CONFIG_KEYS_KEY_MARKS_H
#define ZKLEADER_CONFIG_KEYS_KEY_MARKS_H

#include "base/text/marks.h"
#include "config/text/settings.h"

/*
 * A mark for each key that has another value than its default: of all keys of the section's form,
 * in their order. For the caller to free().
 */
char *key_marks(const struct settings *s, const struct section *section);
/* Whether the text of marks has one for that key: its value is another than the default. */
bool key_marks_have(const char *marks, const char *key);
/* The name of the key with that mark; NULL: no key of a task or queue has it. */
const char *key_marks_name(const struct settings_form *form, const char mark[MARK_NAME]);

#endif
