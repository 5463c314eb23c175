"""The figures of a crowd: what each one measures, and the bound that it must not exceed. The first lines of a
function's text are what `bench/crowd --help` shows."""

from figures import Result

SIZES = (100, 1000, 10_000)


def measured(bench, n, name):
    """Measures a size as a whole: what is asked for again is measured again."""
    if n not in bench.measured or name in bench.shown.setdefault(n, set()):
        bench.measure(n)
        bench.shown[n] = set()
    bench.shown[n].add(name)
    return bench.measured[n]


def loss(n, name, what):
    def figure(bench):
        scenes = measured(bench, n, name)
        scene, patience = scenes[name], scenes["patience"]
        if scene.sums["stopped"] + scene.sums["lost"] > 0:
            return Result("%.1f s" % scene.seconds, "%.1f s" % patience, float("inf"))
        longest = patience - scene.sums["least"] / 1000
        return Result("%.1f s" % longest, "%.1f s" % patience, longest / patience)

    figure.__name__ = "%s_%d" % (name, n)
    figure.__doc__ = """%d sessions with a lease each lose their Redis: it %s. The longest time that one of them was
    without a new promise, beside the time for which a promise lasts until a job is asked to end.""" % (n, what)
    return figure


def idle(n):
    def figure(bench):
        scene = measured(bench, n, "idle")["idle"]
        percent = scene.cpu / scene.seconds * 100
        calls = "%.0f /s" % (scene.calls / scene.seconds)
        return Result(calls, "%.0f µs" % (scene.cpu / scene.calls * 1e6), percent)

    figure.__name__ = "idle_%d" % n
    figure.__doc__ = """%d sessions renew, three times each: calls per second, Redis' CPU for each (all that it
    does meanwhile), and the share of a CPU.""" % n
    return figure


KINDS = (
    ("restart", "is restarted with its data"),
    ("restart_empty", "is restarted without data"),
    ("failover", "dies, and a replica is promoted"),
)
TITLES = {"restart": "restart", "restart_empty": "without data", "failover": "failover"}
IDLE_BOUNDS = {100: 2.0, 1000: 10.0, 10_000: 40.0}

FIGURES = tuple(
    row
    for n in SIZES
    for row in (
        *((loss(n, name, what), "%s, %d sessions / patience" % (TITLES[name], n), 0.8, "%.2f x")
          for name, what in KINDS),
        (idle(n), "idle, %d: calls, CPU for each, share" % n, IDLE_BOUNDS[n], "%.2f %%"),
    )
)


# ---- for information ----


def story(n, name):
    def information(bench):
        if n not in bench.measured:
            bench.measure(n)
        return str(bench.measured[n][name])

    information.__name__ = "%s_%d_told" % (name, n)
    information.__doc__ = """How that went, with %d: seconds until all sessions were up.""" % n
    return information


def memory(n):
    def information(bench):
        if n not in bench.measured:
            bench.measure(n)
        total, clients, rest = bench.measured[n]["memory"]
        return "%.1f kB, of which its two connections have %.1f kB" % (total / 1e3, clients / 1e3)

    information.__name__ = "memory_%d" % n
    information.__doc__ = """Memory of Redis for each of %d sessions with a lease.""" % n
    return information


INFORMATION = tuple(
    row
    for n in SIZES
    for row in (
        *((story(n, name), "%s, %d" % (name.replace("_", " "), n))
          for name in ("connect", "idle", "restart", "restart_empty", "failover")),
        (memory(n), "memory, %d" % n),
    )
)
