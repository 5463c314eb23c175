/* The timeline: a view that zooms and moves over the lanes, on a canvas, and as a table. */
(function (berth) {
  'use strict';

  const AXIS = 24, HEAD = 40, LANE = 18, QUEUE = 8, SPACE = 12; // pixels
  const MIN_SPAN = 10000;

  const view = { from: 0, until: 0, isFollowing: true };
  let groups = [], rows = []; // rows: {kind, top, height, group, lane}
  const REFRESH_TICKS = 15;
  let choice = null, frame = 0, isStale = true, isTable = false, reload = 0, hits = [];
  let nTicks = REFRESH_TICKS; // until it asks again
  let lanes, canvas, tip, colours = {};

  const id = (name) => document.getElementById(name);
  const isShown = () => !id('view-timeline').hidden;

  /* ---- what is where ---- */

  function layOut() {
    groups = berth.groupsOf(choice, view.from, view.until);
    rows = [];
    let top = AXIS;
    const add = (kind, height, group, lane) => {
      rows.push({ kind, top, height, group, lane });
      top += height;
    };
    for (const group of groups) {
      group.top = top;
      add('head', HEAD, group, null);
      group.lanes.forEach((lane) => add('lane', LANE, group, lane));
      group.queue.forEach((lane) => add('queue', QUEUE, group, lane));
      group.bottom = top;
      top += SPACE;
    }
    id('lanes-height').style.height = Math.max(top, 120) + 'px';
    isStale = false;
  }

  const gutter = (width) => Math.min(280, Math.max(84, width * 0.18));
  const width = () => lanes.clientWidth;
  const xOf = (ms, left, wide) => left + (ms - view.from) / (view.until - view.from) * wide;

  /* ---- painting ---- */

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    colours = {};
    for (const name of ['ink', 'soft', 'rule', 'page', 'card', 'accent', 'bad', 'wait', 'free']) {
      colours[name] = style.getPropertyValue('--' + name).trim();
    }
    for (let i = 0; i < 8; i++) {
      colours['u' + i] = style.getPropertyValue('--tint-' + i).trim();
      colours['l' + i] = style.getPropertyValue('--line-' + i).trim();
    }
  }

  const nice = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    86400, 172800, 604800];

  function ticks(wide) {
    const least = (view.until - view.from) / Math.max(2, wide / 90) / 1000;
    const step = (nice.find((seconds) => seconds >= least) || 2592000) * 1000;
    const shift = new Date(view.from).getTimezoneOffset() * 60000;
    const list = [];
    for (let at = Math.ceil((view.from - shift) / step) * step + shift; at <= view.until;
      at += step) {
      list.push(at);
    }
    return [list, step];
  }

  function paintAxis(context, left, wide, height) {
    const [list, step] = ticks(wide);
    context.fillStyle = colours.card;
    context.fillRect(0, 0, left + wide, AXIS);
    context.textAlign = 'center';
    let day = '';
    for (const at of list) {
      const x = Math.round(xOf(at, left, wide)) + 0.5;
      context.strokeStyle = colours.rule;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x, AXIS - 5);
      context.lineTo(x, height);
      context.stroke();
      const isNewDay = berth.day(at) !== day && step >= 3600000;
      day = berth.day(at);
      context.fillStyle = colours.soft;
      context.fillText(step >= 86400000 || (isNewDay && at !== list[0])
        ? day.slice(5) : berth.clock(at, step < 60000), x, 12);
    }
    context.textAlign = 'left';
  }

  function hatch(context, gap, left, wide, top, height) {
    const first = Math.max(left, xOf(gap.from_at_ms, left, wide));
    const last = Math.min(left + wide, xOf(gap.until_at_ms, left, wide));
    if (last <= left || first >= left + wide || height <= top) {
      return;
    }
    hits.push({ left: first - 2, right: last + 2, top, bottom: height,
      span: { kind: 'gap', gap } });
    context.save();
    context.beginPath();
    context.rect(first, top, Math.max(last - first, 2), height - top);
    context.clip();
    context.strokeStyle = colours.rule;
    context.lineWidth = 2;
    context.beginPath();
    for (let x = first - height; x < last; x += 8) {
      context.moveTo(x, height);
      context.lineTo(x + height, 0);
    }
    context.stroke();
    context.restore();
    if (last - first > 60) {
      context.fillStyle = colours.soft;
      context.fillText(fitted(context, berth.printable(berth.reasonOf(gap)), last - first - 8),
        first + 4, height - 10);
    }
  }

  /* What an operator did, over the rows of its resource, or over all. */
  function paintAction(context, action, top, bottom, left, wide) {
    const x = Math.round(xOf(action.at_ms, left, wide)) + 0.5;
    if (x < left || x > left + wide || bottom <= top) {
      return;
    }
    context.save();
    context.strokeStyle = context.fillStyle = colours.ink;
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, bottom);
    context.stroke();
    context.beginPath();
    context.moveTo(x - 5, top);
    context.lineTo(x + 5, top);
    context.lineTo(x, top + 7);
    context.fill();
    context.restore();
    hits.push({ left: x - 5, right: x + 5, top, bottom: Math.min(bottom, top + HEAD),
      span: { kind: 'action', action } });
  }

  function paintActions(context, left, wide, scrolled, height) {
    for (const group of groups) {
      for (const action of group.actions) {
        paintAction(context, action, Math.max(AXIS, group.top + 4 - scrolled),
          Math.min(height, group.bottom - scrolled), left, wide);
      }
    }
    for (const action of berth.actionsOf(view.from, view.until)) {
      if (!action.resource) {
        paintAction(context, action, AXIS, height, left, wide);
      }
    }
  }

  function fitted(context, text, wide) {
    if (context.measureText(text).width <= wide) {
      return text;
    }
    let cut = text;
    while (cut.length > 1 && context.measureText(cut + '…').width > wide) {
      cut = cut.slice(0, Math.max(1, Math.floor(cut.length * 0.85)));
    }
    return cut + '…';
  }

  function spansOf(list, weightOf) {
    return list.map((span) => [span.from, span.until, weightOf(span)]);
  }

  const databaseOf = (group) => (group.resource ? group.resource.database : null);

  /* Of the time that all who have used it are known for. */
  function useOf(group, until) {
    const since = berth.past.knownSince(databaseOf(group));
    const from = Math.max(view.from, berth.past.begin(), since);
    if (!(from < until)) {
      return '';
    }
    const [used] = berth.means(spansOf(group.holds, (span) => span.units.length || 1),
      from, until, 1);
    return Math.round(Math.min(1, used / group.limit) * 100) + ' % used';
  }

  function paintHead(context, row, y, left, wide) {
    const bounded = Math.max(view.from + 1, Math.min(view.until, berth.model.now()));
    const group = row.group, box = { left, top: y + 8, height: HEAD - 12,
      width: wide * (bounded - view.from) / (view.until - view.from) };
    const n = Math.max(20, Math.floor(box.width / 4));
    const used = berth.means(spansOf(group.holds, (span) => span.units.length || 1),
      view.from, bounded, n);
    const waits = berth.means(spansOf(group.waits, () => 1), view.from, bounded, n);
    const top = Math.max(group.limit, ...used), most = Math.max(1, ...waits);
    berth.drawArea(context, used, box, top, colours.free, colours.accent);
    if (group.waits.length > 0) {
      berth.drawArea(context, waits, { ...box, top: box.top + box.height / 2,
        height: box.height / 2 }, most, 'transparent', colours.wait);
    }
    context.fillStyle = colours.ink;
    context.font = '600 13px system-ui, sans-serif';
    context.fillText(fitted(context, berth.printable(group.name), left - 14), 6, y + 15);
    context.font = '11px system-ui, sans-serif';
    context.fillStyle = colours.soft;
    const use = group.limit > 0 ? useOf(group, bounded) : '';
    const waited = Math.max(0, ...group.waits.map((span) => span.until - span.from));
    context.fillText(fitted(context, use + (waited >= 1000 ? ' · waits ≤ ' +
      berth.duration(waited) : ''), left - 10), 6, y + 30);
  }

  function paintSpan(context, span, y, height, left, wide) {
    const first = Math.max(left, xOf(span.from, left, wide));
    const until = span.kind === 'open' || span.isOpen ? berth.model.now() : span.until;
    const last = Math.min(left + wide, xOf(until, left, wide));
    if (last < left || first > left + wide) {
      return;
    }
    const box = Math.max(last - first - 0.5, 1.5), who = berth.userOf(span.lease);
    const colour = berth.colourOf(who);
    if (span.kind === 'wait') {
      context.fillStyle = colours.wait;
      context.fillRect(first, y + 1, box, height - 3);
    } else {
      context.fillStyle = box < 4 ? colours['l' + colour] : colours['u' + colour];
      context.fillRect(first, y + 1, box, height - 2);
      context.fillStyle = span.kind === 'failed' ? colours.bad : colours['l' + colour];
      context.fillRect(first, y + height - 4, box, 3);
      if (span.kind === 'open' && box > 6) {
        context.fillRect(first + box - 3, y + 1, 3, height - 2);
      }
      if (box > 44) {
        context.fillStyle = colours.ink;
        context.fillText(fitted(context, berth.printable(who + ' · ' + berth.jobOf(span.lease)),
          box - 8), first + 4, y + height / 2 - 1);
      }
    }
    hits.push({ left: first - 1, right: first + box + 1, top: y, bottom: y + height, span });
  }

  function paintRow(context, row, y, left, wide) {
    if (row.kind === 'head') {
      paintHead(context, row, y, left, wide);
      return;
    }
    context.fillStyle = colours.soft;
    context.textAlign = 'right';
    if (row.kind === 'lane') {
      context.fillText(fitted(context, berth.printable(row.lane.name), left - 20), left - 8,
        y + LANE / 2);
    } else if (row.lane === row.group.queue[0]) {
      context.fillText('queue', left - 8, y + QUEUE / 2 + 1);
    }
    context.textAlign = 'left';
    context.strokeStyle = colours.rule;
    context.lineWidth = 0.5;
    context.strokeRect(left, y + row.height - 0.5, wide, 0);
    row.lane.spans.forEach((span) => paintSpan(context, span, y, row.height, left, wide));
  }

  function paint() {
    const wide = width(), height = lanes.clientHeight, scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(wide * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(wide * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = wide + 'px';
      canvas.style.height = height + 'px';
    }
    const context = canvas.getContext('2d');
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, wide, height);
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const left = gutter(wide), room = wide - left - 4, scrolled = lanes.scrollTop;
    hits = [];
    const all = [{ top: AXIS, bottom: Infinity, resource: null }];
    for (const group of groups.length > 0 ? groups : all) {
      for (const gap of berth.past.before(databaseOf(group))) {
        hatch(context, gap, left, room, Math.max(AXIS, group.top - scrolled),
          Math.min(height, group.bottom - scrolled));
      }
    }
    for (const gap of berth.past.gaps.concat(berth.past.missing())) {
      hatch(context, gap, left, room, AXIS, height);
    }
    for (const row of rows) {
      const y = row.top - scrolled;
      if (y + row.height > AXIS && y < height) {
        paintRow(context, row, y, left, room);
      }
    }
    paintActions(context, left, room, scrolled, height);
    paintAxis(context, left, room, Math.min(height, AXIS + 4));
    if (rows.length === 0) {
      context.fillStyle = colours.soft;
      context.fillText(berth.past.loading ? 'loading …' : berth.past.error
        ? 'The history of this period is not available.' : 'Nothing was held in this period.',
        left, AXIS + 40);
    }
  }

  /* ---- keeping it so ---- */

  function note() {
    const past = berth.past, parts = [];
    if (past.error) {
      parts.push('The history cannot be shown: ' + past.error + '.');
    }
    parts.push(...past.sentences(berth.model.now()));
    if (past.missing().length > 0) {
      parts.push('There are more leases than fit: zoom in to see older ones.');
    }
    const shared = groups.filter((group) => group.left > 0).map((group) => group.name);
    if (shared.length > 0) {
      parts.push('More leases than lanes, so some are not drawn: ' +
        shared.slice(0, 3).join(', ') + '.');
    }
    berth.setText(id('timeline-note'), parts.join(' '));
  }

  function draw() {
    frame = 0;
    if (!isShown()) {
      return;
    }
    if (isStale) {
      layOut();
      note();
      if (isTable) {
        id('timeline-table').replaceChildren(berth.timelineTable(groups, view));
      }
    }
    paint();
  }

  function soon(stale = false) {
    isStale = isStale || stale;
    frame = frame || requestAnimationFrame(draw);
  }

  function follow() {
    if (view.isFollowing) {
      const span = view.until - view.from;
      view.until = berth.model.now() + span * 0.01;
      view.from = view.until - span;
    }
  }

  function whole() {
    view.isFollowing = true;
    view.until = berth.model.now();
    view.from = berth.past.begin();
    follow();
    soon(true);
  }

  function load() {
    for (const button of id('periods').children) {
      berth.setAttribute(button, 'aria-pressed',
        String(Number(button.dataset.period) === berth.past.period));
    }
    whole();
    berth.past.load(() => (berth.past.period === 0 ? whole() : soon(true)));
  }

  /* What one answer could not hold is asked for again where one looks. */
  function lookCloser() {
    clearTimeout(reload);
    if (berth.past.missing().some((gap) => gap.until_at_ms > view.from &&
      gap.from_at_ms < view.until)) {
      reload = setTimeout(() => berth.past.part(view.from, view.until, () => soon(true)), 400);
    }
  }

  /* factor < 1 zooms in; `at`: 0 left edge to 1 right edge. */
  function zoom(factor, at) {
    const span = view.until - view.from, middle = view.from + span * at;
    const wanted = Math.max(MIN_SPAN, Math.min(span * factor, 400 * 86400000));
    view.from = middle - wanted * at;
    view.until = view.from + wanted;
    view.isFollowing = view.until >= berth.model.now();
    follow();
    lookCloser();
    soon(true);
  }

  function move(part) {
    const span = view.until - view.from, now = berth.model.now();
    view.from = Math.min(view.from + span * part, now - span / 2);
    view.until = view.from + span;
    view.isFollowing = part > 0 && view.until >= now;
    follow();
    lookCloser();
    soon(true);
  }

  const edge = () => (view.isFollowing ? 1 : 0.5);
  const moves = {
    earlier: () => move(-0.25),
    later: () => move(0.25),
    in: () => zoom(0.5, edge()),
    out: () => zoom(2, edge()),
    now: whole,
  };
  const keys = { ArrowLeft: 'earlier', ArrowRight: 'later', '+': 'in', '=': 'in', '-': 'out',
    n: 'now', N: 'now' };

  berth.timeline = {
    view,
    start() {
      [lanes, canvas, tip] = [id('lanes'), id('canvas'), id('tip')];
      readColours();
      id('view-timeline').addEventListener('click', (event) => {
        const button = event.target.closest('button');
        if (button && button.dataset.move) {
          moves[button.dataset.move]();
        } else if (button && button.dataset.period) {
          berth.past.period = Number(button.dataset.period);
          load();
        }
      });
      id('as-table').addEventListener('click', () => {
        isTable = !isTable;
        berth.setAttribute(id('as-table'), 'aria-pressed', String(isTable));
        id('timeline-table').hidden = !isTable;
        id('timeline-chart').hidden = isTable;
        soon(true);
      });
      lanes.addEventListener('keydown', (event) => {
        if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
          moves[keys[event.key]]();
          event.preventDefault();
        }
      });
      lanes.addEventListener('scroll', () => soon(), { passive: true });
      new ResizeObserver(() => soon()).observe(lanes);
      berth.point(lanes, {
        zoom, move, axis: AXIS, gutter: () => gutter(width()), width,
        at: (x, y) => hits.findLast((hit) => x >= hit.left && x <= hit.right && y >= hit.top &&
          y <= hit.bottom),
        tip,
      });
    },
    load,
    ready: () => berth.past.until !== undefined,
    /* choice: what the filters say. */
    show(chosen) {
      choice = chosen;
      soon(true);
    },
    changed: () => {
      nTicks = REFRESH_TICKS;
      if (choice && berth.past.until !== undefined) {
        berth.past.more(() => soon(true));
      }
      soon(true);
    },
    /* Also without a change here: other hosts' leases and operators' actions. */
    tick() {
      follow();
      if (--nTicks <= 0 && view.isFollowing) {
        this.changed();
      }
      soon();
    },
    recolour() {
      readColours();
      soon();
    },
  };
})(window.berth);
