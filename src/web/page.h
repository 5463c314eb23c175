/* page.h - the page, made of page/ by assemble-page when berth-web is built: one file of HTML that
 * needs no other. */
#pragma once

#include <stddef.h>

extern const char page_bytes[];
extern const size_t page_length;
/* Its header Content-Security-Policy, with the hashes of its scripts and its styles. */
extern const char page_policy[];
