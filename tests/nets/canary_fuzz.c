/* Planted: a read behind the input, three right bytes deep. */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 2 && data[0] == 'z' && data[1] == 'k' && data[2] == '!')
		return *(volatile const uint8_t *)(data + size) & 0;
	return 0;
}
