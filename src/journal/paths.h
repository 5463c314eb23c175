/* paths.h - where berthd keeps files that survive it. They are named after the socket, so that
 * several daemons on one host share nothing. These functions make no file, and read only the
 * environment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* `socket_path` is absolute. All return false if the result does not fit into `size` bytes. */

/* One name for a socket that may have several: its folder without symbolic links, or the path
 * unchanged if that cannot be resolved. */
bool path_canonical(const char *socket_path, char *out, size_t size);

/* In the first $RUNTIME_DIRECTORY, else beside the socket; `suffix` is ".journal" or ".lock". */
bool path_at_runtime(const char *socket_path, const char *suffix, char *out, size_t size);

/* The first $STATE_DIRECTORY; for an ordinary user $XDG_STATE_HOME/berth or
 * $HOME/.local/state/berth; else /var/lib/berth. */
bool path_of_state_directory(char *out, size_t size);
/* A file there: the socket's path as one word ("run-berth-berth.sock"), and `suffix`. */
bool path_in_state_directory(const char *socket_path, const char *suffix, char *out, size_t size);
