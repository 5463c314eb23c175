/* The timeline as a table: leases, what operators did, and gaps. */
(function (berth) {
  'use strict';

  const MOST = 500;
  const HEADS = ['resource', 'units', 'user', 'program', 'host', 'from', 'until', 'held', 'waited',
    'how it ended, or why', 'lease'];

  function leaseRow(span, group, now) {
    const lease = span.lease, isOpen = span.kind === 'open';
    const resource = { kind: group.isPool ? 'pool' : 'semaphore' };
    return [group.name, berth.unitList(resource, span.units),
      berth.userOf(lease), berth.jobOf(lease), lease.host || berth.model.host,
      berth.moment(span.from, now), isOpen ? 'now' : berth.moment(span.until, now),
      berth.duration(span.until - span.from),
      lease.waited_ms ? berth.duration(lease.waited_ms) : '',
      isOpen ? 'still held' : berth.howText(lease).slice(2), lease.lease];
  }

  const actionRow = (action, now) => [action.resource || '', '', berth.operatorOf(action),
    berth.deedOf(action), action.host || berth.model.host, berth.moment(action.at_ms, now), '', '',
    '', action.reason || '', ''];

  const gapRow = (gap, now) => ['', '', '', gap.from_at_ms > 0 ? 'something may be missing'
    : 'nothing is known', '', gap.from_at_ms > 0 ? berth.moment(gap.from_at_ms, now) : '',
  berth.moment(gap.until_at_ms, now), '', '', berth.reasonOf(gap), ''];

  /* [instant, function that makes the row], the newest first. */
  function rowsOf(groups, view, now) {
    const all = [];
    const add = (from, until, row) => {
      if (until >= view.from && from <= view.until) {
        all.push([from, row]);
      }
    };
    for (const group of groups) {
      group.holds.forEach((span) => add(span.from, span.until, () => leaseRow(span, group, now)));
    }
    const databases = new Set(groups.map((group) => group.resource && group.resource.database)
      .filter(Boolean));
    const isShown = new Set(groups.flatMap((group) => group.actions));
    for (const action of berth.actionsOf(view.from, view.until)) {
      if (!action.resource || isShown.has(action)) {
        add(action.at_ms, action.at_ms, () => actionRow(action, now));
      }
    }
    for (const gap of [null, ...databases].flatMap(berth.past.before).concat(berth.past.gaps)) {
      add(gap.from_at_ms, gap.until_at_ms, () => gapRow(gap, now));
    }
    return all.sort((a, b) => b[0] - a[0]);
  }

  /* groups: those of the lanes. */
  berth.timelineTable = function (groups, view) {
    const now = berth.model.now(), all = rowsOf(groups, view, now);
    const caption = berth.plural(all.length, 'entry', 'entries') + ' from ' +
      berth.moment(view.from, now) + ' to ' + berth.moment(view.until, now) +
      (all.length > MOST ? ', the newest ' + MOST : '');
    return berth.table(caption, HEADS, all.slice(0, MOST).map(([, row]) => row()));
  };
})(window.berth);
