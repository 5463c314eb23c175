/* The page's copy of /status.json: what is there now. No elements here. */
(function (berth) {
  'use strict';

  const model = {
    loaded: false, connected: false, why: null, host: '', serial: null,
    draining: false, drain: {}, grace: null, updated: 0, offset: 0,
    boot: 0, // when berthd's clock began, on that of model.now()
    resources: [], templates: [], databases: [], hosts: [], gone: [],
  };
  const STEP_MS = 100;
  const byName = new Map();

  /* Milliseconds since 1970 by the clock of the host that is shown. */
  model.now = () => Date.now() + model.offset;
  model.resource = (name) => byName.get(name);

  /* Of an instant on berthd's clock. */
  model.ago = (instant) => Math.max(0, model.now() - model.boot - instant);
  model.left = (instant) => Math.max(0, instant + model.boot - model.now());

  function shift(resource, by) {
    for (const lease of berth.leasesOf(resource)) {
      lease.since += by;
      lease.until = (lease.until ?? null) === null ? null : lease.until + by;
    }
  }

  function dated(resource) {
    shift(resource, model.boot);
    resource.words = null; // what a search looks into: made when one asks
    return resource;
  }

  /* The clock of the host may step; a network's wavering is none. */
  function setBoot(boot) {
    const step = boot - model.boot;
    if (Math.abs(step) < STEP_MS) {
      return;
    }
    model.boot = boot;
    model.resources.forEach((resource) => shift(resource, step));
  }

  function replaceAll(answer) {
    model.resources = answer.resources.map(dated);
    model.templates = answer.templates || [];
    byName.clear();
    for (const resource of model.resources) {
      byName.set(resource.name, resource);
    }
  }

  /* New names go to the end. `removed` names what is in neither list any more. */
  function replaceSome(answer) {
    const templates = new Map(model.templates.map((template) => [template.name, template]));
    for (const name of answer.removed || []) {
      byName.delete(name);
      templates.delete(name);
    }
    for (const resource of answer.resources || []) {
      byName.set(resource.name, dated(resource));
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
    setBoot(now - answer.now);
    if (isFull) {
      replaceAll(answer);
    } else {
      replaceSome(answer);
    }
    for (const key of ['connected', 'draining', 'drain', 'databases', 'hosts', 'gone', 'host']) {
      if (answer[key] !== undefined && answer[key] !== null) {
        model[key] = answer[key];
      }
    }
    model.why = answer.why || null;
    model.grace = answer.grace_until;
    model.serial = answer.serial;
    model.loaded = true;
    return isFull ? null : (answer.resources || []).map((resource) => resource.name)
      .concat(answer.removed || []);
  };

  /* ---- what a search finds ---- */

  function wordsOf(resource) {
    if (resource.words === null) {
      resource.words = [resource.name, resource.kind, resource.database || '']
        .concat(berth.leasesOf(resource).flatMap(berth.wordsOf)).join('\n').toLowerCase();
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
      (!choice.user || berth.leasesOf(resource).some(ofUser)) &&
      words.every((word) => wordsOf(resource).includes(word)));
    return orders[choice.order] ? chosen.sort(orders[choice.order]) : chosen;
  };

  /* [user, how many leases], those with most first. */
  model.users = function () {
    const counts = new Map();
    for (const resource of model.resources) {
      for (const user of berth.leasesOf(resource).map(berth.userOf)) {
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
