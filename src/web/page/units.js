/* The units of a resource: which there are and who is in each; as boxes, or as a bar of runs. */
(function (berth) {
  'use strict';

  berth.MAX_BOXES = 64; // more are a bar
  berth.MAX_ROOMY = 16; // so many boxes have room for words

  const isPool = (resource) => resource.kind === 'pool';

  function holdersByUnit(resource) {
    const holders = new Map();
    for (const lease of resource.holders.filter((holder) => !holder.shares)) {
      for (const unit of lease.units) {
        holders.set(unit, lease);
      }
    }
    return holders;
  }

  /* Slots beyond the limit are still held after the limit was lowered. */
  function slotNames(resource, holders) {
    const names = [];
    for (let slot = 0; slot < resource.limit; slot++) {
      names.push(slot);
    }
    const beyond = [...holders.keys()].filter((slot) => slot >= resource.limit);
    return names.concat(beyond.sort((a, b) => a - b));
  }

  /* [{name, lease or null, state, reason}], in order. `state`: idle, held, reserved, draining. */
  berth.unitsOf = function (resource) {
    const holders = holdersByUnit(resource);
    const items = new Map((resource.items || []).map((item) => [item.name, item]));
    const names = isPool(resource) ? [...items.keys()] : slotNames(resource, holders);
    return names.map((name) => {
      const lease = holders.get(name) || null, item = items.get(name);
      const state = item && item.state !== 'held' && item.state !== 'idle' ? item.state
        : lease ? 'held' : 'idle';
      return { name, lease, state, reason: item ? item.reason : null };
    });
  };

  berth.unitCount = (resource) => (isPool(resource) ? resource.items.length : resource.limit);
  berth.unitWord = (resource, unit) => (isPool(resource) ? String(unit) : 'slot ' + unit);

  /* Neighbours with the same lease and state as one: [{first, last, lease, state}], indexes. */
  function runsOf(units) {
    const runs = [];
    units.forEach((unit, i) => {
      const run = runs[runs.length - 1];
      if (run && run.lease === unit.lease && run.state === unit.state) {
        run.last = i;
      } else {
        runs.push({ first: i, last: i, lease: unit.lease, state: unit.state });
      }
    });
    return runs;
  }

  /* Lists of slots as 0-3, 7; of items as they are. */
  berth.unitList = function (resource, units, cut) {
    const parts = [];
    const sorted = isPool(resource) ? units : [...units].sort((a, b) => a - b);
    for (let i = 0; i < sorted.length; i++) {
      let end = i;
      while (!isPool(resource) && sorted[end + 1] === sorted[end] + 1) {
        end++;
      }
      parts.push(end > i ? sorted[i] + '–' + sorted[end] : String(sorted[i]));
      i = end;
    }
    return parts.join(', ') + (cut ? ', …' : '');
  };

  /* ---- what a box says ---- */

  berth.unitLabel = function (resource, unit, now) {
    const name = berth.unitWord(resource, unit.name);
    const state = unit.state === 'reserved' || unit.state === 'draining'
      ? ', ' + unit.state + (unit.reason ? ': ' + unit.reason : '') : '';
    if (!unit.lease) {
      return name + (state || ', free');
    }
    const lease = unit.lease;
    return name + state + ', ' + berth.userOf(lease) + ', ' + berth.jobOf(lease) +
      (lease.host ? ' on ' + lease.host : '') + ', since ' + berth.moment(lease.since, now);
  };

  function makeBox() {
    return berth.button('.unit', true, berth.el('span.unit-name'), berth.el('span.unit-who'),
      berth.el('span.unit-job'), berth.el('span.unit-age'));
  }

  function updateBox(box, resource, unit, now) {
    const lease = unit.lease;
    const [name, who, job, age] = box.children;
    const colour = lease ? 'u' + berth.colourOf(berth.userOf(lease)) : 'none';
    const classes = ['unit', unit.state, colour];
    if (lease && lease.stopping) {
      classes.push('stopping');
    }
    if (lease && lease.away) {
      classes.push('away');
    }
    box.className = classes.join(' ');
    box.dataset.act = lease ? 'lease' : 'unit';
    box.dataset.lease = lease ? lease.lease : '';
    box.dataset.unit = unit.name;
    berth.setText(name, unit.name);
    berth.setText(who, lease ? berth.userOf(lease) : unit.state === 'idle' ? 'free' : unit.state);
    berth.setText(job, lease ? (lease.host ? lease.host + ' · ' : '') + berth.jobOf(lease)
      : unit.reason || '');
    age.dataset.since = lease ? lease.since : '';
    berth.setText(age, lease ? berth.age(now - lease.since) : '');
    const label = berth.printable(berth.unitLabel(resource, unit, now));
    berth.setAttribute(box, 'aria-label', label);
    berth.setAttribute(box, 'title', label);
  }

  /* ---- the bar ---- */

  function makeBar() {
    const bar = berth.button('.runs', true, document.createElement('canvas'));
    bar.dataset.act = 'resource';
    bar.firstChild.setAttribute('aria-hidden', 'true');
    return bar;
  }

  const BAR_HEIGHT = 34;

  function paintBar(canvas, units, width) {
    const scale = window.devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(BAR_HEIGHT * scale);
    const context = canvas.getContext('2d');
    context.scale(scale, scale);
    context.fillStyle = colour('--free');
    context.fillRect(0, 0, width, BAR_HEIGHT);
    const step = width / units.length;
    for (const run of runsOf(units)) {
      if (run.state === 'idle') {
        continue;
      }
      const left = run.first * step, wide = (run.last - run.first + 1) * step;
      context.fillStyle = run.lease
        ? colour('--line-' + berth.colourOf(berth.userOf(run.lease))) : colour('--closed');
      context.fillRect(left, 0, Math.max(wide - (wide > 3 ? 1 : 0), 0.5), BAR_HEIGHT);
    }
  }

  function updateBar(bar, resource, units) {
    const label = resource.in_use.toLocaleString('en') + ' of ' +
      units.length.toLocaleString('en') + ' units held by ' +
      berth.plural(resource.holders.length, 'lease') + ', details';
    berth.setAttribute(bar, 'aria-label', label);
    berth.setAttribute(bar, 'title', label);
    bar.paint = () => paintBar(bar.firstChild, units, Math.max(bar.clientWidth, 50));
    bar.isPainted = false;
  }

  /* Brings `place` up to date: boxes are used again, so that a click and the focus are not lost. */
  berth.showUnits = function (place, resource, now) {
    const units = berth.unitsOf(resource), isBar = units.length > berth.MAX_BOXES;
    place.className = 'units ' +
      (isBar ? 'as-bar' : units.length > berth.MAX_ROOMY ? 'tight' : 'roomy');
    if (isBar) {
      if (!place.firstChild || !place.firstChild.matches('.runs')) {
        place.replaceChildren(makeBar());
      }
      updateBar(place.firstChild, resource, units);
      return;
    }
    if (place.firstChild && place.firstChild.matches('.runs')) {
      place.replaceChildren();
    }
    berth.reuse(place, units, makeBox, (box, unit) => updateBox(box, resource, unit, now));
  };

  /* As many children as items, each up to date. */
  berth.reuse = function (parent, items, make, update) {
    while (parent.children.length > items.length) {
      parent.lastElementChild.remove();
    }
    items.forEach((item, i) => {
      update(parent.children[i] || parent.appendChild(make()), item, i);
    });
  };
})(window.berth);
