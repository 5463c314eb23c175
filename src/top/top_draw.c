/* top_draw.c - the terminal of `berthctl top`: the only file that knows ncurses. Signals are its
 * caller's business. */
#include "top/top_internal.h"

#include "config.h"

#ifdef HAVE_NCURSES

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

/* Its names of what a terminal has. */
#undef columns
#undef lines

enum { USUAL_WIDTH = 80, USUAL_HEIGHT = 24, MAX_SIZE = 1000, ESCAPE_MILLISECONDS = 25 };

static SCREEN *terminal;
static struct termios before;
static attr_t looks[N_LOOKS];

/* ---- begin and end ---- */

enum { PAIR_NOTICE = 1, PAIR_ALARM };

static void choose_looks(void)
{
    looks[LOOK_STRONG] = A_BOLD;
    looks[LOOK_QUIET] = A_DIM;
    looks[LOOK_NOTICE] = looks[LOOK_ALARM] = A_BOLD;
    if (has_colors() && look_wants_colour() && start_color() == OK && use_default_colors() == OK) {
        init_pair(PAIR_NOTICE, COLOR_YELLOW, -1);
        init_pair(PAIR_ALARM, COLOR_RED, -1);
        looks[LOOK_NOTICE] = (attr_t)COLOR_PAIR(PAIR_NOTICE);
        looks[LOOK_ALARM] = (attr_t)COLOR_PAIR(PAIR_ALARM) | A_BOLD;
    }
}

/* newterm() does not free what it has begun for a terminal that it does not know. */
static bool is_known(const char *type)
{
    int error;
    if (!type || type[0] == '\0' || setupterm(type, STDOUT_FILENO, &error) != OK) {
        return false;
    }
    const char *moves = tigetstr("cup");
    del_curterm(cur_term);
    return moves && moves != (const char *)-1;
}

const char *draw_begin(void)
{
    const char *type = getenv("TERM");
    if (!is_known(type)) {
        return "cannot draw on the terminal that $TERM names";
    }
    if (tcgetattr(STDIN_FILENO, &before) != 0 || !(terminal = newterm(type, stdout, stdin))) {
        return "the terminal cannot be set up";
    }
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    typeahead(-1); /* a screen that has begun is drawn to its end */
    set_escdelay(ESCAPE_MILLISECONDS);
    curs_set(0);
    choose_looks();
    return NULL;
}

void draw_end(void)
{
    curs_set(1);
    endwin();
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    delscreen(terminal);
}

void draw_pause(void)
{
    def_prog_mode();
    curs_set(1);
    endwin();
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

void draw_resume(void)
{
    reset_prog_mode();
    curs_set(0);
    clearok(curscr, TRUE);
}

static size_t bounded(unsigned short columns, size_t usual)
{
    return columns == 0 ? usual : columns < MAX_SIZE ? columns : MAX_SIZE;
}

void draw_size(size_t *widthp, size_t *heightp)
{
    struct winsize size = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *widthp = bounded(size.ws_col, USUAL_WIDTH);
    *heightp = bounded(size.ws_row, USUAL_HEIGHT);
    resizeterm((int)*heightp, (int)*widthp);
}

/* ---- drawing ---- */

static void draw_line(const struct top_line *line, attr_t common, bool is_grey)
{
    size_t from = 0;
    attr_t look = looks[LOOK_PLAIN];
    for (size_t i = 0; i <= line->n_parts; i++) {
        size_t to = i < line->n_parts ? line->parts[i].begin : line->text.length;
        attrset((int)(is_grey ? common : look | common));
        addnstr(line->text.bytes + from, (int)(to - from));
        look = i < line->n_parts ? looks[line->parts[i].look] : look;
        from = to;
    }
    attrset((int)common);
    for (size_t i = line->columns; i < line->max && line->is_chosen; i++) {
        addch(' ');
    }
    attrset(A_NORMAL);
    if (line->columns < line->max && !line->is_chosen) {
        clrtoeol();
    }
}

void draw_screen(const struct top_screen *screen, bool again)
{
    if (again) {
        clearok(curscr, TRUE);
    }
    for (size_t i = 0; i < screen->n; i++) {
        bool is_grey = screen->is_grey && i > 0;
        move((int)i, 0);
        draw_line(&screen->lines[i],
            (screen->lines[i].is_chosen ? A_REVERSE : A_NORMAL) | (is_grey ? A_DIM : A_NORMAL),
            is_grey);
    }
    refresh();
}

/* ---- keys ---- */

static const struct {
    wint_t key;
    int kind; /* of get_wch() */
    enum top_code code;
} codes[] = {
    {KEY_UP, KEY_CODE_YES, TOP_KEY_UP},
    {KEY_DOWN, KEY_CODE_YES, TOP_KEY_DOWN},
    {KEY_LEFT, KEY_CODE_YES, TOP_KEY_LEFT},
    {KEY_RIGHT, KEY_CODE_YES, TOP_KEY_RIGHT},
    {KEY_PPAGE, KEY_CODE_YES, TOP_KEY_PAGE_UP},
    {KEY_NPAGE, KEY_CODE_YES, TOP_KEY_PAGE_DOWN},
    {KEY_HOME, KEY_CODE_YES, TOP_KEY_HOME},
    {KEY_END, KEY_CODE_YES, TOP_KEY_END},
    {KEY_ENTER, KEY_CODE_YES, TOP_KEY_ENTER},
    {KEY_BACKSPACE, KEY_CODE_YES, TOP_KEY_BACKSPACE},
    {'\r', OK, TOP_KEY_ENTER},
    {'\n', OK, TOP_KEY_ENTER},
    {'\b', OK, TOP_KEY_BACKSPACE},
    {0x7f, OK, TOP_KEY_BACKSPACE},
    {0x1b, OK, TOP_KEY_ESCAPE},
};

uint32_t draw_key(void)
{
    wint_t key;
    int kind;
    while ((kind = get_wch(&key)) != ERR) {
        for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
            if (codes[i].kind == kind && codes[i].key == key) {
                return codes[i].code;
            }
        }
        if (kind == OK && key > 0) {
            return key;
        }
    }
    return 0;
}

#endif
