/* fleet.pml - Berth's timing argument (doc/timing.md), as a model for Spin.
 *
 * Two hosts want one unit of one Redis. Time goes in ticks of T/N. All clocks are kept as what is left of
 * spans, in twelfths of a tick; a clock of rate R (11, 12 or 13 twelfths: slewed by a twelfth at most) moves
 * on by R in a tick. Between two ticks anything may happen, in any order: a daemon may call whenever it
 * likes, or not at all (it hangs, is stopped, is cut off; a suspended host is silent too: CLOCK_BOOTTIME
 * goes on). `run` has the variants.
 *
 * ONE: host 0 in full; host 1 stands for all others: never expires, may do anything at any time; its job ends
 * at a loss. As to the callers' own clocks it is one daemon. NO_OWN: callers' own clocks are not asked, so the
 * session clock is faster: without steps that is the worse case. HELLOS hellos a host, STEPS clock steps, FAULTS
 * losses of data at most. LIVE: from any moment on nothing more fails, but that a host may be gone; so many ticks
 * later nobody waits.
 *
 * Left out: the wrapper and the daemon as two killers; hello in parts; the order of the queue; Sentinel; `found`;
 * changes of the ttl; more than one unit; the age of a call, but with SLOW.
 */
#define T (12 * N)
#ifdef NO_CLAMP
#define MAX_WALL (2 * T)
#else
#define MAX_WALL CAP
#endif
#define MAX_OWN T               /* of own: enough for any step */
#define HOLD (T / 6)

#define IDLE 0
#define WAIT 1
#define GOT  2                  /* granted; its wrapper has not started the job yet (LATE_START) */
#define RUN  3
#define DYING 4                 /* told that the lease is lost; dead by the deadline */
#define alive(h) (host[h].job >= RUN)

typedef Host {
    byte job;
    short good;                 /* until the deadline */
    short pend;                 /* the same, from an answer that is still on its way (SLOW) */
    byte inc;                   /* incarnation */
    bit up;                     /* has listed everything since it connected */
    bit at;                     /* the server that it is connected to */
    byte z; byte zjob; bit zat; /* a late hello on a connection that was given up: its incarnation, what it lists */
    byte ev;                    /* a message "granted", by the incarnation to which it was sent */
}
typedef Server {
    bit data;
    bit foreign;                /* another server has written these data */
    short grace;                /* until its end; 0: none */
    short wall;                 /* of Redis' TIME since the last call */
    short left[2];              /* until a session ends */
    short own[2];               /* by how much the host's own clock allows the session clock to move */
    byte inc[2];                /* 0: no session */
    bit fresh[2];               /* has said hello in this epoch */
    bit ahead[2];               /* the daemon has had an answer that these data lack */
    byte owner;                 /* 1 + host; 0: the unit is free */
    bit waits[2];
}
Host host[2];
Server srv[3];                  /* 0: the master; 1: the promoted replica; 2: a copy of old data */
bit saved, cut;
short old_left;                 /* how long the old master still accepts writes */
byte steps, faults, latest;     /* latest: who was granted last (the larger token) */
short adv, own; byte i, rate, as, said, ok; /* scratch: the incarnation and job of a call */
bit calm, gone[2]; byte calm_for, beat;
#define WORSE(x, y) ((x) < (y) -> (x) : (y))
#define MINUS(x, y) ((x) > (y) -> (x) - (y) : 0)

inline copy(to, from) {
    srv[to].data = srv[from].data; srv[to].foreign = srv[from].foreign; srv[to].grace = srv[from].grace;
    srv[to].wall = srv[from].wall; srv[to].owner = srv[from].owner;
    for (i : 0 .. 1) {
        srv[to].left[i] = srv[from].left[i]; srv[to].own[i] = srv[from].own[i]; srv[to].inc[i] = srv[from].inc[i]; srv[to].fresh[i] = srv[from].fresh[i];
        srv[to].ahead[i] = srv[from].ahead[i]; srv[to].waits[i] = srv[from].waits[i]
    }
}
inline begin_grace(s) {
    srv[s].grace = GRACE; srv[s].foreign = 0;
    for (i : 0 .. 1) { srv[s].fresh[i] = 0; srv[s].ahead[i] = 0 }
}
inline catch_up(h, s) {         /* 13-frame.lua */
#ifdef NO_OWN
    adv = srv[s].wall;
#else
    own = (srv[s].inc[h] > 0 -> srv[s].own[h] : 0);
    adv = (srv[s].wall < 0 -> own : WORSE(srv[s].wall, own + SLACK));
#endif
    adv = (adv > 0 -> WORSE(adv, MAX_WALL) : 0); srv[s].wall = 0;
#ifndef NO_OWN
    for (i : 0 .. 1) { srv[s].own[i] = srv[s].own[i] - adv; srv[s].own[i] = (srv[s].own[i] < -HOLD -> -HOLD : srv[s].own[i]) }
    srv[s].own[h] = WORSE(srv[s].own[h], 0);
#endif
    srv[s].grace = MINUS(srv[s].grace, adv);
    srv[s].left[0] = MINUS(srv[s].left[0], adv);
#ifndef ONE
    srv[s].left[1] = MINUS(srv[s].left[1], adv);
#endif
    if
    :: srv[s].foreign || srv[s].ahead[h] -> begin_grace(s)
    :: else
    fi;
    for (i : 0 .. 1) {          /* purge_sessions */
        if
        :: srv[s].grace == 0 && srv[s].left[i] == 0 ->
            srv[s].inc[i] = 0; srv[s].own[i] = 0; srv[s].waits[i] = 0; srv[s].fresh[i] = 0;
            srv[s].owner = (srv[s].owner == i + 1 -> 0 : srv[s].owner)
        :: else
        fi
    }
}
inline settle(s) {              /* whoever waits; order is not modelled */
    if
    :: srv[s].grace == 0 && srv[s].owner == 0 && (srv[s].waits[0] || srv[s].waits[1]) ->
        if
        :: srv[s].waits[0] -> i = 0
        :: srv[s].waits[1] -> i = 1
        fi;
        srv[s].owner = i + 1; srv[s].waits[i] = 0; latest = i; host[i].ev = srv[s].inc[i]
    :: else
    fi
}
inline note_job(h, s) {    /* acquire and release, folded into the next call */
    srv[s].waits[h] = (said == WAIT && srv[s].owner != h + 1);
    srv[s].owner = (said == IDLE && srv[s].owner == h + 1 -> 0 : srv[s].owner)
}
/* hello: begin, lease and end in one; ok: the listed job may go on. */
inline hello(h, s) {
    if
    :: !srv[s].data ->          /* fresh_database */
        srv[s].data = 1; srv[s].owner = 0; srv[s].wall = 0;
        for (i : 0 .. 1) { srv[s].inc[i] = 0; srv[s].own[i] = 0; srv[s].left[i] = 0; srv[s].waits[i] = 0 }
        begin_grace(s)
    :: else -> catch_up(h, s)
    fi;
#ifdef NO_INC
    ok = 1;
#else
    ok = as > srv[s].inc[h];
#endif
    if
    :: ok ->
        srv[s].inc[h] = as; srv[s].fresh[h] = 1; srv[s].left[h] = T; srv[s].own[h] = 0;
        if
        :: srv[s].grace > 0 && said >= GOT && (srv[s].owner == 0 || latest == h) -> srv[s].owner = h + 1 /* put_back */
        :: srv[s].grace > 0 && said == WAIT && srv[s].owner == h + 1 -> srv[s].owner = 0
        :: else
        fi;
        note_job(h, s); settle(s);
        ok = said < GOT || srv[s].owner == h + 1
    :: else
    fi
}
/* renew; ok: the session lives on. */
inline renew(h, s) {
    ok = 0;
    if
    :: srv[s].data ->
        catch_up(h, s);
#ifdef NO_INC
        ok = srv[s].inc[h] > 0;
#else
        ok = srv[s].inc[h] == host[h].inc && srv[s].fresh[h] && srv[s].left[h] > 0;
#endif
        if
        :: ok -> srv[s].left[h] = T; note_job(h, s)
        :: else
        fi;
        settle(s)
    :: else
    fi
}
inline start(h) {
    printf("%d is granted the unit, good for %d ticks\n", h, host[h].good / 12);
    host[h].ev = 0;             /* lease ids are unique: a message about this one is no other's */
#ifdef LATE_START
    host[h].job = GOT
#else
    host[h].job = RUN
#endif
}
inline answered(h, s) {         /* now + GOOD less the age of the call: with SLOW it comes later */
#ifdef SLOW
    if
    :: host[h].pend = GOOD
    :: host[h].good = GOOD; host[h].pend = 0
    fi;
#else
    host[h].good = GOOD;
#endif
    srv[2].ahead[h] = saved;
    if
    :: host[h].job == WAIT && srv[s].owner == h + 1 -> start(h) /* a gift, or the event in the answer */
    :: host[h].job >= GOT && srv[s].owner != h + 1 -> host[h].job = (host[h].job == GOT -> IDLE : DYING)
    :: else
    fi
}
inline say_hello(h, s) {
    host[h].inc++; host[h].at = s; host[h].pend = 0;
    if
    :: as = host[h].inc; said = host[h].job; hello(h, s);
        printf("%d says hello %d at %d: %d; owner %d, grace %d\n", h, as, s, ok, srv[s].owner, srv[s].grace / 12);
        if
        :: ok -> host[h].up = 1; answered(h, s)
        :: !ok && host[h].job >= GOT -> host[h].up = 1; answered(h, s) /* "lost" */
        :: !calm                                     /* the answer is lost */
        fi
#ifdef LATE_CALL
    :: !calm && host[h].z == 0 -> host[h].z = host[h].inc; host[h].zjob = host[h].job; host[h].zat = s
#endif
    :: !calm                                         /* the call is lost */
    fi
}
inline say_renew(h, s) {
    said = host[h].job; renew(h, s);
    printf("%d renews at %d: %d; owner %d, grace %d, sessions end in %d %d\n", h, s, ok, srv[s].owner, srv[s].grace / 12, srv[s].left[0] / 12, srv[s].left[1] / 12);
    if
    :: ok -> answered(h, s)
    :: !ok -> host[h].up = 0
    :: !calm -> host[h].up = 0                       /* the answer is lost */
    fi
}
#define reachable(s) ((s) == 0 -> (!cut || old_left > 0) : cut)
#define now_at (calm && cut)    /* in the end all reach the new master */

inline host_acts(h) {
    if
    :: host[h].job == IDLE -> host[h].job = WAIT ; printf("%d wants the unit\n", h)
    :: host[h].job == GOT -> host[h].job = RUN       /* the wrapper starts the job, however late */
    :: host[h].job >= RUN -> host[h].job = IDLE; printf("%d: its job ends\n", h)      /* the job ends */
    :: host[h].up && reachable(host[h].at) -> say_renew(h, host[h].at)
    :: !host[h].up && host[h].inc < HELLOS && reachable(0) -> say_hello(h, 0)
    :: !host[h].up && host[h].inc < HELLOS && reachable(1) -> say_hello(h, 1)
    :: host[h].up && host[h].inc < HELLOS -> host[h].up = 0; host[h].pend = 0
    :: host[h].pend > 0 -> host[h].pend = (host[h].pend > GOOD - T / 12 -> host[h].pend : 0);
#ifdef FROM_ANSWER
        host[h].good = (host[h].pend > 0 -> GOOD : host[h].good); host[h].pend = 0
#else
        host[h].good = (host[h].pend > host[h].good -> host[h].pend : host[h].good); host[h].pend = 0
#endif
    :: host[h].z > 0 && reachable(host[h].zat) ->    /* a late call is carried out; nobody hears the answer */
        as = host[h].z; said = host[h].zjob; host[h].z = 0; hello(h, host[h].zat);
        printf("%d: a late hello %d is carried out: %d; owner %d\n", h, as, ok, srv[host[h].zat].owner)
    :: host[h].ev > 0 ->                             /* a message: entry_granted() */
        if
        :: host[h].up && host[h].ev == host[h].inc && host[h].job == WAIT ->
#ifdef NO_LATE_CHECK
            start(h)
#else
            if :: host[h].good > K -> start(h) :: else -> host[h].job = IDLE fi /* given back */
#endif
        :: else
        fi;
        host[h].ev = 0
    fi
}
#ifdef ONE
#define LOSS faults++; printf("a loss of data or a failover\n"); host[1].job = IDLE; host[1].up = 0; host[1].ev = 0; host[1].z = 0
#else
#define LOSS faults++; printf("a loss of data or a failover\n")
#endif
inline redis_acts() {
    if
    :: steps < STEPS -> steps++; printf("the clock is set\n");                     /* ntpd or an operator sets the clock */
        if
        :: srv[cut].wall = MAX_WALL
        :: srv[cut].wall = -CAP
        fi
#if defined OLD || defined SNAP
    :: !saved && faults < FAULTS && !cut -> saved = 1; printf("a copy is saved\n"); copy(2, 0); srv[2].ahead[0] = 0; srv[2].ahead[1] = 0
#endif
#ifdef EMPTY
    :: faults < FAULTS -> LOSS; srv[cut].data = 0
#endif
#ifdef OLD
    :: saved && faults < FAULTS && !cut -> LOSS; copy(0, 2); srv[0].foreign = 1; saved = 0 /* another run id */
#endif
#ifdef SNAP
    :: saved && faults < FAULTS && !cut -> LOSS; copy(0, 2); saved = 0                      /* the same run id */
#endif
#ifdef FAILOVER
    :: faults < FAULTS && !cut -> LOSS; cut = 1; copy(1, 0); srv[1].foreign = 1; old_left = MAXLAG; saved = 0
#endif
    fi
}
inline host_ticks(h, r) {
#ifdef VM_PAUSE
    if :: rate = r :: rate = 0 fi;                   /* the machine stands still, and its clock with it */
#else
    rate = r;
#endif
    host[h].good = MINUS(host[h].good, rate); host[h].pend = MINUS(host[h].pend, rate);
#ifndef NO_KILL
    host[h].job = (host[h].good <= EARLY && alive(h) -> IDLE : host[h].job)
#endif
}
inline tick() {
    printf("tick %d %d\n", host[0].good / 12, host[1].good / 12);
    host_ticks(0, RA);
#ifndef ONE                     /* with it, time stands still for host 1: all that it does, it may do at any time */
    host_ticks(1, RB);
#endif
    for (i : 0 .. 2) {
        srv[i].wall = (srv[i].data -> WORSE(srv[i].wall + RR, MAX_WALL) : 0);
#ifndef NO_OWN
        srv[i].own[0] = (srv[i].inc[0] > 0 -> WORSE(srv[i].own[0] + RA, MAX_OWN) : 0);
        srv[i].own[1] = (srv[i].inc[1] > 0 -> WORSE(srv[i].own[1] + RB, MAX_OWN) : 0)
#else
        skip
#endif
    }
#ifdef ONE
    host[1].job = (old_left > 0 && old_left <= RO && host[1].at == 0 -> IDLE : host[1].job);
#endif
    old_left = MINUS(old_left, RO)
}
/* Once faults have stopped: daemons come back, renew, and jobs end; so each waiter is served. */
inline calm_acts(h) {
    if
    :: gone[h] -> host[h].job = IDLE
    :: else ->
        host[h].job = (host[h].job >= RUN -> IDLE : host[h].job);
        if
        :: host[h].up && host[h].at == now_at && beat == 0 -> say_renew(h, now_at)
        :: else
        fi;
        if
        :: !host[h].up || host[h].at != now_at -> say_hello(h, now_at)
        :: else
        fi
    fi
}
active proctype fleet() {
    srv[0].data = 1; srv[0].wall = 0;
    do
    :: atomic { !calm -> if :: host_acts(0) :: host_acts(1) :: redis_acts() :: tick() fi;
        adv = 0; own = 0; i = 0; rate = 0; as = 0; said = 0; ok = 0;
        assert(!(alive(0) && alive(1))) }
#ifdef LIVE
    :: atomic { !calm && (host[0].job == WAIT || host[1].job == WAIT) -> calm = 1; host[0].ev = 0; host[1].ev = 0;
        if :: gone[0] = 1 :: gone[1] = 1 :: skip fi }
    :: atomic { calm -> tick(); beat = (beat + 1) % (N / 6); calm_for++; calm_acts(0); calm_acts(1);
        if
        :: host[0].job != WAIT && host[1].job != WAIT -> break
        :: else -> assert(calm_for < LIVE)
        fi }
#endif
    od
}
