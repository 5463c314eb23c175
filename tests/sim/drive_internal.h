/* drive_internal.h - the simulation, for drive*.c alone: the only files here that look into the
 * core's structs. */
#pragma once

#include "drive.h"

#include "record/history.h"

/* The core keeps pointers to definitions until the next core_define(). */
struct definitions {
    struct definition list[MODEL_RULES];
    char items[MODEL_RULES][MODEL_UNITS][MODEL_NAME];
    char *item_pointers[MODEL_RULES][MODEL_UNITS];
    struct level levels[MODEL_RULES][MODEL_LEVELS];
    struct rules_file file;
};

/* For a lease, or for its units, which rest. */
struct record {
    struct saved_lease *saved; /* NULL: it is free */
    char *text; /* the same, as the journal has it */
    nanoseconds cooldown_until; /* 0: the lease lives */
};

enum { N_RECORDS = 8 * MODEL_LEASES };

/* Said of a lease in requests. */
struct told {
    uint64_t id;
    uint32_t n_taken; /* how often somebody takes it away */
    bool has_status;
};

struct simulation {
    struct history history;
    uint64_t position; /* in its ring: entries before it have been compared */
    struct told *told;
    size_t n_told;
    struct core *core;
    struct model *model;
    struct effects effects;
    struct client clients[MODEL_CLIENTS];
    struct definitions *definitions;
    uint64_t rules_seed; /* of these */
    int32_t last_pid;
    nanoseconds now;
    struct record records[N_RECORDS]; /* a journal; lease.record is one more */
    struct trace trace;
    struct {
        char name[MODEL_NAME];
        uint32_t in_use;
    } before[MODEL_RESOURCES]; /* the step */
    size_t n_before;
    bool brings_proof; /* the step: to have back a lease that was granted under another limit */
    bool rates_are_lost; /* a record that had one is gone */
};

/* Call it before each operation on the core. */
void begin_trace(struct simulation *simulation);
/* Call it afterwards: fills the trace with what happened, and the records with what is true now. */
void take_effects(struct simulation *simulation);
/* For a slot or an item. */
uint8_t unit_number(const struct unit *unit);
struct grant grant_of(const struct lease *lease);
/* NULL if all are taken. */
struct record *find_free_record(struct simulation *simulation);
struct lease *find_lease(const struct simulation *simulation, uint64_t id);

struct core_ask {
    struct acquire_request ask; /* points to the others, and into the operation */
    char holder[MODEL_NAME], share[MODEL_NAME], once[16];
};
void core_ask_init(
    struct core_ask *out, struct simulation *simulation, const struct model_ask *ask);
const char *once_text(char text[16], uint32_t once);

void do_define(struct simulation *simulation, const struct operation *operation);
void do_change(struct simulation *simulation, const struct operation *operation);
void do_drain(struct simulation *simulation, const struct operation *operation);

/* drive_restart.c */
void do_restart(struct simulation *simulation, const struct operation *operation);
void do_reclaim(struct simulation *simulation, const struct operation *operation);
void do_repeat(struct simulation *simulation, const struct operation *operation);
void do_reclaim_unknown(struct simulation *simulation, const struct operation *operation);

/* drive_serve.c */
void serve_all(struct simulation *simulation, struct random *random);

/* drive_counts.c */
void counts_compare(struct simulation *simulation);

/* drive_history.c */
void histories_begin(struct simulation *simulation);
void histories_restart(struct simulation *simulation);
/* All leases are made again that can be. */
void histories_ready(struct simulation *simulation);
void histories_free(struct simulation *simulation);
/* Somebody takes it away; its end comes with an exit status: before that is done. */
void histories_taken(struct simulation *simulation, uint64_t id);
void histories_told(struct simulation *simulation, uint64_t id);
/* It has ended, and its record is still there. */
void histories_ended(struct simulation *simulation, const struct lease *lease);
/* It was not made again. */
void histories_gone(
    struct simulation *simulation, const struct record *record, const struct earlier_end *end);
void histories_compare(struct simulation *simulation);
void histories_compare_all(struct simulation *simulation);
/* Frees what the record has. */
void record_clear(struct record *record);

/* drive_compare.c: the state after a step */
void compare_all(struct simulation *simulation);
/* All records, which takes longer. */
void compare_records(struct simulation *simulation);
void require_all_free(const struct simulation *simulation);
