/*
 * Files that root alone can have written: what they say is run. The file, and every folder above
 * it, belongs to root, and nobody else may write to it; but folders that are sticky are good, as
 * nobody can put something else in the place of root's file there.
 */
#ifndef ZKLEADER_CONFIG_TRUSTED_H
#define ZKLEADER_CONFIG_TRUSTED_H

#include <sys/stat.h>

#define TRUSTED_WHY_SIZE 400

/*
 * Opens the file for reading. What is checked is what is opened: each component is, one after the
 * other, with the symbolic links resolved here. The descriptor and the file's status; or a negative
 * errno, -EPERM where it is not to be trusted, and why, with the remedy.
 */
int trusted_open(const char *path, struct stat *ret_stat, char why[TRUSTED_WHY_SIZE]);

#endif
