/* One resource of the list: its head, its units, its queue. */
(function (berth) {
  'use strict';

  const SHOWN_WAITERS = 4;

  /* " since 02:03:11 by root (logged in as alice) on web1": who has paused, changed or drained it; '' if that is not
     known. */
  berth.whoseText = function (of, what) {
    const at = of[what + '_at'], host = of[what + '_host'];
    const by = berth.operatorOf({ user: of[what + '_by_user'], uid: of[what + '_by_uid'],
      login_user: of[what + '_by_login_user'] });
    return (at ? ' since ' + berth.moment(at, berth.model.now()) : '') +
      (by === '?' ? '' : ' by ' + by) + (host ? ' on ' + host : '');
  };

  /* "limit 5 (file: 20) since 02:03:11 by alice" */
  berth.changeText = (resource) => ((resource.file_limit ?? null) === null
    ? resource.changed.join(', ') + ' changed at runtime'
    : 'limit ' + resource.limit + ' (file: ' + resource.file_limit + ')') +
    berth.whoseText(resource, 'changed');

  /* [what, class, why] of everything unusual about a resource or a template. */
  berth.badgesOf = function (resource) {
    const badges = [];
    const add = (what, kind, why) => badges.push({ what, kind, why });
    if (resource.paused) {
      add('paused' + berth.whoseText(resource, 'paused'), 'warn', resource.pause_reason);
    }
    if (resource.removed) {
      add('removed', 'warn', 'no longer defined; goes when its leases end');
    }
    if (resource.database_state && resource.database_state !== 'up') {
      add('database ' + resource.database_state, 'bad', resource.database);
    }
    const stopping = (resource.holders || []).filter((lease) => lease.stopping);
    if (stopping.length > 0) {
      add(stopping.length + ' being stopped', 'bad', stopping[0].stopping);
    }
    if (resource.cooling > 0) {
      add(resource.cooling + ' cooling', 'calm', 'units in cooldown: not granted until it ends');
    }
    if (resource.next && berth.model.left(resource.next) > 0) {
      add('rate ' + resource.rate, 'calm', 'the next unit goes in ' +
        berth.age(berth.model.left(resource.next) + 999));
    }
    if (resource.kept > 0) {
      add(resource.kept + ' kept for ' + (resource.kept_for ? 'place ' + resource.kept_for
        : 'waiters that lack something else'), 'calm', null);
    }
    if (resource.changed && resource.changed.length > 0) {
      add(berth.changeText(resource), 'calm', resource.change_reason);
    }
    for (const state of ['reserved', 'draining']) {
      const n = (resource.items || []).filter((item) => item.state === state).length;
      if (n > 0) {
        add(n + ' ' + state, 'calm', null);
      }
    }
    return badges;
  };

  berth.badge = function ({ what, kind, why }) {
    return berth.el('span.badge.' + kind, what, why ? berth.el('span.why', ': ' + why) : null);
  };

  berth.wantsOf = (waiter) => waiter.all ? 'all' : waiter.wants;

  /* Why a waiter waits for more than its turn, or null. */
  berth.blockOf = function (waiter) {
    if (waiter.blocked === 'quota') {
      return 'its user has reached the quota';
    }
    if (waiter.blocked === 'other') {
      return 'waits for ' + (waiter.blocker || 'another resource') + ' as well';
    }
    if (waiter.blocked === 'identity') {
      return 'another lease has its identity';
    }
    if (waiter.blocked === 'away') {
      return 'its client is stopped';
    }
    return waiter.blocked || null;
  };

  function makeWaiter() {
    return berth.el('li', berth.button('.waiter', true, berth.el('span.place'),
      berth.el('span.who'), berth.el('span.unit-job'), berth.el('span.unit-age'),
      berth.el('span.block')));
  }

  function updateWaiter(item, waiter, now) {
    const button = item.firstChild;
    const show = (...texts) => texts.forEach((text, i) => berth.setText(button.children[i], text));
    button.querySelector('.unit-age').dataset.since = waiter.more ? '' : waiter.since;
    if (waiter.more) {
      button.className = 'waiter more';
      button.dataset.act = 'resource';
      show('', waiter.more, '', '', '');
      berth.setAttribute(button, 'aria-label', waiter.more);
      return;
    }
    button.className = 'waiter u' + berth.colourOf(berth.userOf(waiter)) +
      (waiter.away ? ' away' : '');
    button.dataset.act = 'lease';
    button.dataset.lease = waiter.lease;
    const job = (waiter.all || waiter.wants > 1 ? 'wants ' + berth.wantsOf(waiter) + ' · ' : '') +
      (waiter.host ? waiter.host + ' · ' : '') + berth.jobOf(waiter);
    show('#' + waiter.position, berth.userOf(waiter), job, berth.age(now - waiter.since),
      berth.blockOf(waiter) || '');
    berth.setAttribute(button, 'aria-label', berth.printable('place ' + waiter.position + ', ' +
      berth.userOf(waiter) + ', ' + berth.jobOf(waiter) + ', wants ' + berth.wantsOf(waiter) +
      (berth.blockOf(waiter) ? ', ' + berth.blockOf(waiter) : '') + ', since ' +
      berth.moment(waiter.since, now)));
  }

  function shownWaiters(resource) {
    const waiters = resource.waiters;
    if (waiters.length <= SHOWN_WAITERS + 1) {
      return waiters;
    }
    return waiters.slice(0, SHOWN_WAITERS).concat({
      more: (waiters.length - SHOWN_WAITERS).toLocaleString('en') + ' more wait',
    });
  }

  berth.makeCard = function () {
    const name = berth.button('.name', true);
    name.dataset.act = 'resource';
    const card = berth.el('li.card', berth.el('div.head', berth.el('h3', name),
      berth.el('span.usage', berth.el('b'), berth.el('span')), berth.el('span.kind')),
    berth.el('div.badges'), berth.el('div.units'), berth.el('ol.queue'));
    card.querySelector('.units').setAttribute('role', 'group');
    return card;
  };

  function updateHead(card, resource) {
    const head = card.firstChild, [used, rest] = head.querySelector('.usage').children;
    const name = head.querySelector('.name');
    berth.setText(name, resource.name);
    berth.setAttribute(name, 'title', berth.printable(resource.name));
    berth.setText(used, resource.in_use.toLocaleString('en'));
    berth.setText(rest, ' / ' + resource.limit.toLocaleString('en') + ' held');
    berth.setText(head.querySelector('.kind'), resource.kind +
      (resource.scope === 'fleet' ? ' · fleet ' + (resource.database || '') : '') +
      (resource.waiting > 0 ? ' · ' + resource.waiting.toLocaleString('en') + ' waiting' : ''));
  }

  berth.updateBadges = (card) => card.children[1].replaceChildren(
    ...berth.badgesOf(card.resource).map(berth.badge));

  berth.updateCard = function (card, resource, now) {
    card.dataset.name = resource.name;
    card.resource = resource;
    card.classList.toggle('full', resource.waiting > 0);
    card.classList.toggle('paused', resource.paused);
    updateHead(card, resource);
    berth.updateBadges(card);
    const units = card.children[2], queue = card.children[3];
    berth.setAttribute(units, 'aria-label', berth.printable('Units of ' + resource.name));
    berth.showUnits(units, resource, now);
    berth.reuse(queue, shownWaiters(resource), makeWaiter,
      (item, waiter) => updateWaiter(item, waiter, now));
    queue.hidden = resource.waiters.length === 0;
    berth.setAttribute(queue, 'aria-label', berth.printable('Queue of ' + resource.name));
  };

  /* About how high a card will be, before it has been measured. */
  berth.guessHeight = function (resource, width) {
    const waiters = Math.min(resource.waiters.length, SHOWN_WAITERS + 1) * 27;
    const n = berth.unitCount(resource), isNarrow = width < 760;
    const room = isNarrow ? width - 24 : width - 250 - (waiters ? 300 : 0);
    const [boxWidth, boxHeight] = n <= berth.MAX_ROOMY ? [148, 54] : [62, 38];
    const perRow = Math.max(1, Math.floor(room / boxWidth));
    const units = n > berth.MAX_BOXES ? 34 : Math.ceil(n / perRow) * boxHeight;
    return isNarrow ? 60 + units + waiters : Math.max(44, units, waiters) + 20;
  };
})(window.berth);
