/* source.h - where the sources are that the tests were made of. */
#pragma once

extern const char source_dir[];
