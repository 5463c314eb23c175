/* past.h - `history` of a database: asked for page by page. */
#pragma once

struct call;

/* `history database=D`: answers later. */
void past_history(struct call *call);
