/* history_socket.h - where the berth-history of a berthd listens. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Beside the socket of berthd, berth-history.sock for berth.sock. False if it does not fit. */
bool path_of_history_socket(const char *berthd, char *out, size_t size);
