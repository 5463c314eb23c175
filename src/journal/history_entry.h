/* history_entry.h - an entry of the history (core/ended.h) as bytes. The reader checks everything.
 * Pure. */
#pragma once

#include "base/text.h"
#include "core/ended.h"

/* A number that is another one for another form of the bytes. */
enum { HISTORY_LAYOUT = 3 };

size_t history_entry_size(const struct history_entry *entry);
/* `room` has so many bytes, aligned to 8. */
void history_entry_write(const struct history_entry *entry, void *room);
/* The strings point into `bytes`. False if they are no entry. */
bool history_entry_read(struct history_entry *entry, const void *bytes, size_t n);

/* The entry of what an operator did at `at`. It borrows the strings; its record is in *record,
 * which begins empty. */
struct history_entry did_entry(const struct did *did, nanoseconds at, struct text *record);
/* The strings are the entry's. False if the entry is no such. */
bool did_read(struct did *did, const struct history_entry *entry);
