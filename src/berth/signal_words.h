/* signal_words.h - signals as people write them. Pure. */
#ifndef BERTH_BERTH_SIGNAL_WORDS_H
#define BERTH_BERTH_SIGNAL_WORDS_H

/* Parses "TERM", "SIGTERM" or "15"; 0 if it is no signal. */
int signal_parse(const char *word);

#endif
