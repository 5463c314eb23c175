/* script_sets.c - the scripts for data of one layout. */
#include "redis/scripts.h"

#include <assert.h>

const struct script_set *script_set_of(unsigned layout)
{
    /* Sessions keep to script_layouts(). */
    assert(layout - script_sets[0].layout < n_script_sets);
    return &script_sets[layout - script_sets[0].layout];
}

struct layouts script_layouts(void)
{
    return (struct layouts){script_sets[0].layout, script_sets[n_script_sets - 1].layout};
}
