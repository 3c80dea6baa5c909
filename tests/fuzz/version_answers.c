/* version_compare() as tests/oracle/Compare.java: lines of two versions with a tab between, -1, 0 or 1. */
#include <stdio.h>
#include <string.h>

#include "base/text/name.h"
#include "core/fleet/version.h"

int main(void)
{
	char line[2 * NAME_VERSION_MAX + 4];

	while (fgets(line, sizeof(line), stdin)) {
		char *tab = strchr(line, '\t');
		int order;

		line[strcspn(line, "\n")] = '\0';
		if (!tab)
			return 1;
		*tab = '\0';
		order = version_compare(line, tab + 1);
		printf("%d\n", (order > 0) - (order < 0));
	}
	return fflush(stdout) ? 1 : 0;
}
