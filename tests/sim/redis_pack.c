/* redis_pack.c - MessagePack as Redis' cmsgpack writes and reads it: nil, booleans, numbers,
 * strings, arrays and maps. */
#include "redis_internal.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

enum { MAX_NESTED = 16 };

/* ---- writing ---- */

/* A byte with the type, and a number of that many bytes, the largest first. */
static void add_head(struct text *out, unsigned head, uint64_t number, int n_bytes)
{
    char bytes[9] = {(char)head};
    for (int i = 1; i <= n_bytes; i++) {
        bytes[i] = (char)(number >> (8 * (n_bytes - i)) & 0xff);
    }
    text_add_bytes(out, bytes, (size_t)n_bytes + 1);
}

/* Heads: with the length inside, up to `max_short`, and with 16 and 32 bits of length behind. */
static void pack_length(struct text *out, size_t n, size_t max_short, unsigned short_head,
    unsigned head_16, unsigned head_32)
{
    if (n <= max_short) {
        add_head(out, short_head | (unsigned)n, 0, 0);
    } else if (n <= UINT16_MAX) {
        add_head(out, head_16, n, 2);
    } else {
        add_head(out, head_32, n, 4);
    }
}

static void pack_string(struct text *out, const char *text, size_t n)
{
    if (n > 31 && n <= UINT8_MAX) {
        add_head(out, 0xd9, n, 1);
    } else {
        pack_length(out, n, 31, 0xa0, 0xda, 0xdb);
    }
    text_add_bytes(out, text, n);
}

static void pack_integer(struct text *out, int64_t number)
{
    if (number >= -32 && number <= 127) {
        add_head(out, (unsigned)number & 0xff, 0, 0);
    } else if (number >= 0 ? number <= UINT8_MAX : number >= INT8_MIN) {
        add_head(out, number >= 0 ? 0xcc : 0xd0, (uint64_t)number, 1);
    } else if (number >= 0 ? number <= UINT16_MAX : number >= INT16_MIN) {
        add_head(out, number >= 0 ? 0xcd : 0xd1, (uint64_t)number, 2);
    } else if (number >= 0 ? number <= UINT32_MAX : number >= INT32_MIN) {
        add_head(out, number >= 0 ? 0xce : 0xd2, (uint64_t)number, 4);
    } else {
        add_head(out, number >= 0 ? 0xcf : 0xd3, (uint64_t)number, 8);
    }
}

static void pack_number(struct text *out, double number)
{
    float single = (float)number;
    uint64_t bits;
    uint32_t half;
    if (fabs(number) < 0x1p62 && floor(number) == number) {
        pack_integer(out, (int64_t)number);
    } else if ((double)single == number) {
        memcpy(&half, &single, sizeof half);
        add_head(out, 0xca, half, 4);
    } else {
        memcpy(&bits, &number, sizeof bits);
        add_head(out, 0xcb, bits, 8);
    }
}

/* How many pairs the table has; whether its keys are 1 ... n. */
static size_t count_pairs(lua_State *lua, int table, bool *is_arrayp)
{
    size_t n = 0;
    double largest = 0;
    *is_arrayp = true;
    for (lua_pushnil(lua); lua_next(lua, table) != 0; lua_pop(lua, 1)) {
        double key = lua_type(lua, -2) == LUA_TNUMBER ? lua_tonumber(lua, -2) : 0;
        *is_arrayp &= key >= 1 && floor(key) == key;
        largest = key > largest ? key : largest;
        n++;
    }
    *is_arrayp &= largest == (double)n;
    return n;
}

static void pack_value(lua_State *lua, struct text *out, int index, int depth);

static void pack_table(lua_State *lua, struct text *out, int index, int depth)
{
    bool is_array;
    size_t n = count_pairs(lua, index, &is_array);
    luaL_checkstack(lua, 4, "in cmsgpack");
    if (is_array) {
        pack_length(out, n, 15, 0x90, 0xdc, 0xdd);
    } else {
        pack_length(out, n, 15, 0x80, 0xde, 0xdf);
    }
    for (size_t i = 1; is_array && i <= n; i++) {
        lua_rawgeti(lua, index, (int)i);
        pack_value(lua, out, lua_gettop(lua), depth + 1);
        lua_pop(lua, 1);
    }
    if (!is_array) {
        for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
            pack_value(lua, out, lua_gettop(lua) - 1, depth + 1);
            pack_value(lua, out, lua_gettop(lua), depth + 1);
        }
    }
}

static void pack_value(lua_State *lua, struct text *out, int index, int depth)
{
    size_t n;
    const char *text;
    int type = depth > MAX_NESTED ? LUA_TNIL : lua_type(lua, index);
    switch (type) {
    case LUA_TSTRING:
        text = lua_tolstring(lua, index, &n);
        pack_string(out, text, n);
        break;
    case LUA_TNUMBER:
        pack_number(out, lua_tonumber(lua, index));
        break;
    case LUA_TBOOLEAN:
        add_head(out, lua_toboolean(lua, index) ? 0xc3 : 0xc2, 0, 0);
        break;
    case LUA_TTABLE:
        pack_table(lua, out, index, depth);
        break;
    default:
        add_head(out, 0xc0, 0, 0);
    }
}

int redis_pack(lua_State *lua)
{
    static struct text out; /* for all calls: Lua's errors do not free C's memory */
    luaL_checkany(lua, 1);
    out.length = 0;
    pack_value(lua, &out, 1, 0);
    lua_pushlstring(lua, out.bytes, out.length);
    return 1;
}

/* ---- reading ---- */

struct packed {
    lua_State *lua;
    const unsigned char *at, *end;
};

static const unsigned char *take(struct packed *packed, size_t n)
{
    const unsigned char *taken = packed->at;
    if ((size_t)(packed->end - packed->at) < n) {
        luaL_error(packed->lua, "Missing bytes in input.");
    }
    packed->at += n;
    return taken;
}

static uint64_t take_number(struct packed *packed, size_t n_bytes)
{
    uint64_t number = 0;
    const unsigned char *bytes = take(packed, n_bytes);
    for (size_t i = 0; i < n_bytes; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

static void unpack_string(struct packed *packed, size_t n)
{
    lua_pushlstring(packed->lua, (const char *)take(packed, n), n);
}

static void unpack_value(struct packed *packed, int depth);

static void unpack_array(struct packed *packed, size_t n, int depth)
{
    lua_newtable(packed->lua);
    for (size_t i = 1; i <= n; i++) {
        unpack_value(packed, depth + 1);
        lua_rawseti(packed->lua, -2, (int)i);
    }
}

static void unpack_map(struct packed *packed, size_t n, int depth)
{
    lua_newtable(packed->lua);
    for (size_t i = 0; i < n; i++) {
        unpack_value(packed, depth + 1);
        unpack_value(packed, depth + 1);
        lua_rawset(packed->lua, -3);
    }
}

static double take_double(struct packed *packed, unsigned head)
{
    double number;
    float single;
    if (head == 0xcb) {
        uint64_t bits = take_number(packed, 8);
        memcpy(&number, &bits, sizeof number);
        return number;
    }
    uint32_t half = (uint32_t)take_number(packed, 4);
    memcpy(&single, &half, sizeof single);
    return (double)single;
}

static double take_integer(struct packed *packed, unsigned head)
{
    bool is_signed = head >= 0xd0;
    size_t n_bytes = (size_t)1 << (head & 3);
    uint64_t number = take_number(packed, n_bytes);
    unsigned shift = (unsigned)(64 - 8 * n_bytes);
    return is_signed ? (double)((int64_t)(number << shift) >> shift) : (double)number;
}

/* Types with a byte of their own, and a length or number behind that. */
static void unpack_long(struct packed *packed, unsigned head, int depth)
{
    switch (head) {
    case 0xc0:
        lua_pushnil(packed->lua);
        break;
    case 0xc2:
    case 0xc3:
        lua_pushboolean(packed->lua, head == 0xc3);
        break;
    case 0xca:
    case 0xcb:
        lua_pushnumber(packed->lua, take_double(packed, head));
        break;
    case 0xd9:
    case 0xda:
    case 0xdb:
        unpack_string(packed, take_number(packed, (size_t)1 << (head - 0xd9)));
        break;
    case 0xdc:
    case 0xdd:
        unpack_array(packed, take_number(packed, head == 0xdc ? 2 : 4), depth);
        break;
    case 0xde:
    case 0xdf:
        unpack_map(packed, take_number(packed, head == 0xde ? 2 : 4), depth);
        break;
    default:
        if (head < 0xcc || head > 0xd3) {
            luaL_error(packed->lua, "Bad data format in input.");
        }
        lua_pushnumber(packed->lua, take_integer(packed, head));
    }
}

static void unpack_value(struct packed *packed, int depth)
{
    unsigned head = *take(packed, 1);
    if (depth > MAX_NESTED) {
        luaL_error(packed->lua, "too deep for cmsgpack");
    }
    luaL_checkstack(packed->lua, 4, "in cmsgpack");
    if (head <= 0x7f || head >= 0xe0) {
        lua_pushnumber(packed->lua, head <= 0x7f ? (int)head : (int)head - 256);
    } else if (head <= 0x8f) {
        unpack_map(packed, head & 15, depth);
    } else if (head <= 0x9f) {
        unpack_array(packed, head & 15, depth);
    } else if (head <= 0xbf) {
        unpack_string(packed, head & 31);
    } else {
        unpack_long(packed, head, depth);
    }
}

int redis_unpack(lua_State *lua)
{
    size_t n;
    const char *bytes = luaL_checklstring(lua, 1, &n);
    struct packed packed = {lua, (const unsigned char *)bytes, (const unsigned char *)bytes + n};
    unpack_value(&packed, 0);
    return 1;
}
