/* The page's copy of /status.json: what is there now. No elements here. */
(function (berth) {
  'use strict';

  const model = {
    loaded: false, connected: false, why: null, host: '', serial: null,
    draining: false, grace: null, updated: 0, offset: 0,
    resources: [], templates: [], databases: [], hosts: [], peers: [],
  };
  const STEADY_MS = 1500;
  const byName = new Map();
  let version = 0; // of the list's membership or content: filters ask again when it has changed

  /* Milliseconds since 1970 by the clock of the host that is shown. */
  model.now = () => Date.now() + model.offset;
  model.version = () => version;
  model.resource = (name) => byName.get(name);

  /* Ages came rounded, over a network: what is known already does not waver by a second. */
  function steady(leases, before, now) {
    const known = new Map((before || []).map((lease) => [lease.lease, lease.since]));
    for (const lease of leases) {
      const since = now - lease.age_ms, old = known.get(lease.lease);
      lease.since = Math.abs(since - old) < STEADY_MS ? old : since;
    }
  }

  function dated(resource, now) {
    const old = byName.get(resource.name);
    steady(resource.holders, old && old.holders, now);
    steady(resource.waiters, old && old.waiters, now);
    for (const lease of resource.holders) {
      lease.until = lease.left_ms === null || lease.left_ms === undefined
        ? null : now + lease.left_ms;
    }
    resource.words = null; // what a search looks into: made when one asks
    return resource;
  }

  function replaceAll(answer, now) {
    model.resources = answer.resources.map((resource) => dated(resource, now));
    model.templates = answer.templates || [];
    byName.clear();
    for (const resource of model.resources) {
      byName.set(resource.name, resource);
    }
  }

  /* New names go to the end. `removed` names what is in neither list any more. */
  function replaceSome(answer, now) {
    const templates = new Map(model.templates.map((template) => [template.name, template]));
    for (const name of answer.removed || []) {
      byName.delete(name);
      templates.delete(name);
    }
    for (const resource of answer.resources || []) {
      byName.set(resource.name, dated(resource, now));
    }
    for (const template of answer.templates || []) {
      templates.set(template.name, template);
    }
    model.resources = [...byName.values()];
    model.templates = [...templates.values()];
  }

  /* Returns the names that have changed, or null for all. */
  model.take = function (answer) {
    const now = answer.now_ms;
    const isFull = !model.loaded || answer.full !== false;
    model.offset = now - Date.now();
    model.updated = now;
    if (isFull) {
      replaceAll(answer, now);
    } else {
      replaceSome(answer, now);
    }
    for (const key of ['connected', 'draining', 'databases', 'hosts', 'host', 'peers']) {
      if (answer[key] !== undefined && answer[key] !== null) {
        model[key] = answer[key];
      }
    }
    model.why = answer.why || null;
    model.grace = answer.grace_ms || null;
    model.serial = answer.serial;
    model.loaded = true;
    version++;
    return isFull ? null : (answer.resources || []).map((resource) => resource.name)
      .concat(answer.removed || []);
  };

  /* ---- what a search finds ---- */

  function wordsOf(resource) {
    if (resource.words === null) {
      const words = [resource.name, resource.kind, resource.database];
      for (const lease of resource.holders.concat(resource.waiters)) {
        words.push(lease.user, lease.program, lease.holder, lease.reason, lease.lease, lease.host,
          lease.pid);
      }
      resource.words = words.filter((word) => word !== null && word !== undefined)
        .join('\n').toLowerCase();
    }
    return resource.words;
  }

  const isBusy = (resource) => resource.in_use > 0 || resource.waiting > 0;
  const isOf = (user) => (lease) => berth.userOf(lease) === user;

  const orders = {
    waiting: (a, b) => b.waiting - a.waiting || b.in_use - a.in_use,
    use: (a, b) => b.in_use / (b.limit || 1) - a.in_use / (a.limit || 1) || b.waiting - a.waiting,
    name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  };

  /* choice: {query, user, busy, order} */
  model.choose = function (choice) {
    const words = choice.query.toLowerCase().split(/\s+/).filter(Boolean);
    const ofUser = isOf(choice.user);
    const chosen = model.resources.filter((resource) =>
      (!choice.busy || isBusy(resource)) &&
      (!choice.user || resource.holders.some(ofUser) || resource.waiters.some(ofUser)) &&
      words.every((word) => wordsOf(resource).includes(word)));
    return orders[choice.order] ? chosen.sort(orders[choice.order]) : chosen;
  };

  /* [user, how many leases], those with most first. */
  model.users = function () {
    const counts = new Map();
    for (const resource of model.resources) {
      for (const lease of resource.holders) {
        const user = berth.userOf(lease);
        counts.set(user, (counts.get(user) || 0) + 1);
      }
      for (const lease of resource.waiters) {
        const user = berth.userOf(lease);
        counts.set(user, (counts.get(user) || 0) + 1);
      }
    }
    return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  };

  /* A lease on several resources counts once. */
  model.figures = function () {
    const held = new Set(), waiting = new Set();
    let busy = 0;
    for (const resource of model.resources) {
      busy += resource.in_use > 0 ? 1 : 0;
      resource.holders.forEach((lease) => held.add(lease.lease));
      resource.waiters.forEach((lease) => waiting.add(lease.lease));
    }
    return { resources: model.resources.length, busy, held: held.size, waiting: waiting.size };
  };

  berth.model = model;
})(window.berth);
