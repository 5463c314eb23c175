/* What is over, from /history.json, for the period that is looked at. */
(function (berth) {
  'use strict';

  const LIMIT = 5000;
  const SHARED_MS = 10000; // pages that ask at the same time ask the same, which is answered once
  const OVERLAP_MS = 5000;
  const SAME_MS = 250; // in each answer, instants from others move by latency

  const past = {
    period: 3600000, // 0: all that is kept
    from: 0, // the period's
    until: undefined, // up to here all has been told; undefined: nothing has been loaded yet
    leases: new Map(), actions: new Map(), gaps: [], told: null,
    spans: [], // [from, until] that is here, in their order, without overlap
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
    const gaps = new Map(old.concat(more).map((gap) => [gap.from_at_ms + ' ' + gap.why, gap]));
    return [...gaps.values()].sort((a, b) => a.from_at_ms - b.from_at_ms);
  }

  function addSpan(from, until) {
    const joined = [];
    for (const span of past.spans.concat([[from, until]]).sort((a, b) => a[0] - b[0])) {
      const last = joined[joined.length - 1];
      if (last && span[0] <= last[1]) {
        last[1] = Math.max(last[1], span[1]);
      } else {
        joined.push(span);
      }
    }
    past.spans = joined;
  }

  /* Of an answer that had no room for all there are the newest. */
  function whole(answer, from) {
    const isCut = answer.sources.some((source) => source.more);
    return isCut ? Math.min(...answer.leases.map((lease) => lease.ended_at_ms),
      ...answer.actions.map((action) => action.at_ms)) : from;
  }

  /* Not by everybody: then its time is asked for again. */
  const isWhole = (answer) => answer.failed.length === 0 &&
    (answer.kept_by === 'berth-history' || !answer.why) &&
    !(answer.gaps || []).some((gap) => gap.why === 'down');

  /* An id is never given twice. This host's is told by its database as SESSION/LEASE. */
  const keyOf = (lease) => (lease.host && lease.host !== berth.model.host ? lease.lease
    : '@' + lease.lease.split('/').pop());

  /* One that is there is told again. */
  function takeAction(action) {
    const deed = [action.verb, action.resource, action.target, action.old, action.new,
      action.host, action.uid].join(' ');
    const key = (ms) => Math.floor((action.at_ms + ms) / SAME_MS) + ' ' + deed;
    const known = [-SAME_MS, SAME_MS].map(key).find((other) => past.actions.has(other));
    past.actions.set(known || key(0), action);
  }

  function take(answer, from, until) {
    for (const lease of answer.leases || []) {
      if (isGood(lease)) {
        past.leases.set(keyOf(lease), lease);
      }
    }
    for (const action of answer.actions || []) {
      if (Number.isFinite(action.at_ms)) {
        takeAction(action);
      }
    }
    past.told = answer;
    if (isWhole(answer)) {
      past.gaps = past.gaps.filter((gap) => gap.why !== 'down');
      addSpan(whole(answer, from), Math.min(until, berth.model.now()));
    }
    past.gaps = mergeGaps(past.gaps, answer.gaps || []);
  }

  function forget() {
    past.leases.clear();
    past.actions.clear();
    past.gaps = [];
    past.told = null;
    past.spans = [];
  }

  /* isPart: not up to now. */
  async function ask(from, until, own, told, isPart = false) {
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
        take(answer, from, until);
        if (!isPart) {
          past.until = isWhole(answer) ? until : from;
        }
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
      ask(Math.max(past.from, (past.until ?? past.from) - OVERLAP_MS), berth.model.now(),
        generation, told);
    }
  };

  /* A part of a period that has more than one answer can hold. */
  past.part = function (from, until, told) {
    return ask(from, until, generation, told, true);
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
    'disk-full': 'the disk was full',
    'no-history': 'berthd had no history that could be read',
    removed: 'somebody has removed what was kept', trimmed: 'it is kept no longer',
    unwritten: 'the database could not write it down', down: 'the database did not answer',
    lost: 'the database has lost its latest data',
    before: 'it is not kept', cut: 'more than fits: zoom in',
    untold: 'its database tells nothing of other hosts',
  };

  berth.gapText = function (gap, now) {
    const until = berth.moment(gap.until_at_ms, now);
    const n = (gap.n ?? null) === null ? ''
      : ', ' + berth.plural(gap.n, 'entry', 'entries') + ' missing';
    const what = gap.from_at_ms > 0
      ? 'Something may be missing from ' + berth.moment(gap.from_at_ms, now) + ' to ' + until
      : 'Nothing is known before ' + until;
    return what + ': ' + (reasons[gap.why] || gap.why) + n;
  };

  berth.reasonOf = (gap) => reasons[gap.why] || String(gap.why);

  /* From when on that database (null: this host) knows all; NaN: it knows nothing. */
  past.knownSince = function (database) {
    const source = (past.told ? past.told.sources : []).find((one) => one.database === database);
    return source ? source.since_at_ms ?? NaN : NaN;
  };

  /* What was before that. */
  past.before = function (database) {
    const since = past.knownSince(database);
    const isUntold = past.told &&
      past.told.failed.some((failed) => failed.database === database);
    return [{ from_at_ms: 0, until_at_ms: since, why: 'before' },
      { from_at_ms: Math.max(1, past.from), until_at_ms: berth.model.now(), why: 'untold' }]
      .filter((gap) => (gap.why === 'untold' ? isUntold : gap.until_at_ms > 0));
  };

  /* What one answer had no room for. */
  past.missing = function () {
    const missing = [];
    let at = Math.max(1, past.from);
    for (const [from, until] of past.spans) {
      if (from > at) {
        missing.push({ from_at_ms: at, until_at_ms: from, why: 'cut' });
      }
      at = until;
    }
    return missing;
  };

  function completeSince(since, now) {
    return Number.isFinite(since) ? 'complete since ' + berth.moment(since, now)
      : 'nothing has ended yet';
  }

  function sentenceOf(told, source, now) {
    const since = completeSince(source.since_at_ms, now);
    if (source.database !== null) {
      return 'All hosts of database ' + source.database + ': ' + since + '.';
    }
    const isBerthd = told.kept_by === 'berthd';
    return 'This host: ' + since + (isBerthd ? ', as far as berthd remembers it' : '') +
      (isBerthd && told.why ? ' (berth-history: ' + told.why + ')' : '') + '.';
  }

  /* From when on it is complete, and whose it is. */
  past.sentences = function (now) {
    const told = past.told;
    if (!told) {
      return [];
    }
    return [told.kept_by === null ? "This host's history is not available: " + told.why + '.' : '',
      ...told.sources.map((source) => sentenceOf(told, source, now)),
      ...told.failed.map((failed) => 'Database ' + failed.database +
        ' tells nothing of other hosts: ' + failed.why + '.')].filter(Boolean);
  };

  berth.past = past;
})(window.berth);
