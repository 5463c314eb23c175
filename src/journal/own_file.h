/* own_file.h - files that nobody but berthd's user writes: how they are opened, made and replaced.
 * Functions that return bool or a descriptor set errno. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* Not through a link, and without waiting for the other end of a FIFO. -1: none. */
int own_file_open(const char *path);
/* Keeps errno; does nothing with -1. */
void own_file_close(int fd);
/* Whether it is a file of one name that only this user can have written. */
bool own_file_is_ours(int fd, off_t *sizep);
bool own_file_reserve(int fd, off_t offset, off_t n);

bool own_file_write(int fd, const char *bytes, size_t n, off_t offset);

/* A file is made as PATH.new, in place of what a killed daemon has left there. */
int own_file_make(const char *path);
/* Gives it its name, or removes it. */
bool own_file_install(const char *path);
void own_file_discard(const char *path); /* keeps errno */
