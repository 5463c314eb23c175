/* What is over, from /history.json, for the period that is looked at. */
(function (berth) {
  'use strict';

  const LIMIT = 5000;
  const SHARED_MS = 10000; // pages that ask at the same time ask the same, which is answered once
  const OVERLAP_MS = 5000;

  const past = {
    period: 3600000, // 0: all that is kept
    from: 0, leases: new Map(), actions: new Map(), gaps: [], isCut: false, told: null,
    loading: false, error: null,
  };
  let generation = 0;

  const addressOf = (from, until) => 'history.json?from=' +
    Math.max(0, Math.floor(from / SHARED_MS) * SHARED_MS) + '&until=' +
    Math.ceil(until / SHARED_MS) * SHARED_MS + '&limit=' + LIMIT;

  /* What is no number does not become a place. */
  const isGood = (lease) => lease && typeof lease.lease === 'string' &&
    Number.isFinite(lease.ended_at_ms) && Number.isFinite(lease.asked_at_ms) &&
    Array.isArray(lease.resources);

  function mergeGaps(old, more) {
    const gaps = new Map(old.concat(more).map((gap) => [gap.from_ms + ' ' + gap.why, gap]));
    return [...gaps.values()].sort((a, b) => a.from_ms - b.from_ms);
  }

  function take(answer) {
    for (const lease of answer.leases || []) {
      if (isGood(lease)) {
        past.leases.set(lease.lease + ' ' + lease.asked_at_ms, lease);
      }
    }
    for (const action of answer.actions || []) {
      if (Number.isFinite(action.at_ms)) {
        past.actions.set([action.at_ms, action.verb, action.resource, action.target].join(' '),
          action);
      }
    }
    past.gaps = mergeGaps(past.gaps, answer.gaps || []);
    past.isCut = past.isCut || answer.truncated;
    past.told = answer;
  }

  function forget() {
    past.leases.clear();
    past.actions.clear();
    past.gaps = [];
    past.isCut = false;
    past.told = null;
  }

  async function ask(from, until, own, told) {
    let answer = null;
    past.loading = true;
    try {
      answer = await berth.getJson(addressOf(from, until));
      past.error = null;
    } catch (error) {
      past.error = error.message;
    }
    if (own === generation) {
      past.loading = false;
      if (answer) {
        take(answer);
        past.until = until;
      }
      told();
    }
  }

  /* Loads the period again, and calls told() when it is there. */
  past.load = function (told) {
    const now = berth.model.now();
    past.from = past.period === 0 ? 0 : now - past.period;
    forget();
    return ask(past.from, now, ++generation, told);
  };

  /* Adds what has ended since. */
  past.more = function (told) {
    if (!past.loading) {
      ask(Math.max(past.from, (past.until || past.from) - OVERLAP_MS), berth.model.now(),
        generation, told);
    }
  };

  /* A part of a period that has more than one answer can hold. */
  past.part = function (from, until, told) {
    return ask(from, until, generation, told);
  };

  /* The instant at which what is known begins. */
  past.begin = function () {
    if (past.period !== 0) {
      return berth.model.now() - past.period;
    }
    let first = berth.model.now() - 3600000;
    for (const lease of past.leases.values()) {
      first = Math.min(first, lease.asked_at_ms);
    }
    return first;
  };

  /* ---- in words ---- */

  const reasons = {
    overwritten: 'more ended than berthd could keep', reboot: 'the host was rebooted',
    'not-running': 'berth-history was not running', damaged: 'what was kept is damaged',
    'disk-full': 'the disk was full', trimmed: 'it is kept no longer',
    before: 'it is not kept',
  };

  berth.gapText = function (gap, now) {
    const n = (gap.n ?? null) === null ? '' : ', ' + berth.plural(gap.n, 'entry', 'entries') +
      ' missing';
    return (gap.from_ms > 0 ? 'Something may be missing from ' + berth.moment(gap.from_ms, now) +
      ' to ' : 'Nothing is known before ') + berth.moment(gap.until_ms, now) + ': ' + (reasons[gap.why] || gap.why) + n;
  };

  berth.reasonOf = (gap) => reasons[gap.why] || String(gap.why);

  const known = (told) => [told.since_ms, ...told.databases.map((database) => database.since_ms)]
    .filter(Number.isFinite);

  /* Gaps, and what was before all that is known. */
  past.unknown = function () {
    const since = past.told ? known(past.told) : [];
    return since.length === 0 ? past.gaps
      : [{ from_ms: 0, until_ms: Math.min(...since), why: 'before' }, ...past.gaps];
  };

  function completeSince(since, now) {
    return Number.isFinite(since) ? 'complete since ' + berth.moment(since, now)
      : 'nothing has ended yet';
  }

  function ownSentence(told, now) {
    if (told.kept_by === null) {
      return 'This host tells nothing: ' + told.why + '.';
    }
    const isBerthd = told.kept_by === 'berthd';
    return 'This host: ' + completeSince(told.since_ms, now) +
      (isBerthd ? ', as far as berthd remembers it' : '') +
      (isBerthd && told.why ? ' (berth-history: ' + told.why + ')' : '') + '.';
  }

  /* From when on it is complete, and whose it is. */
  past.sentences = function (now) {
    if (!past.told) {
      return [];
    }
    return [ownSentence(past.told, now), ...past.told.databases.map((database) =>
      database.why === null
        ? 'All hosts of database ' + database.name + ': ' + completeSince(database.since_ms, now) + '.'
        : 'Database ' + database.name + ' tells nothing of other hosts: ' + database.why + '.')];
  };

  berth.past = past;
})(window.berth);
