#include "daemon/machine/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define LINE_MAX_BYTES 128

static size_t read_line(const char *path, char line[LINE_MAX_BYTES])
{
	FILE *file = fopen(path, "re");
	size_t len = 0;

	if (!file)
		return 0;
	if (fgets(line, LINE_MAX_BYTES, file))
		len = strcspn(line, "\n");
	fclose(file);
	return len;
}

void machine_id(char id[WORKER_MACHINE_MAX + 1])
{
	static const char *const files[] = {"/etc/machine-id", "/proc/sys/kernel/random/boot_id"};
	char line[LINE_MAX_BYTES];

	id[0] = '\0';
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !id[0]; i++) {
		size_t len = read_line(files[i], line);
		if (len > 0)
			snprintf(id, WORKER_MACHINE_MAX + 1, "%016" PRIx64,
				 hash_bytes(line, len, 0));
	}
}
