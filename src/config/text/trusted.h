/*
 * Files that only root can have written: commands from them are run. The file, and every folder
 * above it, belongs to root, and nobody else may write to it. Sticky folders are good, as nobody
 * can put something else in the place of root's file there.
 */
#ifndef ZKLEADER_CONFIG_TEXT_TRUSTED_H
#define ZKLEADER_CONFIG_TEXT_TRUSTED_H

#include <sys/stat.h>

#define TRUSTED_WHY_SIZE 400

/*
 * Opens the file for reading. What is checked is what is opened: the components of the path are
 * opened and checked one after the other, and symbolic links are followed here. Returns the
 * descriptor, with the file's status; or a negative errno, with why and the remedy. -EPERM: the
 * file is not to be trusted.
 */
int trusted_open(const char *path, struct stat *ret_stat, char why[TRUSTED_WHY_SIZE]);

#endif
