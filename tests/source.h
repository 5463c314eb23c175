/* source.h - where the sources are that the tests were made of. */
#ifndef BERTH_TESTS_SOURCE_H
#define BERTH_TESTS_SOURCE_H

extern const char source_dir[];

#endif
