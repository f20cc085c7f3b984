/* memcached's text protocol, and the digest of values. Nothing here allocates. */

#ifndef MEMTEXT_H
#define MEMTEXT_H

#include <stddef.h>
#include <stdint.h>

enum memtext_kind { MEMTEXT_INCOMPLETE, MEMTEXT_MISS, MEMTEXT_VALUE, MEMTEXT_WRONG };

struct memtext_answer {
    enum memtext_kind kind;
    uint32_t flags;
    const char *value; /* inside what was read */
    size_t length;
};

/* The answer to "get" of one key, as far as it has come. */
struct memtext_answer memtext_read(const char *data, size_t size);

/* Tells a value from a damaged one. */
uint32_t memtext_digest(const char *data, size_t size);

#endif
