#include "web/assets/assets.h"

#include <assert.h>
#include <string.h>

/* The assembler includes the files, by their path from the root of the sources. */
#define ASSET(symbol, file)                                                                    \
	__asm__(".section .rodata\n"                                                           \
		".global asset_" #symbol "\n.hidden asset_" #symbol "\nasset_" #symbol ":\n"   \
		".incbin \"" file "\"\n"                                                       \
		".global asset_" #symbol "_end\n.hidden asset_" #symbol "_end\nasset_" #symbol \
		"_end:\n.byte 0\n.previous\n");                                                \
	extern const char asset_##symbol[], asset_##symbol##_end[]

ASSET(style, "src/web/assets/style.css");
ASSET(app, "src/web/assets/app.js");
ASSET(icon, "src/web/assets/icon.svg");

const struct asset *asset_find(const char *name)
{
	static struct asset assets[] = {
		{"style.css", "text/css; charset=utf-8", asset_style, 0},
		{"app.js", "text/javascript; charset=utf-8", asset_app, 0},
		{"icon.svg", "image/svg+xml", asset_icon, 0},
	};
	const char *const ends[] = {asset_style_end, asset_app_end, asset_icon_end};

	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++) {
		if (strcmp(assets[i].name, name) != 0)
			continue;
		assets[i].len = (size_t)(ends[i] - assets[i].data);
		return &assets[i];
	}
	assert(!"an asset that no route names");
	return NULL;
}
