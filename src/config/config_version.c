#include "config/config_values.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/name.h"
#include "config/text/textfile.h"
#include "core/fleet/version_form.h"

/* The version without version-strip at its front; unchanged if the rest would be no version. */
static const char *strip_version(const struct config *c, const char *version)
{
	size_t len = c->version_strip ? strlen(c->version_strip) : 0;

	if (len > 0 && strncmp(version, c->version_strip, len) == 0 &&
	    name_is_version(version + len, strlen(version + len)))
		return version + len;
	return version;
}

static void warn_of_form(const struct config *c, const char *key, int line, const char *version,
			 struct problems *problems)
{
	const char *odd = version_form_text(version_form(version));

	if (odd[0])
		problems_warn(problems, c->file, line, "%s: \"%.100s\" %s", key, version, odd);
}

int config_read_version(const struct config *c, char **ret_version, struct problems *problems)
{
	mem_auto char *version = NULL;
	size_t len;
	int r = textfile_read_line(c->version_file, CONFIG_LINE_MAX, &version, &len, NULL);

	if (r < 0) {
		problems_add(problems, c->file, c->version_file_line, "version-file: \"%s\" %s",
			     c->version_file, textfile_error(r));
		return r;
	}
	if (len == 0) {
		problems_add(
			problems, c->file, c->version_file_line,
			"version-file: \"%s\" has an empty first line: write the version there",
			c->version_file);
		return -EINVAL;
	}
	if (!name_is_version(version, len)) {
		problems_add(problems, c->file, c->version_file_line,
			     "version-file: \"%s\" begins with \"%.100s\", which is no version: "
			     "that is up "
			     "to %d characters of printable ASCII",
			     c->version_file, version, NAME_VERSION_MAX);
		return -EINVAL;
	}
	*ret_version = mem_strdup(strip_version(c, version));
	warn_of_form(c, "version-file", c->version_file_line, *ret_version, problems);
	return 0;
}

void config_take_version(struct config_values *v)
{
	const struct setting *fixed = settings_get(v->settings, v->settings->sections, "version");
	const struct setting *file =
		settings_get(v->settings, v->settings->sections, "version-file");
	const char *version = config_text(v, "version");

	v->c->version_strip = config_copy(v, "version-strip");
	if (fixed->line && file->line) {
		config_problem(v, fixed->line > file->line ? "version" : "version-file",
			       "version and version-file are both set: keep one");
	} else if (!fixed->line && !file->line && !v->settings->partial) {
		problems_add(v->problems, v->c->file, 1,
			     "version or version-file is needed: the version of the application "
			     "that runs "
			     "here");
	}
	if (version && !name_is_version(version, strlen(version)))
		config_problem(
			v, "version",
			"\"%.100s\" is no version: that is up to %d characters of printable ASCII",
			version, NAME_VERSION_MAX);
	else if (version)
		v->c->version = mem_strdup(strip_version(v->c, version));
	if (v->c->version)
		warn_of_form(v->c, "version", fixed->line, v->c->version, v->problems);
	v->c->version_file = config_path(v, "version-file");
	v->c->version_file_line = file->line;
	if (v->c->version_file && !v->c->version)
		(void)config_read_version(v->c, &v->c->version, v->problems);
}
