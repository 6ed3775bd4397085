'use strict';
const sortable = part => {
  for (const table of part.querySelectorAll('table.sortable')) {
    [...table.tHead.rows[0].cells].forEach((th, i) => {
      const button = document.createElement('button');
      button.type = 'button'; button.title = 'sort'; button.append(...th.childNodes); th.append(button);
      button.onclick = () => {
        const down = th.getAttribute('aria-sort') !== 'descending', body = table.tBodies[0];
        for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
        th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const key = row => { const v = row.cells[i].dataset.v; return v === undefined ? row.cells[i].textContent : v === '' ? null : +v; };
        const less = (a, b) => a === null || a === '' ? 1 : b === null || b === '' ? -1 : (a < b ? 1 : a > b ? -1 : 0) * (down ? 1 : -1);
        [...body.rows].sort((a, b) => less(key(a), key(b))).forEach(row => body.append(row));
      };
    });
  }
};
sortable(document);
for (const stepper of document.querySelectorAll('.stepper')) {
  const [back, on, all] = stepper.querySelectorAll('button');
  const every = () => [...document.querySelectorAll('details.round')], slider = stepper.querySelector('input'), said = stepper.querySelector('output');
  const show = () => {
    const rounds = every(), open = rounds.filter(round => round.open);
    stepper.hidden = rounds.length < 2; slider.max = rounds.length - 1;
    if (open.length === 1) { slider.value = rounds.indexOf(open[0]); said.textContent = open[0].dataset.name; }
    back.disabled = open.length === 1 && +slider.value === 0; on.disabled = open.length === 1 && slider.value === slider.max;
  };
  const go = n => {
    const rounds = every(), i = Math.min(Math.max(n, 0), rounds.length - 1);
    rounds.forEach((round, k) => { round.open = k === i; });
    slider.value = i; said.textContent = rounds[i].dataset.name;
  };
  show(); document.addEventListener('maci-drawn', show); document.addEventListener('toggle', show, true);
  slider.oninput = () => go(+slider.value);
  back.onclick = () => go(+slider.value - 1); on.onclick = () => go(+slider.value + 1);
  all.onclick = () => { const rounds = every(), open = rounds.some(r => !r.open); rounds.forEach(r => { r.open = open; }); };
}
const hints = part => {
  for (const box of part.querySelectorAll('.scroll')) {
    const hint = document.createElement('p');
    hint.className = 'small-print more-hint'; hint.setAttribute('aria-hidden', 'true'); hint.textContent = 'More columns: scroll sideways →'; hint.hidden = true;
    box.before(hint);
    const look = () => {
      const wide = box.scrollWidth > box.clientWidth + 1;
      hint.hidden = !wide; box.classList.toggle('more', wide && box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    };
    box.addEventListener('scroll', look, { passive: true }); new ResizeObserver(look).observe(box);
  }
};
hints(document); document.addEventListener('maci-drawn', event => hints(event.target));
const fill = boxes => {
  for (const box of boxes) {
    const kept = box.querySelector('noscript'), made = document.createElement('template');
    if (!kept) continue;
    made.innerHTML = kept.textContent; kept.replaceWith(made.content); sortable(box); hints(box);
  }
};
document.addEventListener('toggle', event => { if (event.target.open) fill(event.target.querySelectorAll(':scope > .later')); }, true);
const sections = [...document.querySelectorAll('main.tabs > section')], links = [...document.querySelectorAll('nav.contents > ul > li')];
const tab = shown => {
  for (const section of sections) section.hidden = section !== shown;
  fill(shown.querySelectorAll(':scope > .later'));
  links.forEach((li, i) => { const here = sections[i] === shown, a = li.querySelector('a'); li.classList.toggle('here', here); if (here) a.setAttribute('aria-current', 'true'); else a.removeAttribute('aria-current'); });
};
const reveal = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (sections.length) tab(target && target.closest('main.tabs > section') || sections.find(section => !section.hidden) || sections[0]);
  if (!target) return;
  if (target.matches('details > summary')) target.parentElement.open = true;
  for (let d = target.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
  target.scrollIntoView();
};
addEventListener('hashchange', reveal); reveal();
let shut = [];
addEventListener('beforeprint', () => { fill(document.querySelectorAll('.later')); shut = [...document.querySelectorAll('details:not([open])')]; shut.forEach(d => { d.open = true; }); });
addEventListener('afterprint', () => { shut.forEach(d => { d.open = false; }); });
const theme = document.querySelector('button.theme');
if (theme) {
  const root = document.documentElement, night = () => root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  const say = () => { theme.textContent = night() ? 'Light' : 'Dark'; theme.setAttribute('aria-label', night() ? 'Use light colours' : 'Use dark colours'); };
  try { const kept = localStorage.getItem('maci-theme'); if (kept === 'dark' || kept === 'light') root.dataset.theme = kept; } catch { /* a file may have no storage */ }
  theme.hidden = false; say();
  theme.onclick = () => { root.dataset.theme = night() ? 'light' : 'dark'; try { localStorage.setItem('maci-theme', root.dataset.theme); } catch { /* as above */ } say(); };
}
for (const form of document.querySelectorAll('.thread-tools')) {
  const thread = document.querySelector('.thread'), said = form.querySelector('output'), help = form.querySelector('dialog'), fields = [...form.querySelectorAll('[name]')];
  const cards = () => [...thread.querySelectorAll('.argument')], open = card => !card.hidden && card.closest('details.round')?.open !== false, seen = () => cards().filter(open);
  const shape = name => document.createElementNS('http://www.w3.org/2000/svg', name), lines = shape('svg');
  lines.setAttribute('class', 'replies'); lines.setAttribute('aria-hidden', 'true');
  form.hidden = cards().length < 2;
  const draw = () => {
    const frame = thread.getBoundingClientRect(), paths = [];
    for (const card of seen()) {
      for (const id of (card.dataset.answers ?? '').split(' ').filter(Boolean)) {
        const to = document.getElementById(`a-${id}`);
        if (!to || !open(to)) continue;
        const a = card.getBoundingClientRect(), b = to.getBoundingClientRect(), path = shape('path');
        const x1 = a.left + a.width / 2 - frame.left, y1 = a.top - frame.top, x2 = b.left + b.width / 2 - frame.left, y2 = b.bottom - frame.top, bend = Math.max(24, (y1 - y2) / 3);
        path.setAttribute('d', `M${x1},${y1}C${x1},${y1 - bend} ${x2},${y2 + bend} ${x2},${y2}`);
        path.dataset.ends = `${card.id} ${to.id}`; path.setAttribute('class', `line ${card.dataset.hue ?? ''}`);
        const end = shape('circle'); end.setAttribute('class', `mark ${card.dataset.hue ?? ''}`); end.setAttribute('cx', x2); end.setAttribute('cy', y2); end.setAttribute('r', 3.5);
        paths.push(path, end);
      }
    }
    lines.replaceChildren(...paths); if (lines.parentNode !== thread) thread.prepend(lines);
  };
  let waiting = 0; const later = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); };
  const light = card => {
    for (const lit of document.querySelectorAll('.lit')) lit.classList.remove('lit');
    for (const path of card ? lines.querySelectorAll('path') : []) {
      const ends = path.dataset.ends.split(' ');
      if (!ends.includes(card.id)) continue;
      path.classList.add('lit'); for (const id of ends) document.getElementById(id).classList.add('lit');
    }
  };
  thread.addEventListener('mouseover', event => light(event.target.closest('.argument'))); thread.addEventListener('mouseleave', () => light(null));
  thread.addEventListener('focusin', event => light(event.target.closest('.argument')));
  let before = null;
  const filter = () => {
    const want = Object.fromEntries(fields.map(field => [field.name, field.value])), words = want.words.toLowerCase().split(/\s+/).filter(Boolean);
    const any = want.outcome || want.agent || want.fate || words.length;
    for (const card of cards()) {
      const text = words.length ? card.textContent.toLowerCase() : '';
      card.hidden = !(['outcome', 'agent', 'fate'].every(name => !want[name] || (card.dataset[name] ?? '') === want[name]) && words.every(word => text.includes(word)));
    }
    const rounds = [...thread.querySelectorAll('details.round')];
    if (any) { before ??= rounds.map(round => round.open); for (const round of rounds) round.open = !!round.querySelector('.argument:not([hidden])'); }
    else if (before) { rounds.forEach((round, i) => { round.open = before[i] ?? round.open; }); before = null; }
    said.textContent = any ? `${cards().filter(card => !card.hidden).length} of ${cards().length}` : ''; later();
  };
  form.addEventListener('input', filter);
  const ask = form.querySelector('.help'), shut = help.querySelector('button'); ask.onclick = () => help.showModal(); shut.onclick = () => help.close();
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select, dialog')) {
      if (event.key === 'Escape' && form.contains(event.target) && !help.open) { for (const field of fields) field.value = ''; filter(); event.target.blur(); }
      return;
    }
    if (event.key === '/') { event.preventDefault(); fields[0].focus(); }
    if (event.key === '?') help.showModal();
    if (event.key === 'j' || event.key === 'k') {
      const all = seen(), at = all.indexOf(document.activeElement?.closest?.('.argument')), next = all[Math.min(all.length - 1, Math.max(0, event.key === 'j' ? at + 1 : at < 0 ? 0 : at - 1))];
      if (next) { next.focus({ preventScroll: true }); next.scrollIntoView({ block: 'center' }); }
    }
  });
  const plays = [...form.querySelectorAll('.play')]; let timer = 0;
  const halt = () => { clearTimeout(timer); timer = 0; thread.classList.remove('playing'); for (const card of cards()) card.classList.remove('played', 'judging'); for (const b of plays) b.removeAttribute('aria-pressed'); later(); };
  for (const button of plays) {
    button.onclick = () => {
      const again = button.getAttribute('aria-pressed'); halt(); if (again) return;
      button.setAttribute('aria-pressed', 'true'); thread.classList.add('playing');
      const rounds = [...thread.querySelectorAll('details.round')], queue = cards(), pace = 1400 / +button.dataset.speed;
      rounds.forEach(round => { round.open = false; });
      const next = () => {
        const card = queue.shift();
        if (!card) { rounds.forEach(round => { round.open = true; }); halt(); return; }
        card.closest('details.round').open = true; card.classList.add('played', 'judging'); card.scrollIntoView({ block: 'center' }); later();
        timer = setTimeout(() => { card.classList.remove('judging'); timer = setTimeout(next, pace / 2); }, pace / 2);
      };
      next();
    };
  }
  new ResizeObserver(later).observe(thread); document.addEventListener('toggle', later, true); document.addEventListener('maci-drawn', () => { form.hidden = cards().length < 2; filter(); });
  later();
}
for (const box of document.querySelectorAll('.find')) {
  const input = box.querySelector('input'), said = box.querySelector('output'), every = () => [...document.querySelectorAll(box.dataset.in)];
  box.hidden = false;
  input.oninput = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean), all = every();
    for (const item of all) item.hidden = !words.every(word => item.textContent.toLowerCase().includes(word));
    said.textContent = words.length ? `${all.filter(item => !item.hidden).length} of ${all.length}` : '';
  };
}
for (const button of document.querySelectorAll('button.copy')) {
  button.hidden = !navigator.clipboard;
  button.onclick = async () => { await navigator.clipboard.writeText(button.nextElementSibling.textContent); button.textContent = 'Copied'; };
}
const gates = part => {
  for (const svg of part.querySelectorAll('svg.gate')) {
    const at = name => +svg.dataset[name], said = svg.nextElementSibling, form = svg.dataset.form && document.querySelector(svg.dataset.form), field = svg.querySelector('.open-field'), asks = form?.id === 'whatif';
    const dials = Object.fromEntries([...svg.querySelectorAll('[data-dial]')].map(g => [g.dataset.dial, g])), value = name => +dials[name].getAttribute('aria-valuenow');
    const place = { tau_q: v => at('left') + (v - at('low')) / (at('high') - at('low')) * (at('right') - at('left')), tau_crit: v => at('bottom') - v * (at('bottom') - at('top')) };
    const show = (name, v) => {
      v = Math.round(Math.min(1, Math.max(0, v)) * 100) / 100;
      const g = dials[name], p = place[name](v), label = g.querySelector('text'), across = name === 'tau_q';
      for (const line of g.querySelectorAll('line')) for (const end of across ? ['x1', 'x2'] : ['y1', 'y2']) line.setAttribute(end, p);
      const over = across && p + 4 > at('right') - at('beside');
      label.setAttribute(across ? 'x' : 'y', over ? p - 4 : across ? p + 4 : p - 5); label.setAttribute('text-anchor', over ? 'end' : 'start'); label.textContent = `${across ? 'τ_Q' : 'τ_CRIT'} ${v.toFixed(2)}`;
      g.setAttribute('aria-valuenow', v); g.setAttribute('aria-valuetext', v.toFixed(2));
      const x = place.tau_q(value('tau_q')), y = place.tau_crit(value('tau_crit'));
      field.setAttribute('x', x); field.setAttribute('width', Math.max(0, at('right') - x)); field.setAttribute('height', Math.max(0, y - at('top')));
      if (!asks) {
        const inside = [], outside = [];
        for (const dot of svg.querySelectorAll('.dot-arg')) {
          const would = +dot.dataset.q >= value('tau_q') && +dot.dataset.crit >= value('tau_crit'), is = dot.classList.contains('admitted');
          dot.classList.toggle('flips', would !== is);
          if (would !== is) (would ? inside : outside).push(dot.dataset.id);
        }
        said.textContent = [inside.length ? `would be admitted: ${inside.join(', ')}` : '', outside.length ? `would not: ${outside.join(', ')}` : ''].filter(Boolean).join('; ');
      }
      if (form?.elements[name]) {
        form.elements[name].value = v; form.elements[name].nextElementSibling.textContent = v.toFixed(2);
        if (form.elements[`${name}_on`]) form.elements[`${name}_on`].checked = true;
        if (asks) form.dispatchEvent(new Event('maci-dragged'));
      }
    };
    const settle = () => form?.dispatchEvent(new Event('change', { bubbles: true }));
    for (const [name, g] of Object.entries(dials)) {
      g.onkeydown = event => {
        const step = { ArrowUp: .01, ArrowRight: .01, ArrowDown: -.01, ArrowLeft: -.01, PageUp: .1, PageDown: -.1 }[event.key];
        if (step) { event.preventDefault(); show(name, value(name) + step); settle(); }
      };
      g.onpointerdown = event => {
        event.preventDefault(); g.focus(); svg.setPointerCapture(event.pointerId);
        svg.onpointermove = move => {
          const box = svg.getBoundingClientRect(), k = svg.viewBox.baseVal.width / box.width;
          if (name === 'tau_q') show(name, at('low') + ((move.clientX - box.left) * k - at('left')) / (at('right') - at('left')) * (at('high') - at('low')));
          else show(name, (at('bottom') - (move.clientY - box.top) * k) / (at('bottom') - at('top')));
        };
        svg.onpointerup = svg.onpointercancel = () => { svg.onpointermove = svg.onpointerup = svg.onpointercancel = null; settle(); };
      };
    }
    if (form) form.addEventListener('input', event => { if (svg.isConnected && dials[event.target.name]) show(event.target.name, +event.target.value); });
    for (const name of Object.keys(dials)) if (form?.elements[`${name}_on`]?.checked) show(name, +form.elements[name].value);
  }
};
gates(document); document.addEventListener('maci-drawn', event => gates(event.target));
const whatif = document.getElementById('whatif');
if (whatif) {
  let asked = 0, waiting = 0;
  const mark = () => {
    const ids = new Set((document.getElementById('flips')?.dataset.ids ?? '').split(' '));
    for (const dot of document.querySelectorAll('.dot-arg')) dot.classList.toggle('flips', ids.has(dot.dataset.id));
  };
  const ask = async () => {
    clearTimeout(waiting); waiting = 0;
    const mine = ++asked, query = new URLSearchParams(new FormData(whatif)), answer = await fetch(`${location.pathname}?${query}&part=result`, { credentials: 'same-origin' }), text = await answer.text();
    if (mine !== asked) return;
    document.getElementById('whatif-result').innerHTML = text; history.replaceState(null, '', `?${query}`); mark();
  };
  // While a line is dragged the record is folded again several times a second: what is marked is what `maci replay --set` says.
  whatif.addEventListener('maci-dragged', () => { waiting ||= setTimeout(ask, 150); });
  whatif.addEventListener('change', ask); whatif.addEventListener('submit', event => { event.preventDefault(); ask(); });
  mark();
}
const inView = () => {
  const every = [...document.querySelectorAll('.at-round')];
  if (!every.length) return;
  const above = [...document.querySelectorAll('.thread details.round')].filter(round => round.getBoundingClientRect().top < innerHeight * .45);
  const read = above.filter(round => round.open && round.getBoundingClientRect().bottom > innerHeight * .2);
  // While a debate runs, nobody looks at folded rounds.
  const rounds = read.length || document.querySelector('#debate[data-live]') ? read : above;
  const id = rounds.at(-1)?.id.replace('round-0', 'round-1').replace('round-', ''), found = every.find(item => item.dataset.round === id);
  if (found) for (const item of every) item.hidden = item !== found;
};
addEventListener('scroll', inView, { passive: true }); document.addEventListener('maci-drawn', inView);
