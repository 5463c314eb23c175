/* What holds the parts together: the head, the filters, the views, the colours, the start. */
(function (berth) {
  'use strict';

  const VIEWS = ['now', 'timeline', 'hosts'];
  const model = berth.model;
  const id = (name) => document.getElementById(name);

  const choice = { query: '', user: '', busy: false, order: 'file' };
  let view = 'now', isLost = false;

  /* ---- the head ---- */

  function connection() {
    if (isLost) {
      return ['lost', 'Connection lost' + (model.loaded ? ': as of ' + berth.clock(model.updated)
        : '') + ', asking again'];
    }
    if (!model.loaded) {
      return ['lost', 'connecting …'];
    }
    if (!model.connected) {
      return ['lost', 'berthd is not connected: ' + (model.why || 'unknown reason')];
    }
    return ['live', 'live'];
  }

  function showState() {
    const [kind, text] = connection();
    id('state').className = 'state ' + kind;
    berth.setText(id('state'), text);
    document.body.classList.toggle('stale', kind !== 'live' && model.loaded);
    document.body.classList.toggle('loading', !model.loaded);
  }

  function showFigures() {
    const figures = model.figures();
    const rows = [['resources', figures.resources], ['in use', figures.busy],
      ['leases', figures.held], ['waiting', figures.waiting]];
    berth.reuse(id('figures'), rows, () => berth.el('div', berth.el('dt'), berth.el('dd')),
      (pair, [name, value]) => {
        berth.setText(pair.firstChild, name);
        berth.setText(pair.lastChild, value.toLocaleString('en'));
      });
  }

  function showNotices() {
    const notices = [];
    if (model.draining) {
      notices.push('This host is being drained' + berth.whoseText(model.drain, 'drained') +
        (model.drain.drain_reason ? ': ' + model.drain.drain_reason : '') +
        '. It grants nothing.');
    }
    if (model.grace !== null) {
      notices.push('berthd has restarted: for ' + berth.duration(model.left(model.grace)) +
        ' it grants nothing, so that earlier jobs can take their places back.');
    }
    for (const database of model.databases) {
      if (database.state !== 'up') {
        notices.push('Database ' + database.name + ' is ' + database.state +
          (database.why ? ': ' + database.why : '') + '.');
      } else if (database.grace_until !== null && database.new) {
        notices.push('Database ' + database.name + ' is new: for ' +
          berth.duration(model.left(database.grace_until)) + ' it grants nothing, as hosts may ' +
          'hold leases of which it has no record. If it never held anything, an operator can end ' +
          'that: berthctl found ' + database.name);
      } else if (database.grace_until !== null) {
        notices.push('Database ' + database.name + ' is new or has lost its data: for ' +
          berth.duration(model.left(database.grace_until)) + ' it grants nothing, and waiters of ' +
          'other hosts may be missing here.');
      }
    }
    berth.reuse(id('notices'), notices, () => berth.el('p.notice'), berth.setText);
  }

  /* ---- the filters ---- */

  function showUsers() {
    const select = id('user');
    if (document.activeElement === select) {
      return; // it may be open
    }
    const users = model.users().slice(0, 500);
    if (choice.user && !users.some(([user]) => user === choice.user)) {
      users.push([choice.user, 0]);
    }
    const rows = users.map(([user, n]) => [user, user + ' (' + n + ')']);
    rows.unshift(['', 'everybody']);
    berth.reuse(select, rows, () => berth.el('option'), (option, [user, text]) => {
      if (option.value !== user) {
        option.value = user;
      }
      berth.setText(option, text);
    });
    select.value = choice.user;
  }

  function emptyText(found) {
    const template = model.templates.find((other) => other.name.endsWith('*') && !other.paused &&
      !model.draining);
    const named = model.resources.find((resource) => resource.grantable > 0);
    const name = template ? template.name.replace('*', 'first') : named ? named.name : null;
    if (found === 0 && model.resources.length > 0) {
      return ['Nothing matches.', 'Change the search, the user or “only busy”.', null];
    }
    if (name === null && model.resources.length > 0) {
      return ['Nothing runs now.', 'And nothing can be granted now.', null];
    }
    if (name === null) {
      return ['Nothing is defined yet.', 'A lock for every name below adhoc/ takes two lines; ' +
        'then run a job:',
      'printf \'[lock adhoc/*]\\n\' | sudo tee /etc/berth/conf.d/adhoc.conf\n' +
        'sudo berthctl reload\nberth run adhoc/first -- sleep 60'];
    }
    return ['Nothing runs now.', 'This puts a first job into view:',
      'berth run ' + name + ' -- sleep 60'];
  }

  function showEmpty(found) {
    const isIdle = model.loaded && !model.resources.some((resource) =>
      resource.holders.length > 0 || resource.waiters.length > 0);
    const empty = id('empty');
    empty.hidden = !model.loaded || (found > 0 && !isIdle);
    if (!empty.hidden) {
      const [title, text, command] = emptyText(found);
      if (empty.dataset.text !== title + command) {
        empty.dataset.text = title + command;
        empty.replaceChildren(berth.el('h3', title), berth.el('p', text));
        if (command) {
          const code = berth.el('code');
          code.textContent = command; // its line ends are ours
          empty.append(berth.el('pre', code));
        }
      }
    }
  }

  function showChosen(names) {
    const found = model.choose(choice);
    berth.list.show(found, names);
    const isAll = found.length === model.resources.length;
    berth.setText(id('found'), !model.loaded || isAll ? '' : found.length.toLocaleString('en') +
      ' of ' + model.resources.length.toLocaleString('en'));
    showEmpty(found.length);
  }

  function onChoice() {
    choice.query = id('query').value;
    choice.user = id('user').value;
    choice.busy = id('busy').checked;
    choice.order = id('order').value;
    remember();
    showChosen([]);
    berth.timeline.show(choice);
  }

  /* ---- the address: view and filters, so that a link shows the same ---- */

  function remember() {
    const kept = new URLSearchParams();
    for (const [key, value] of [['q', choice.query], ['user', choice.user],
      ['busy', choice.busy ? '1' : ''], ['order', choice.order === 'file' ? '' : choice.order]]) {
      if (value) {
        kept.set(key, value);
      }
    }
    const text = kept.toString();
    history.replaceState(null, '', '#' + view + (text ? '?' + text : ''));
    for (const link of document.querySelectorAll('.views a')) {
      link.href = '#' + link.dataset.view + (text ? '?' + text : '');
    }
  }

  function readAddress() {
    const [name, rest] = location.hash.slice(1).split('?');
    const kept = new URLSearchParams(rest || '');
    choice.query = kept.get('q') || '';
    choice.user = kept.get('user') || '';
    choice.busy = kept.get('busy') === '1';
    choice.order = kept.get('order') || 'file';
    id('query').value = choice.query;
    id('busy').checked = choice.busy;
    id('order').value = choice.order;
    showUsers();
    return VIEWS.includes(name) ? name : 'now';
  }

  function showView(name) {
    view = name;
    for (const other of VIEWS) {
      id('view-' + other).hidden = other !== view;
    }
    for (const link of document.querySelectorAll('.views a')) {
      berth.setAttribute(link, 'aria-current', link.dataset.view === view ? 'page' : null);
    }
    document.body.dataset.view = view;
    remember();
    if (view === 'timeline') {
      berth.timeline.show(choice);
      if (model.loaded && !berth.timeline.ready()) {
        berth.timeline.load();
      }
    } else if (view === 'hosts') {
      berth.showHosts();
    }
    showChosen(null);
  }

  berth.showTimelineOf = function (name) {
    id('query').value = name;
    choice.query = name;
    showView('timeline');
    id('lanes').focus();
  };

  /* ---- colours ---- */

  const themes = ['auto', 'light', 'dark'];
  const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
  const themeNames = { auto: 'same as system', light: 'light', dark: 'dark' };

  function stored() {
    try {
      return localStorage.getItem('berth-theme');
    } catch (error) {
      return null; // storage is forbidden
    }
  }

  function setTheme(theme) {
    document.documentElement.dataset.theme =
      theme !== 'auto' ? theme : systemIsDark.matches ? 'dark' : 'light';
    berth.setText(id('theme'), 'Colours: ' + themeNames[theme]);
    try {
      localStorage.setItem('berth-theme', theme);
    } catch (error) {
      // it lasts as long as the page, then
    }
    berth.timeline.recolour();
    berth.list.redraw();
  }

  function startTheme() {
    let theme = themes.includes(stored()) ? stored() : 'auto';
    setTheme(theme);
    id('theme').addEventListener('click', () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      setTheme(theme);
    });
    systemIsDark.addEventListener('change', () => setTheme(theme));
  }

  /* ---- news ---- */

  function heard(names) {
    const isFirst = !berth.timeline.ready() && !berth.past.loading;
    isLost = false;
    berth.setText(id('host'), model.host);
    document.title = (model.host ? model.host + ' · ' : '') + 'Berth';
    showState();
    showFigures();
    showNotices();
    showUsers();
    showChosen(names);
    berth.details.refresh(names);
    if (view === 'hosts') {
      berth.showHosts();
    } else if (view === 'timeline') {
      if (isFirst) {
        berth.timeline.load();
      } else {
        berth.timeline.changed();
      }
    }
  }

  function failed() {
    isLost = true;
    showState();
  }

  function tick() {
    const now = model.now();
    if (document.hidden) {
      return;
    }
    if (view === 'now') {
      berth.list.tick(now);
    } else if (view === 'timeline') {
      berth.timeline.tick();
    }
    berth.details.tick(now);
  }

  function onKey(event) {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      id('query').focus();
      event.preventDefault();
    }
  }

  berth.list.start(id('list'), (...what) => berth.details.open(...what));
  berth.details.start();
  berth.timeline.start();
  startTheme();
  id('filters').addEventListener('input', onChoice);
  id('filters').addEventListener('submit', (event) => event.preventDefault());
  window.addEventListener('hashchange', () => showView(readAddress()));
  document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault(); // the address keeps its view
    id('main').focus();
    id('main').scrollIntoView();
  });
  document.addEventListener('keydown', onKey);
  setInterval(tick, 1000);
  showView(readAddress());
  showState();
  berth.live(heard, failed);
})(window.berth);
