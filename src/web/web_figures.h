/* web_figures.h - what berth-web does, in figures for Prometheus. */
#ifndef BERTH_WEB_WEB_FIGURES_H
#define BERTH_WEB_WEB_FIGURES_H

#include "web/web.h"

void web_figures_print(const struct web *web, struct text *out);

#endif
