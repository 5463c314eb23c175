/* page.h - the page, made of page/ by assemble-page when berth-web is built: one file of HTML that
 * needs no other. */
#pragma once

#include <stddef.h>

extern const char page_bytes[];
extern const size_t page_length;
/* For the header Content-Security-Policy: the hashes of its scripts and its styles. */
extern const char page_policy[];
