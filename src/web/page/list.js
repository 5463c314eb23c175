/* The list of resources: only the cards in sight are elements. The window scrolls. */
(function (berth) {
  'use strict';

  const GAP = 6, BEYOND = 600; // pixels between cards; and above and below the sight that exist
  const AHEAD = 2; // cards made in one frame that are not in sight yet

  let list = null;
  let shown = []; // resources, in order
  let tops = [0]; // of each card, and the end
  const heights = new Map(); // name: measured
  const cards = new Map(); // name: element
  const spare = []; // elements without a resource
  const changed = new Set(); // names whose cards are out of date
  let active = null; // {name, item}: where Tab enters
  let frame = 0;
  let width = 0, listTop = 0, scrolled = 0; // as measured last: to ask again costs a layout

  function heightOf(resource) {
    return heights.get(resource.name) || berth.guessHeight(resource, width);
  }

  function measureTops(from = 0) {
    tops.length = shown.length + 1;
    tops[0] = 0;
    for (let i = from; i < shown.length; i++) {
      tops[i + 1] = tops[i] + heightOf(shown[i]) + GAP;
    }
    list.style.height = tops[shown.length] + 'px';
  }

  /* The last card that begins at or above y. */
  function indexAt(y) {
    let low = 0, high = shown.length;
    while (high - low > 1) {
      const middle = low + high >> 1;
      if (tops[middle] <= y) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }

  const offset = () => listTop - scrolled;

  function measureList() {
    width = list.clientWidth;
    listTop = list.getBoundingClientRect().top + window.scrollY;
  }

  function inSight() {
    if (shown.length === 0) {
      return [0, -1];
    }
    const top = -offset();
    return [indexAt(top - BEYOND), indexAt(top + window.innerHeight + BEYOND)];
  }

  const hasFocus = (card) => card.contains(document.activeElement);

  /* Cards are in the order of the list also in the document: Tab and readers follow that. */
  function insert(card, i) {
    for (let next = i + 1; next < shown.length && next < i + 40; next++) {
      const other = cards.get(shown[next].name);
      if (other && other.parentNode === list && other !== card) {
        if (card.nextSibling !== other) {
          list.insertBefore(card, other);
        }
        return;
      }
    }
    if (list.lastChild !== card) {
      list.append(card);
    }
  }

  function drop(wanted) {
    for (const [name, card] of cards) {
      if (!wanted.has(name) && !hasFocus(card)) {
        cards.delete(name);
        card.remove();
        spare.push(card);
      }
    }
    spare.length = Math.min(spare.length, 40);
  }

  function isInSight(i) {
    const top = tops[i] + offset();
    return top < window.innerHeight && top + tops[i + 1] - tops[i] > 0;
  }

  function fill(first, last, now) {
    const fresh = [];
    let ahead = 0;
    for (let i = last; i >= first; i--) {
      const resource = shown[i];
      let card = cards.get(resource.name);
      const isNew = !card;
      if (isNew && !isInSight(i) && ++ahead > AHEAD) {
        soon(); // the rest in the frames that follow
        continue;
      }
      if (isNew) {
        card = spare.pop() || berth.makeCard();
        cards.set(resource.name, card);
      }
      if (isNew || card.isMoved) {
        card.place = i;
        card.isMoved = false;
        insert(card, i);
        berth.setAttribute(card, 'aria-posinset', String(i + 1));
      }
      berth.setAttribute(card, 'aria-setsize', String(shown.length));
      if (isNew || card.resource !== resource || changed.has(resource.name)) {
        berth.updateCard(card, resource, now);
        fresh.push(card);
      }
    }
    changed.clear();
    return fresh;
  }

  /* Heights that turn out otherwise move what is below, and never what is being looked at. */
  function settle(fresh, anchor) {
    let isOff = false;
    const measured = fresh.map((card) => [card.dataset.name, card.offsetHeight]);
    for (const [name, height] of measured) {
      isOff = isOff || heights.get(name) !== height;
      heights.set(name, height);
    }
    if (isOff) {
      const before = tops[anchor];
      measureTops();
      const moved = tops[anchor] - before;
      if (moved && -offset() > tops[anchor] - moved && anchor > 0) {
        window.scrollBy({ top: moved, behavior: 'instant' });
        scrolled += moved;
      }
    }
  }

  function placeAll() {
    for (const card of cards.values()) {
      const top = tops[card.place];
      if (card.top !== top) {
        card.top = top;
        card.style.top = top + 'px';
      }
    }
    for (const card of cards.values()) {
      const bar = card.children[2].firstChild;
      if (bar && bar.paint && !bar.isPainted) {
        bar.isPainted = true;
        bar.paint();
      }
    }
  }

  function rove() {
    let entry = active && cards.get(active.name) &&
      cards.get(active.name).querySelectorAll('button')[active.item];
    if (!entry) {
      const [first] = inSight();
      const card = shown[first] && cards.get(shown[first].name);
      entry = card && card.querySelector('button');
    }
    const old = list.querySelector('button[tabindex="0"]');
    if (old && old !== entry) {
      old.tabIndex = -1;
    }
    if (entry) {
      entry.tabIndex = 0;
    }
  }

  function draw() {
    frame = 0;
    if (list.offsetParent === null) {
      return; // another view is shown
    }
    scrolled = window.scrollY;
    const [first, last] = inSight();
    drop(new Set(shown.slice(first, last + 1).map((resource) => resource.name)));
    const anchor = shown.length ? indexAt(Math.max(0, -offset())) : 0;
    settle(fill(first, last, berth.model.now()), anchor);
    placeAll();
    rove();
  }

  const soon = () => {
    frame = frame || requestAnimationFrame(draw);
  };

  function forgetHeights() {
    heights.clear();
    for (const name of cards.keys()) {
      changed.add(name);
    }
    measureList();
    measureTops();
    soon();
  }

  /* ---- the keyboard ---- */

  function focusOn(i, item) {
    const index = Math.max(0, Math.min(shown.length - 1, i));
    scrolled = window.scrollY;
    const top = tops[index] + offset(), bottom = top + tops[index + 1] - tops[index];
    const covered = document.querySelector('.filters').getBoundingClientRect().bottom;
    if (top < covered || bottom > window.innerHeight) {
      window.scrollBy({ top: top < covered ? top - covered - GAP
        : bottom - window.innerHeight + GAP, behavior: 'instant' });
    }
    draw();
    const card = cards.get(shown[index].name);
    const buttons = card ? card.querySelectorAll('button') : [];
    if (buttons.length > 0) {
      const at = Math.max(0, Math.min(buttons.length - 1, item));
      active = { name: shown[index].name, item: at };
      rove();
      buttons[at].focus({ preventScroll: true });
    }
  }

  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };

  function onKey(event) {
    const card = event.target.closest('.card');
    if (!card || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) {
      return;
    }
    const item = [...card.querySelectorAll('button')].indexOf(event.target);
    const last = shown.length - 1;
    if (steps[event.key]) {
      focusOn(card.place + steps[event.key], 0);
    } else if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
      focusOn(card.place, Math.max(0, item + (event.key === 'ArrowRight' ? 1 : -1)));
    } else if (event.key === 'Home' || event.key === 'End') {
      focusOn(event.key === 'Home' ? 0 : last, 0);
    } else {
      return;
    }
    event.preventDefault();
  }

  function onFocus(event) {
    const card = event.target.closest('.card');
    const item = card ? [...card.querySelectorAll('button')].indexOf(event.target) : -1;
    if (item >= 0) {
      active = { name: card.dataset.name, item };
      rove();
    }
  }

  /* All units of a lease are marked when one of them is pointed at. */
  function onPoint(event) {
    const box = event.target.closest('[data-lease]');
    const lease = event.type === 'pointerover' && box ? box.dataset.lease : '';
    for (const other of list.querySelectorAll('.same')) {
      other.classList.remove('same');
    }
    if (lease) {
      for (const other of list.querySelectorAll('.unit')) {
        other.classList.toggle('same', other.dataset.lease === lease);
      }
    }
  }

  berth.list = {
    /* opened(act, resource's name, lease's id, unit) when a box or a name is chosen. */
    start(element, opened) {
      list = element;
      window.addEventListener('scroll', soon, { passive: true });
      new ResizeObserver(() => {
        if (list.clientWidth !== width) {
          forgetHeights();
        }
      }).observe(list);
      new ResizeObserver(() => {
        measureList(); // what is above it may have grown
        soon();
      }).observe(document.body);
      window.addEventListener('resize', soon);
      list.addEventListener('keydown', onKey);
      list.addEventListener('focusin', onFocus);
      list.addEventListener('pointerover', onPoint);
      list.addEventListener('pointerout', onPoint);
      list.addEventListener('click', (event) => {
        const button = event.target.closest('button[data-act]');
        if (button) {
          opened(button.dataset.act, button.closest('.card').dataset.name, button.dataset.lease,
            button.dataset.unit);
        }
      });
    },

    /* resources: those to show, in order. names: those that changed; null: all. */
    show(resources, names) {
      shown = resources;
      for (const name of names || cards.keys()) {
        changed.add(name);
        heights.delete(name);
      }
      const gone = new Set(cards.keys());
      shown.forEach((resource, i) => {
        const card = cards.get(resource.name);
        gone.delete(resource.name);
        if (card && card.place !== i) {
          card.place = i;
          card.isMoved = true;
        }
      });
      for (const name of gone) {
        cards.get(name).remove();
        cards.delete(name);
      }
      measureList();
      measureTops();
      soon();
    },

    /* Ages of what is in sight; and that a rate lets units go again, of which nothing else tells. */
    tick(now) {
      for (const card of cards.values()) {
        if (card.resource.next) {
          berth.updateBadges(card);
        }
      }
      for (const age of list.querySelectorAll('.unit-age')) {
        if (age.dataset.since) {
          berth.setText(age, berth.age(now - Number(age.dataset.since)));
        }
      }
    },

    redraw: forgetHeights,
  };
})(window.berth);
