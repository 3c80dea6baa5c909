/*
 * Sidecars of an older release beside: what 0.1.0 neither writes nor reads of a record is left out on its way
 * to and from them. What else 0.1.0 does in another way is run with real processes: tests/upgrade.
 */
#ifndef TESTS_SIMNODE_RELEASES_H
#define TESTS_SIMNODE_RELEASES_H

#include "machine.h"
#include "tree.h"

/* The record as the sidecar on that machine writes or reads it: a reference of the caller's, NULL for no bytes. */
struct blob *release_record(const struct machine *m, const char *path, const void *data,
			    size_t len);

#endif
