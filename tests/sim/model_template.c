/* model_template.c - what operators have changed for all instances of a template. An instance's own
 * changes come first. */
#include "model.h"

#include <string.h>

/* Made at first use, with nothing changed. */
struct model_template *model_template_named(struct model *model, const char *name)
{
    size_t i = 0;
    while (i < model->n_templates && strcmp(model->templates[i].name, name) != 0) {
        i++;
    }
    struct model_template *template = &model->templates[i];
    if (i == model->n_templates) {
        REQUIRE(i < MODEL_TEMPLATES, "too many templates for the model");
        *template = (struct model_template){.limit = -1};
        strcpy(template->name, name);
        model->n_templates++;
    }
    return template;
}

bool model_is_paused(const struct model_resource *resource)
{
    bool with_others = resource->template && resource->template->paused && !resource->exempt;
    return resource->paused || with_others;
}

/* An exception lasts as long as its template's pause. A limit as in the file is a change only
 * beside another one of the template. */
void model_drop_what_is_moot(struct model_resource *resource)
{
    const struct model_template *template = resource->template;
    bool is_limited = template && template->limit >= 0;
    if (!is_limited && resource->runtime_limit == (int64_t)resource->rules.limit) {
        resource->runtime_limit = -1;
    }
    resource->exempt = resource->exempt && template && template->paused;
}

enum outcome model_change_template(
    struct model *model, const struct rules *rules, enum change_kind kind, uint32_t number)
{
    struct model_template *template = model_template_named(model, rules->name);
    if (kind == CHANGE_LIMIT) {
        if (!rules_may_have_limit(rules, number)) {
            return OUTCOME_KIND;
        }
        template->limit = number == rules->limit ? -1 : (int64_t)number;
    } else if (kind == CHANGE_PAUSE || kind == CHANGE_RESUME) {
        template->paused = kind == CHANGE_PAUSE;
    } else if (kind == CHANGE_RESET) {
        template->paused = false;
        template->limit = -1;
    } else {
        return OUTCOME_KIND; /* units are each instance's */
    }
    for (size_t i = 0; i < model->n_resources; i++) {
        if (model->resources[i]->template == template) {
            model_drop_what_is_moot(model->resources[i]);
        }
    }
    return OUTCOME_OK;
}

/* model->file still is the old one. */
void model_define_templates(struct model *model, const struct rules_file *file)
{
    for (size_t i = 0; i < model->n_templates; i++) {
        struct model_template *template = &model->templates[i];
        const struct rules *before = file_find(&model->file, template->name);
        const struct rules *next = file_find(file, template->name);
        if (!before || !next || rules_are_pool(before) != rules_are_pool(next)) {
            template->paused = false;
            template->limit = -1;
        } else if (before->limit != next->limit ||
            !rules_may_have_limit(next, (uint32_t) template->limit)) {
            template->limit = -1;
        }
    }
}
