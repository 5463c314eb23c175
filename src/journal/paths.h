/* paths.h - where berthd keeps what survives it. All of it is named after the socket, so that
 * several daemons of one host do not share anything. Makes nothing, asks only the environment. */
#ifndef BERTH_JOURNAL_PATHS_H
#define BERTH_JOURNAL_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* All take the socket's absolute path, and return false if the result does not fit into `size`
 * bytes. */

/* The one name of a socket that may be reached by several: its folder without symbolic links. As it
 * is, if that cannot be found out. */
bool path_canonical(const char *socket_path, char *out, size_t size);

/* In the first of $RUNTIME_DIRECTORY, else beside the socket; `suffix` is ".journal", ".lock". */
bool path_at_runtime(const char *socket_path, const char *suffix, char *out, size_t size);

/* The first of $STATE_DIRECTORY; of an ordinary user $XDG_STATE_HOME/berth or
 * $HOME/.local/state/berth; else /var/lib/berth. */
bool path_of_state_directory(char *out, size_t size);
/* A file in it: the socket's path as one word ("run-berth-berth.sock"), and `suffix`. */
bool path_in_state_directory(const char *socket_path, const char *suffix, char *out, size_t size);

#endif
