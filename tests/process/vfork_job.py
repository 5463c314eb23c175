"""A job for the tests: it is inside vfork(2), with a child that prints "ready" and then waits for
ever."""

import ctypes

CLONE_VFORK, SIGCHLD = 0x4000, 17
STACK_BYTES = 1 << 18

libc = ctypes.CDLL(None)
stack = ctypes.create_string_buffer(STACK_BYTES)
top = ctypes.c_void_p((ctypes.addressof(stack) + STACK_BYTES) & ~15)
libc.clone(libc.system, top, CLONE_VFORK | SIGCHLD, b"echo ready; exec sleep 1000")
