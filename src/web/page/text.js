/* Words, times and elements. What clients wrote becomes text nodes and nothing else. */
(function (berth) {
  'use strict';

  /* Controls, and what assemble-page puts here: the characters of client/deceptive.def. */
  const harmful = /[\u{0}-\u{1f}\u{7f}-\u{9f}@deceptive@]/gu;

  berth.printable = function (text) {
    return String(text).replace(harmful,
      (c) => '\\u{' + c.codePointAt(0).toString(16) + '}');
  };

  /* el('p.note', 'text', node): a tag with classes, its texts and children. */
  berth.el = function (what, ...children) {
    const [tag, ...classes] = what.split('.');
    const node = document.createElement(tag);
    if (classes.length > 0) {
      node.className = classes.join(' ');
    }
    for (const child of children) {
      if (child !== null && child !== undefined) {
        node.append(child instanceof Node ? child : berth.printable(child));
      }
    }
    return node;
  };

  /* Changes what is there only if it differs, so that a selection and the focus stay. */
  berth.setText = function (node, text) {
    const printable = berth.printable(text);
    if (node.textContent !== printable) {
      node.textContent = printable;
    }
  };

  berth.setAttribute = function (node, name, value) {
    if (value === null) {
      node.removeAttribute(name);
    } else if (node.getAttribute(name) !== value) {
      node.setAttribute(name, value);
    }
  };

  /* el() of a button. Those of the list are reached by arrows: isInList. */
  berth.button = function (what, isInList, ...children) {
    const button = berth.el('button' + what, ...children);
    button.type = 'button';
    button.tabIndex = isInList ? -1 : 0;
    return button;
  };

  const row = (cell, texts) => berth.el('tr', ...texts.map((text) => berth.el(cell, text)));

  /* rows: of texts and nodes. */
  berth.table = function (caption, heads, rows) {
    const table = berth.el('table', berth.el('caption', caption),
      berth.el('thead', row('th', heads)), berth.el('tbody', ...rows.map((texts) =>
        row('td', texts))));
    for (const head of table.tHead.rows[0].cells) {
      head.scope = 'col';
    }
    return table;
  };

  const units =
    [[86400000, 'd', 3600000, 'h'], [3600000, 'h', 60000, 'm'], [60000, 'm', 1000, 's']];

  /* Milliseconds as 850 ms, 12 s, 4 m 10 s, 2 h 5 m, 3 d 4 h. */
  berth.duration = function (ms) {
    if (ms < 1000) {
      return ms < 1 ? '0 s' : Math.round(ms) + ' ms';
    }
    for (const [size, sign, smaller, smallerSign] of units) {
      if (ms >= size) {
        const rest = Math.floor(ms % size / smaller);
        return Math.floor(ms / size) + ' ' + sign + (rest ? ' ' + rest + ' ' + smallerSign : '');
      }
    }
    return Math.floor(ms / 1000) + ' s';
  };

  /* An age that ticks: whole seconds. */
  berth.age = (ms) => berth.duration(Math.max(0, Math.floor(ms / 1000) * 1000));

  const two = (n) => String(n).padStart(2, '0');

  berth.clock = function (ms, withSeconds = true) {
    const at = new Date(ms);
    return two(at.getHours()) + ':' + two(at.getMinutes()) +
      (withSeconds ? ':' + two(at.getSeconds()) : '');
  };

  berth.day = function (ms) {
    const at = new Date(ms);
    return at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate());
  };

  /* The time of day, with the date if that is not the day of `now`. */
  berth.moment = function (ms, now) {
    const day = berth.day(ms);
    return (day === berth.day(now) ? '' : day + ' ') + berth.clock(ms);
  };

  berth.plural = (n, one, many) =>
    n.toLocaleString('en') + ' ' + (n === 1 ? one : many || one + 's');

  berth.userOf = (lease) => lease.user || ((lease.uid ?? null) === null ? '?' : 'uid ' + lease.uid);

  berth.leasesOf = (resource) => resource.holders.concat(resource.waiters);

  /* What a search looks into. */
  berth.wordsOf = (lease) => [lease.user, lease.program, lease.holder, lease.share, lease.reason,
    lease.lease, lease.host, lease.pid].filter((word) => word !== null && word !== undefined);

  /* What a lease is called in a word: its own name for itself, its program, or its id. */
  berth.jobOf = (lease) => lease.holder || lease.program || lease.lease;

  const N_COLOURS = 8;
  const colours = new Map();

  /* One of N_COLOURS, the same for the same user on every page. */
  berth.colourOf = function (user) {
    let colour = colours.get(user);
    if (colour === undefined) {
      let hash = 2166136261;
      for (let i = 0; i < user.length; i++) {
        hash = Math.imul(hash ^ user.charCodeAt(i), 16777619) >>> 0;
      }
      colour = (Math.imul(hash, 35) >>> 17) % N_COLOURS;
      if (colours.size > 10000) {
        colours.clear();
      }
      colours.set(user, colour);
    }
    return colour;
  };
})(window.berth = window.berth || {});
