/* From leases, past and present, to the lanes of the timeline. No elements here. */
(function (berth) {
  'use strict';

  const MAX_LANES = 32; // units with a lane of their own; more share lanes
  const MAX_QUEUE = 5; // lanes of the queue
  const MAX_RANGE = 65536; // slots in one range of an answer

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

  const hasFailed = (lease) => (lease.how !== 'released' && lease.how !== 'cancelled') ||
    (lease.exit !== null && lease.exit !== 0) || Boolean(lease.signal);

  /* A resource of a fleet is one group for all hosts; one of scope host is one for each. */
  function groupOf(groups, name, host, isFleet) {
    const own = !host || host === berth.model.host || isFleet ? '' : host;
    const key = own + ' ' + name;
    let group = groups.get(key);
    if (!group) {
      const resource = own ? null : berth.model.resource(name);
      group = { name, host: own, title: own ? name + ' @ ' + own : name, resource,
        limit: resource ? resource.limit : 0, isPool: resource ? resource.kind === 'pool' : false,
        holds: [], waits: [] };
      groups.set(key, group);
    }
    return group;
  }

  function addPast(groups, lease) {
    for (const claim of lease.resources) {
      const group = groupOf(groups, claim.name, lease.host, Boolean(lease.database));
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
    const isFleet = resource.scope === 'fleet';
    for (const lease of resource.holders) {
      const group = groupOf(groups, resource.name, null, isFleet);
      group.holds.push({ from: lease.since, until: now, lease, units: lease.units, kind: 'open' });
    }
    for (const lease of resource.waiters) {
      const group = groupOf(groups, resource.name, null, isFleet);
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

  function setLanes(group) {
    const lanes = unitLanes(group);
    if (lanes) {
      [group.lanes, group.left] = [allUnits(group, lanes), 0];
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
    const isNamed = matches(group.title, words);
    const fits = (span) => (!user || berth.userOf(span.lease) === user) &&
      (isNamed || matches(group.title + '\n' + berth.wordsOf(span.lease).join('\n'), words));
    group.holds = group.holds.filter(fits);
    group.waits = group.waits.filter(fits);
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
    const chosen = [];
    for (const group of groups.values()) {
      narrow(group, words, choice.user);
      if (group.holds.length > 0 || group.waits.length > 0) {
        chosen.push(group);
      }
    }
    const order = new Map(berth.model.resources.map((resource, i) => [resource.name, i]));
    const rank = (group) => (order.has(group.name) ? order.get(group.name) : order.size);
    chosen.sort((a, b) => rank(a) - rank(b) || (a.title < b.title ? -1 : 1));
    chosen.forEach(setLanes);
    return chosen;
  };

  /* A sentence about a span. */
  berth.spanText = function (span, now) {
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
