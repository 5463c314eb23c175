"""The page before a real berthd and a real berth-web."""

HOSTILE = "<script>window.hurt=1</script>"
LIVE = "return document.getElementById('state').textContent === 'live'"


def held_by(holder):
    return ("return [...document.querySelectorAll('.unit.held')].some("
            f"e => e.innerText.includes('{holder}'))")


def test_a_job_is_in_its_box_and_then_in_the_timeline(chromium, site):
    chromium.open_live(site.address)
    chromium.run("""window.seen = null; window.began = null;
        const look = () => { if (document.body.innerText.includes('first-job')) {
            window.seen = performance.now(); } else { requestAnimationFrame(look); } };
        look(); window.began = performance.now();""")
    job = site.run("--holder", "first-job", "compress")
    chromium.wait_for(held_by("first-job"))
    after = chromium.wait_for("return window.seen && window.seen - window.began")
    print(f"\nin its box {after:.0f} ms after its start was asked for")
    waiting = [site.run("--holder", f"next-{i}", "compress") for i in range(3)]
    chromium.wait_for("return document.querySelectorAll('.waiter').length === 1")
    site.end(job)
    chromium.wait_for("return document.querySelectorAll('.waiter').length === 0")
    chromium.run("document.querySelector('.views a[data-view=timeline]').click();"
                 "document.getElementById('as-table').click()")
    chromium.wait_for("return [...document.querySelectorAll('#timeline-table tr')].some("
                      "e => /first-job.*released, exit 0/s.test(e.innerText))")
    for other in waiting:
        site.end(other)
    chromium.wait_for("return [...document.querySelectorAll('#timeline-table tr')].filter("
                      "e => /next-.*released, exit 0/s.test(e.innerText)).length === 3")
    chromium.must_be_clean()


def test_a_holder_that_is_a_script_is_text(chromium, site):
    chromium.open_live(site.address)
    job = site.run("--holder", HOSTILE, "--reason", HOSTILE, "deploy")
    chromium.wait_for(held_by(HOSTILE))
    site.end(job)
    chromium.wait_for("return !document.querySelector('.unit.held')")
    chromium.run("document.querySelector('.views a[data-view=timeline]').click();"
                 "document.getElementById('as-table').click()")
    chromium.wait_for("return document.getElementById('timeline-table').innerText.includes("
                      f"'{HOSTILE}')")
    assert chromium.run("return window.hurt") is None
    chromium.must_be_clean()


def test_berthd_and_berth_web_are_restarted(chromium, site):
    chromium.open_live(site.address)
    job = site.run("--holder", "stays", "deploy")
    chromium.wait_for(held_by("stays"))
    site.daemon.stop()
    chromium.wait_for("return document.getElementById('state').textContent.startsWith("
                      "'berthd is not connected')")
    site.daemon.start()
    chromium.wait_for(LIVE)
    chromium.wait_for(held_by("stays"))
    site.web.stop()
    chromium.wait_for("return document.getElementById('state').textContent.startsWith("
                      "'Connection lost')")
    site.web.start()
    chromium.wait_for(LIVE)
    site.end(job)
    chromium.wait_for("return !document.querySelector('.unit.held')")
    chromium.must_be_clean(unless=["Failed to load resource", "ERR_"])
