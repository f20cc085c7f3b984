#include "memtext.h"

#include <stdio.h>
#include <string.h>

struct memtext_answer memtext_read(const char *data, size_t size)
{
    struct memtext_answer answer = {MEMTEXT_INCOMPLETE, 0, NULL, 0};
    const char *end = memchr(data, '\n', size);
    char line[300];
    unsigned long flags, length;

    if (end == NULL)
        return answer;
    answer.kind = MEMTEXT_WRONG;
    if ((size_t)(end - data) >= sizeof line)
        return answer;
    memcpy(line, data, (size_t)(end - data));
    line[end - data] = '\0';
    if (strcmp(line, "END\r") == 0) {
        answer.kind = MEMTEXT_MISS;
        return answer;
    }
    if (sscanf(line, "VALUE %*s %lu %lu", &flags, &length) != 2)
        return answer;
    answer.flags = (uint32_t)flags;
    answer.value = end + 1;
    answer.length = length;
    if (size - (size_t)(answer.value - data) < length + strlen("\r\nEND\r\n"))
        answer.kind = MEMTEXT_INCOMPLETE;
    else if (memcmp(answer.value + length, "\r\nEND\r\n", strlen("\r\nEND\r\n")) == 0)
        answer.kind = MEMTEXT_VALUE;
    return answer;
}

/* Adler-32. The sums are cut down before they can overflow, not for every byte. */
uint32_t memtext_digest(const char *data, size_t size)
{
    uint32_t low = 1, high = 0;

    while (size > 0) {
        size_t part = size < 5552 ? size : 5552;
        size -= part;
        for (; part > 0; part--) {
            low += (unsigned char)*data++;
            high += low;
        }
        low %= 65521;
        high %= 65521;
    }
    return high << 16 | low;
}
