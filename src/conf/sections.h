/* sections.h - sections and keys, in the order of the files -> struct conf. lines.c decides what a
 * line is, value_types.c what a word means. */
#pragma once

#include "conf/complaints.h"
#include "conf/databases.h"
#include "conf/names.h"
#include "conf/value_types.h"

#include <stdio.h>

enum { LABEL_BYTES = 160 }; /* of a section's name in messages; longer ones are cut */

struct section {
    enum {
        SECTION_NONE, /* before the first one of a file */
        SECTION_SKIPPED, /* its header was wrong: complained of already */
        SECTION_OPEN,
    } state;
    enum section_kind kind;
    struct place place;
    void *object; /* struct conf, struct database or struct definition */
    uint32_t lines[N_KEYS]; /* where each key was given; 0: not yet */
    bool is_meant[N_KEYS]; /* given in a line that was refused: do not call it missing */
    char *database; /* of a resource: the value of `redis`; NULL if not given or refused */
    struct value value; /* of the key read last; value.key is NULL if the value is to be skipped */
    char label[LABEL_BYTES];
};

/* A resource with `also`, kept until all files are read: its levels may come later. */
struct levels_use {
    size_t definition; /* index in conf->definitions */
    char *section; /* as in messages */
    struct place place; /* of the key */
};

struct loading {
    struct conf *conf;
    const struct conf *running; /* in a reload, what runs at present; else NULL */
    struct complaints complaints;
    struct names names;
    struct known_set resources;
    struct known_set items; /* of the pool being read */
    struct section section;
    struct place daemon_place, include_place;
    struct database_places database_places[MAX_DATABASES]; /* as conf->databases */
    struct fleet_use *fleet_uses;
    size_t n_fleet_uses;
    struct levels_use *levels_uses;
    size_t n_levels_uses;
    uint32_t file; /* being read; 0 is the main file */
};

/* `running` may be NULL. */
void loading_init(struct loading *loading, const struct conf *running, conf_lookup *lookup);
void loading_deinit(struct loading *loading);

/* `inside` is the text between the brackets; NULL if it cannot be read. */
void section_open(struct loading *loading, uint32_t line, const char *inside);
void section_key(struct loading *loading, uint32_t line, const char *word, const char *text);
/* More of the last key's value, from the same or an indented line. */
void section_more(struct loading *loading, uint32_t line, const char *text);
/* A line, complained of elsewhere, that begins with `text`. */
void section_refuse(struct loading *loading, uint32_t line, const char *text);
/* The file ends: complains of what is missing, and of what does not fit together. */
void section_close(struct loading *loading);

/* Sets every key of such a section to its default. */
void section_set_defaults(enum section_kind kind, void *object);

/* The section being read is there for the second time; `what` is what it repeats. */
void section_complain_of_repetition(struct loading *loading, struct place first, const char *what);
/* Complains of the section being read. */
#define section_complain(loading, number, key, ...)                                                \
    complain(&(loading)->complaints,                                                               \
        (struct place){.file = (loading)->file, .line = (number)}, (loading)->section.label, key,  \
        __VA_ARGS__)
/* Of a value of it. */
#define VALUE_COMPLAIN(value, ...)                                                                 \
    complain(&(value)->loading->complaints, (value)->place, (value)->loading->section.label,       \
        (value)->key->word, __VA_ARGS__)
/* Of a key of it, where that is given. */
#define KEY_COMPLAIN(loading, key, ...)                                                            \
    section_complain((loading), (loading)->section.lines[key], key_table[key].word, __VA_ARGS__)

/* ---- lines.c ---- */

enum {
    WORD_BYTES = 140, /* key, "=" and the longest word fit into inih's line */
};

/* Reads to the end of `stream`, and calls the functions above. Check ferror(stream) for a read
 * error. */
void lines_read(struct loading *loading, FILE *stream);
