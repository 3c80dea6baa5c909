/* Reads small regular files, or their first line. Anything else is an error. */
#ifndef ZKLEADER_CONFIG_TEXT_TEXTFILE_H
#define ZKLEADER_CONFIG_TEXT_TEXTFILE_H

#include <stddef.h>
#include <sys/stat.h>

/*
 * Reads a file of at most limit bytes; the copy ends with a NUL. Never waits, whatever kind of file
 * it is. Returns 0, -EISDIR for a folder, -EINVAL for another thing that is no regular file, -EFBIG
 * above the limit, or the negative errno of open or read. ret_stat may be NULL.
 */
int textfile_read(const char *path, size_t limit, char **ret_text, size_t *ret_len,
		  struct stat *ret_stat);
/* Reads the first line likewise, at most limit bytes, without white space at its ends. */
int textfile_read_line(const char *path, size_t limit, char **ret_line, size_t *ret_len,
		       struct stat *ret_stat);
/*
 * The error of a file in words for people, such as "is a folder": for the results of the functions
 * above.
 */
const char *textfile_error(int error);
/* Returns `path`, which if relative is taken as beside `file`. The caller frees it. */
char *textfile_beside(const char *file, const char *path);

#endif
