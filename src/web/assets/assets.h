/* The files of the page, in the program itself. */
#ifndef ZKLEADER_WEB_ASSETS_ASSETS_H
#define ZKLEADER_WEB_ASSETS_ASSETS_H

#include <stddef.h>

struct asset {
	const char *name, *type;
	const char *data;
	size_t len;
};

/* The asset of that name, which has to exist. */
const struct asset *asset_find(const char *name);

#endif
