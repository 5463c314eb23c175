/* Hosts and databases of the fleet, and templates. */
(function (berth) {
  'use strict';

  const SILENT_MS = 30000;

  function table(caption, heads, rows, empty) {
    const place = berth.el('div.scroll-x.panel', berth.table(caption, heads, rows));
    if (rows.length === 0) {
      place.append(berth.el('p.note', empty));
    }
    return place;
  }

  function stateBadge(state) {
    return berth.badge({ what: state, kind: state === 'up' ? 'good' : 'bad', why: null });
  }

  function hostRow(host) {
    const ago = berth.model.ago(host.heard_at), isSilent = ago > SILENT_MS;
    const heard = berth.el(isSilent ? 'span.late' : 'span',
      berth.duration(ago) + ' ago' + (isSilent ? ' (silent)' : ''));
    return [host.host, host.database, heard, host.held, host.waiting, host.version];
  }

  function goneRow(gone) {
    const resources = gone.resources.length ? ' (' + gone.resources.join(', ') + ')' : '';
    return [gone.host, gone.database, berth.duration(berth.model.ago(gone.heard_at)) + ' ago',
      gone.held + resources, berth.duration(berth.model.ago(gone.freed_at)) + ' ago'];
  }

  const leftOf = (instant) => instant === null ? '' : berth.duration(berth.model.left(instant));

  /* Of the last minute, as seen from this host. */
  function answerTime(us) {
    return us === null ? '' : us < 1000 ? '< 1 ms' : us < 1e6 ? Math.round(us / 1000) + ' ms'
      : (us / 1e6).toFixed(1) + ' s';
  }

  function databaseRow(database) {
    return [database.name, stateBadge(database.state), database.server, database.redis_version,
      leftOf(database.good_until), leftOf(database.grace_until),
      answerTime(database.answer_median_us), answerTime(database.answer_p99_us),
      [database.why, database.warning, database.slow ? 'Redis, or the way to it, is slow' : null,
        database.lacks.length ? 'lacks ' + database.lacks.join(', ') : null, database.differing
        ? berth.plural(database.differing, 'definition differs', 'definitions differ') : null]
        .filter(Boolean).join('; ')];
  }

  function templateRow(template) {
    const badges = berth.el('span', ...berth.badgesOf(template).map(berth.badge));
    return [template.name, template.kind, template.scope === 'fleet'
      ? 'fleet ' + (template.database || '') : 'host', template.limit, template.instances, badges];
  }

  berth.showHosts = function () {
    const model = berth.model, parts = [];
    if (model.hosts.length > 0 || model.databases.length > 0) {
      parts.push(table('Hosts of the fleet', ['host', 'database', 'last heard', 'held', 'waiting',
        'berthd'], model.hosts.map(hostRow), 'No host has been heard from yet.'));
      if (model.gone.length > 0) {
        parts.push(table('Hosts that are gone', ['host', 'database', 'last heard', 'held', 'freed'],
          model.gone.map(goneRow), ''));
      }
      parts.push(table('Databases', ['name', 'state', 'server', 'Redis', 'leases good for',
        'grace', 'median answer', 'p99', 'remarks'], model.databases.map(databaseRow), 'None.'));
    } else {
      parts.push(berth.el('p.panel.note', 'This host is on its own: no resource has ' +
        'scope = fleet. berth-recipes(7) tells how hosts share a limit.'));
    }
    parts.push(table('Templates', ['name', 'kind', 'scope', 'limit of each', 'in use', 'state'],
      model.templates.map(templateRow), 'None is defined.'));
    const place = document.getElementById('hosts');
    if (!place.contains(document.activeElement)) {
      place.replaceChildren(...parts);
    }
  };
})(window.berth);
