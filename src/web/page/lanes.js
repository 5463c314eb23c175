/* From leases, past and present, to the lanes of the timeline. No elements here. */
(function (berth) {
  'use strict';

  const MAX_LANES = 32; // units with a lane of their own; more share lanes
  const MAX_QUEUE = 5; // lanes of the queue
  const MAX_RANGE = 65536; // slots in one range of an answer

  /* It has used the units of another lease. */
  const isShare = (claim) => (claim.units || []).some((unit) => String(unit)[0] === '@');

  /* ["0-3", "7"] as [0, 1, 2, 3, 7]; items of pools as they are. */
  function unitsOfClaim(claim, isPool) {
    const units = [];
    for (const word of claim.units || []) {
      const range = isPool ? null : /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(word);
      if (!range) {
        units.push(word);
        continue;
      }
      const first = Number(range[1]), last = Number(range[2] || range[1]);
      for (let slot = first; slot <= last && slot - first < MAX_RANGE; slot++) {
        units.push(slot);
      }
    }
    return units;
  }

  const hasFailed = (lease) => (lease.how !== 'released' && lease.how !== 'cancelled' &&
    lease.how !== 'replaced') ||
    (lease.exit !== null && lease.exit !== 0) || Boolean(lease.signal);

  const hostOf = (span) => span.lease.host || berth.model.host;

  function groupOf(groups, name) {
    let group = groups.get(name);
    if (!group) {
      const resource = berth.model.resource(name);
      group = { name, resource, limit: resource ? resource.limit : 0,
        isPool: resource ? resource.kind === 'pool' : false, holds: [], waits: [], actions: [] };
      groups.set(name, group);
    }
    return group;
  }

  function addPast(groups, lease) {
    for (const claim of lease.resources.filter((one) => !isShare(one))) {
      const group = groupOf(groups, claim.name);
      const units = unitsOfClaim(claim, group.isPool);
      const granted = lease.granted_at_ms ?? null;
      if (granted !== null) {
        group.holds.push({ from: granted, until: lease.ended_at_ms, lease, units,
          kind: hasFailed(lease) ? 'failed' : 'held' });
      }
      const until = granted ?? lease.ended_at_ms;
      if (until - lease.asked_at_ms > 0) {
        group.waits.push({ from: lease.asked_at_ms, until, lease, units,
          weight: claim.wanted || units.length || 1, kind: 'wait' });
      }
    }
  }

  function addPresent(groups, resource, now) {
    const group = groupOf(groups, resource.name);
    for (const lease of resource.holders.filter((holder) => !holder.shares)) {
      group.holds.push({ from: lease.since, until: now, lease, units: lease.units, kind: 'open' });
    }
    for (const lease of resource.waiters) {
      group.waits.push({ from: lease.since, until: now, lease, units: [], kind: 'wait',
        isOpen: true });
    }
  }

  /* ---- lanes ---- */

  /* Spans into as few lanes as hold them without overlap; what does not fit is left out. */
  function pack(spans, most) {
    const lanes = [];
    let left = 0;
    for (const span of [...spans].sort((a, b) => a.from - b.from)) {
      let lane = lanes.find((other) => other.end <= span.from);
      if (!lane && lanes.length < most) {
        lane = { name: '', spans: [], end: 0 };
        lanes.push(lane);
      }
      if (lane) {
        lane.spans.push(span);
        lane.end = span.until;
      } else {
        left++;
      }
    }
    return [lanes, left];
  }

  function unitLanes(group) {
    const lanes = new Map();
    for (const span of group.holds) {
      for (const unit of span.units) {
        const lane = lanes.get(unit) || { name: String(unit), unit, spans: [] };
        lane.spans.push(span);
        lanes.set(unit, lane);
        if (lanes.size > MAX_LANES) {
          return null;
        }
      }
    }
    return lanes;
  }

  /* Idle units have a lane as well, if there is room for all. */
  function allUnits(group, lanes) {
    const resource = group.resource;
    const units = resource && berth.unitCount(resource) <= MAX_LANES / 2
      ? berth.unitsOf(resource).map((unit) => unit.name) : [];
    for (const unit of units) {
      if (!lanes.has(unit)) {
        lanes.set(unit, { name: String(unit), unit, spans: [] });
      }
    }
    return [...lanes.values()].sort((a, b) => (typeof a.unit === 'number' &&
      typeof b.unit === 'number' ? a.unit - b.unit : String(a.unit) < String(b.unit) ? -1 : 1));
  }

  /* In a fleet, the hosts one below the other, this one first: who had what is seen, and slots of a
   * semaphore are all alike. */
  function hostLanes(group) {
    const hosts = new Map();
    group.lanes = [];
    group.left = 0;
    for (const span of group.holds) {
      hosts.set(hostOf(span), (hosts.get(hostOf(span)) || []).concat([span]));
    }
    const rank = (host) => (host === berth.model.host ? '' : host);
    for (const host of [...hosts.keys()].sort((a, b) => (rank(a) < rank(b) ? -1 : 1))) {
      const [lanes, left] = pack(hosts.get(host), Math.max(1, MAX_LANES - group.lanes.length));
      lanes[0].name = host;
      group.lanes.push(...lanes);
      group.left += left;
    }
  }

  function setLanes(group) {
    const isFleet = group.holds.some((span) => hostOf(span) !== berth.model.host);
    const lanes = isFleet && !group.isPool ? null : unitLanes(group);
    if (lanes) {
      [group.lanes, group.left] = [allUnits(group, lanes), 0];
    } else if (isFleet && !group.isPool) {
      hostLanes(group);
    } else {
      [group.lanes, group.left] = pack(group.holds, MAX_LANES);
    }
    [group.queue] = pack(group.waits, MAX_QUEUE);
  }

  /* ---- what is chosen ---- */

  function matches(text, words) {
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word));
  }

  function narrow(group, words, user) {
    const isNamed = matches(group.name, words);
    const fits = (span) => (!user || berth.userOf(span.lease) === user) &&
      (isNamed || matches(group.name + '\n' + berth.wordsOf(span.lease).join('\n'), words));
    group.holds = group.holds.filter(fits);
    group.waits = group.waits.filter(fits);
    group.isShown = group.holds.length > 0 || group.waits.length > 0 ||
      (group.actions.length > 0 && isNamed && !user);
  }

  /* choice: as for model.choose. In the order of the file, then what is no longer defined. */
  berth.groupsOf = function (choice, from, until) {
    const groups = new Map(), words = choice.query.toLowerCase().split(/\s+/).filter(Boolean);
    const now = berth.model.now();
    for (const resource of berth.model.resources) {
      addPresent(groups, resource, now);
    }
    for (const lease of berth.past.leases.values()) {
      if (lease.ended_at_ms >= from && lease.asked_at_ms <= until) {
        addPast(groups, lease);
      }
    }
    for (const action of berth.actionsOf(from, until)) {
      if (action.resource) {
        groupOf(groups, action.resource).actions.push(action);
      }
    }
    const chosen = [];
    for (const group of groups.values()) {
      narrow(group, words, choice.user);
      if (group.isShown) {
        chosen.push(group);
      }
    }
    const order = new Map(berth.model.resources.map((resource, i) => [resource.name, i]));
    const rank = (group) => (order.has(group.name) ? order.get(group.name) : order.size);
    chosen.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
    chosen.forEach(setLanes);
    return chosen;
  };

  /* ---- in words ---- */

  /* What operators did, the newest last. */
  berth.actionsOf = (from, until) => [...berth.past.actions.values()].filter((action) =>
    action.at_ms >= from && action.at_ms <= until).sort((a, b) => a.at_ms - b.at_ms);

  // what is so from then on, their word says
  const TELLING = ['add', 'remove', 'reserve', 'pause', 'resume', 'drain', 'undrain'];

  /* What was done, without who, when and why. */
  berth.deedOf = function (action) {
    const old = action.old ?? null, isTold = old === null && TELLING.includes(action.verb);
    return [action.verb, action.resource, action.target, old,
      old !== null && (action.new ?? null) !== null ? '→' : null, isTold ? null : action.new]
      .filter((word) => (word ?? null) !== null).join(' ');
  };

  const actionText = (action, now) => berth.moment(action.at_ms, now) + ' ' +
    berth.deedOf(action) + ' by ' + berth.operatorOf(action) +
    (action.host ? ', ' + action.host : '') + (action.reason ? ': ' + action.reason : '');

  berth.operatorOf = (action) => berth.userOf(action) +
    (action.login_user && action.login_user !== action.user
      ? ' (logged in as ' + action.login_user + ')' : '');

  /* A sentence about a span, a gap, or what an operator did. */
  berth.spanText = function (span, now) {
    if (span.kind === 'gap') {
      return berth.gapText(span.gap, now);
    }
    if (span.kind === 'action') {
      return actionText(span.action, now);
    }
    const lease = span.lease;
    const what = span.kind === 'wait' ? 'waited' : span.kind === 'open' ? 'holds' : 'held';
    const end = span.kind === 'open' || span.isOpen ? 'now' : berth.moment(span.until, now);
    return berth.userOf(lease) + ', ' + berth.jobOf(lease) + (lease.host ? ', ' + lease.host : '') +
      ': ' + what + ' ' + berth.duration(span.until - span.from) + ', ' +
      berth.moment(span.from, now) + ' – ' + end + berth.howText(lease);
  };

  berth.howText = function (lease) {
    if (!lease.how) {
      return '';
    }
    const by = lease.by_user ? ' by ' + lease.by_user : '';
    const exit = lease.signal ? ', signal ' + lease.signal
      : (lease.exit ?? null) === null ? '' : ', exit ' + lease.exit;
    return ', ' + lease.how + (lease.code ? ' (' + lease.code + ')' : '') + by + exit +
      (lease.why ? ': ' + lease.why : '');
  };
})(window.berth);
