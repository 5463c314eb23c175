/* The dialog with all that is known of a lease, a unit or a resource. It follows what changes. */
(function (berth) {
  'use strict';

  const MAX_ROWS = 200;

  let dialog = null, open = null; // {act, name, lease, unit, rows}

  function pairs(rows) {
    const list = berth.el('dl.facts');
    for (const [key, value, since] of rows) {
      if (value !== null && value !== undefined && value !== '') {
        const what = berth.el('dd', value);
        if (since) {
          what.dataset.since = since;
        }
        list.append(berth.el('dt', key), what);
      }
    }
    return list;
  }

  function userRow(lease) {
    const user = berth.userOf(lease);
    return lease.user && lease.uid !== null ? user + ' (uid ' + lease.uid + ')' : user;
  }

  const whoseRows = (lease) => [
    ['user', userRow(lease)], ['logged in as', lease.login_user], ['program', lease.program],
    ['holder', lease.holder], ['share', lease.share], ['reason', lease.reason],
    ['host', lease.host || berth.model.host], ['pid', lease.pid],
  ];

  const heldOf = (resource, lease) =>
    berth.unitList(resource, lease.units, lease.units_cut) + (lease.all ? ' (all)' : '');

  function leaseRows(resource, lease, isHeld) {
    const now = berth.model.now();
    return [
      ...whoseRows(lease), ['lease', lease.lease], ['token', lease.token],
      ['units', isHeld ? heldOf(resource, lease) : null],
      ['place', isHeld ? null : lease.position], ['wants', isHeld ? null : berth.wantsOf(lease)],
      ['priority', lease.priority || null], ['blocked', isHeld ? null : berth.blockOf(lease)],
      ['kept for it', lease.kept || null],
      [isHeld ? 'held for' : 'waits for', berth.age(now - lease.since), lease.since],
      [isHeld ? 'since' : 'asked', berth.moment(lease.since, now)],
      ['time left', lease.until ? berth.age(lease.until - now) : null],
      ['bound to', lease.bound], ['shares units of', lease.shares || null],
      ['being stopped', lease.stopping],
      ['connected', lease.away ? 'no: its client is away' : null],
    ];
  }

  /* What else the lease holds or awaits. */
  function elsewhere(name, lease) {
    const others = berth.model.resources.filter((resource) => resource.name !== name &&
      berth.leasesOf(resource).some((other) => other.lease === lease));
    return others.map((resource) => resource.name).join(', ');
  }

  function showLease(resource) {
    const holder = resource.holders.find((lease) => lease.lease === open.lease);
    const lease = holder || resource.waiters.find((waiter) => waiter.lease === open.lease);
    if (!lease) {
      return [resource.name, berth.el('p', 'Lease ' + open.lease +
        ' has ended. The timeline shows how.')];
    }
    const rows = leaseRows(resource, lease, Boolean(holder));
    rows.push(['also in', elsewhere(resource.name, lease.lease)]);
    return [resource.name + (holder ? ': held' : ': waiting'), pairs(rows),
      berth.el('p.note', 'In a terminal: ', berth.el('code', 'berthctl why ' + lease.lease))];
  }

  /* ---- a resource ---- */

  /* before, after: the columns around those that all leases have, as {head: what is below it}. */
  function leaseTable(what, leases, before, after) {
    const now = berth.model.now();
    const columns = { ...before, user: berth.userOf, program: berth.jobOf,
      host: (lease) => lease.host, pid: (lease) => lease.pid,
      for: (lease) => berth.age(now - lease.since), ...after, lease: (lease) => lease.lease };
    const cells = (lease) => Object.values(columns).map((cell) => cell(lease));
    const place = berth.el('div.scroll-x', berth.table(berth.plural(leases.length, what),
      Object.keys(columns), leases.slice(0, open.rows).map(cells)));
    if (leases.length > open.rows) {
      const more = berth.button('', false, 'Show more of ' + leases.length.toLocaleString('en'));
      more.addEventListener('click', () => {
        open.rows += 5 * MAX_ROWS;
        berth.details.refresh();
      });
      place.append(more);
    }
    return place;
  }

  function rateText(resource) {
    const next = resource.next && berth.model.left(resource.next) > 0
      ? '; the next unit goes at ' + berth.moment(resource.next + berth.model.boot,
        berth.model.now()) : '';
    return resource.rate && resource.rate + ', burst ' + resource.burst + next;
  }

  /* null: the rate held units back when that was counted, and no longer does. */
  const grantableOf = (resource) => (resource.grantable === 0 && resource.next &&
    berth.model.left(resource.next) === 0 ? null : resource.grantable);

  function resourceRows(resource) {
    const closed = (resource.items || []).filter((item) =>
      item.state === 'reserved' || item.state === 'draining');
    const withReason = (text, reason) => text.trim() + (reason ? ': ' + reason : '');
    return [
      ['kind', resource.kind], ['scope', resource.scope], ['database', resource.database],
      ['limit', resource.limit], ['held', resource.in_use], ['free', resource.free],
      ['grantable now', grantableOf(resource)], ['waiting', resource.waiting],
      ['cooling', resource.cooling || null], ['kept', resource.kept || null],
      ['rate', rateText(resource)],
      ['also takes', resource.also && resource.also.join(', ')],
      ['template', resource.template], ['order', resource.order],
      ['changed at runtime', resource.changed && resource.changed.length > 0
        ? withReason(berth.changeText(resource), resource.change_reason) : null],
      ['paused', resource.paused
        ? withReason(berth.whoseText(resource, 'paused') || 'yes', resource.pause_reason) : null],
      ['out of service', closed.map((item) => berth.unitWord(resource, item.name) + ' ' +
        item.state + (item.reason ? ': ' + item.reason : '')).join('; ')],
    ];
  }

  function showResource(resource) {
    const parts = [resource.name, pairs(resourceRows(resource))];
    const link = berth.el('a', 'Timeline of ' + resource.name);
    link.href = '#timeline';
    link.addEventListener('click', (event) => {
      event.preventDefault();
      dialog.close();
      berth.showTimelineOf(resource.name);
    });
    parts.push(berth.el('p', link));
    if (resource.holders.length > 0) {
      parts.push(leaseTable('holder', resource.holders,
        { units: (lease) => heldOf(resource, lease) },
        { reason: (lease) => lease.reason }));
    }
    if (resource.waiters.length > 0) {
      parts.push(leaseTable('waiter', resource.waiters,
        { place: (lease) => '#' + lease.position, wants: berth.wantsOf },
        { blocked: berth.blockOf }));
    }
    return parts;
  }

  function showUnit(resource) {
    const unit = berth.unitsOf(resource).find((other) => String(other.name) === open.unit);
    if (!unit) {
      return showResource(resource);
    }
    return [resource.name + ': ' + berth.unitWord(resource, unit.name),
      pairs([['state', unit.state === 'idle' ? 'free' : unit.state], ['reason', unit.reason]])];
  }

  /* ---- a lease that is over ---- */

  function showSpan() {
    const lease = open.span.lease, now = berth.model.now();
    const at = (ms) => (ms ?? null) === null ? null : berth.moment(ms, now);
    const took = (ms) => (ms ?? null) === null ? null : berth.duration(ms);
    const units = lease.resources.map((claim) => claim.name + ': ' +
      (claim.units.length > 0 ? claim.units.join(', ') : 'wanted ' + claim.wanted)).join('; ');
    return ['Lease ' + lease.lease, pairs([
      ...whoseRows(lease), ['units', units],
      ['asked', at(lease.asked_at_ms)], ['granted', at(lease.granted_at_ms)],
      ['ended', at(lease.ended_at_ms)], ['waited', took(lease.waited_ms)],
      ['held', took(lease.held_ms)], ['how', berth.howText(lease).slice(2)],
      ['control group', lease.cgroup], ['arguments', lease.args],
      ['end not seen', lease.unseen ? 'yes: berthd was not running' : null],
    ])];
  }

  function content() {
    if (open.act === 'span') {
      return showSpan();
    }
    const resource = berth.model.resource(open.name);
    if (!resource) {
      return [open.name, berth.el('p', 'It no longer exists.')];
    }
    const show = { lease: showLease, unit: showUnit, resource: showResource };
    return show[open.act](resource);
  }

  function render() {
    const [title, ...body] = content();
    const place = document.getElementById('details-body');
    const scrolled = dialog.scrollTop;
    berth.setText(document.getElementById('details-title'), title);
    place.replaceChildren(...body);
    dialog.scrollTop = scrolled;
  }

  berth.details = {
    start() {
      dialog = document.getElementById('details');
      document.getElementById('details-close').addEventListener('click', () => dialog.close());
      dialog.addEventListener('click', (event) => {
        if (event.target === dialog) {
          dialog.close(); // beside it
        }
      });
      dialog.addEventListener('close', () => {
        open = null;
      });
    },
    open(act, name, lease, unit) {
      open = { act, name, lease, unit, rows: MAX_ROWS };
      this.reveal();
    },
    openSpan(span) {
      const resource = berth.model.resources.find((other) =>
        berth.leasesOf(other).includes(span.lease));
      if (resource) {
        this.open('lease', resource.name, span.lease.lease);
      } else if (span.lease.resources) {
        open = { act: 'span', name: null, span, rows: MAX_ROWS };
        this.reveal();
      }
    },
    reveal() {
      render();
      dialog.showModal();
      dialog.scrollTop = 0;
    },
    /* names: what has changed; null: all. */
    refresh(names = null) {
      const isIn = open && (names === null || names.includes(open.name));
      if (isIn && !document.getElementById('details-body').contains(document.activeElement)) {
        render();
      }
    },
    tick(now) {
      for (const age of open ? dialog.querySelectorAll('dd[data-since]') : []) {
        berth.setText(age, berth.age(now - Number(age.dataset.since)));
      }
    },
  };
})(window.berth);
