// Follows a debate: lines of the log as they come, panels as they change. Pages are whole without it.
const root = document.getElementById('debate');

const rounds = () => [...document.querySelectorAll('#rounds details.round')];

// A round is shown to who looks at the newest as soon as its first turn is in; the judged one stays open until then. Who reads an
// earlier one keeps it, and is told where the newest is. Of several that arrive at once the last is shown.
const said = round => !!round.querySelector('.argument');
const put = (id, html) => {
  let place = document.getElementById(id);
  const isRound = id.startsWith('p-round-'), before = isRound ? rounds() : [], open = before.filter(round => round.open), spoken = before.filter(said);
  const follows = isRound && (open.length === 0 || (open.length === 1 && open[0] === (spoken.at(-1) ?? before.at(-1))));
  const was = place && isRound && said(place);
  if (!place && isRound) {
    place = document.createElement('div');
    place.id = id;
    document.getElementById('rounds').append(place);
  }
  if (!place) return;
  const fates = new Map([...place.querySelectorAll('.argument')].map(card => [card.id, card.dataset.fate]));
  const kept = new Map([...place.querySelectorAll('details[id]')].map(d => [d.id, d.open]));
  const focused = place.contains(document.activeElement) ? document.activeElement.closest('[id]')?.id : null;
  const shape = document.createElement('template');
  shape.innerHTML = html;
  const round = isRound ? shape.content.querySelector('details.round') : null, first = round && said(round) && !was;
  if (round) round.open = false;
  place.replaceChildren(shape.content);
  for (const [name, state] of kept) { const d = document.getElementById(name); if (d) d.open = state; }
  if (isRound && root.dataset.live) for (const card of place.querySelectorAll('.argument')) {
    if (fates.get(card.id) !== card.dataset.fate) card.classList.add(fates.has(card.id) ? 'judged' : 'arrived'); // seen once
  }
  if (first && follows) for (const other of rounds()) other.open = other === round;
  if (focused) { const again = document.getElementById(focused); (again?.querySelector('summary') ?? again)?.focus(); }
  place.dispatchEvent(new Event('maci-drawn', { bubbles: true }));
};

const newest = document.getElementById('newest');
const pointTo = () => {
  const last = rounds().filter(said).at(-1);
  newest.hidden = !last || last.open;
  if (newest.hidden) return;
  newest.firstChild.href = `#${last.id}`;
  newest.firstChild.textContent = `${last.dataset.name} is under way →`;
};

// The words agents are given at the place of the slider, and the arc with it.
const told = cl => {
  const near = [...document.querySelectorAll('#stances li')].sort((a, b) => Math.abs(a.dataset.cl - cl) - Math.abs(b.dataset.cl - cl) || a.dataset.cl - b.dataset.cl)[0];
  for (const part of document.querySelectorAll('#p-dials .at-round:not([hidden])')) {
    const angle = Math.PI * (1 - cl), x = 70 + 56 * Math.cos(angle), y = 66 - 56 * Math.sin(angle);
    const words = part.querySelector('.told'); // readers are told nothing
    if (near && words) words.textContent = near.textContent;
    part.querySelector('.arc-value').textContent = cl.toFixed(2);
    part.querySelector('.arc-done').setAttribute('d', `M14,66A56,56 0 0 1 ${x},${y}`);
    part.querySelector('.arc circle').setAttribute('cx', x); part.querySelector('.arc circle').setAttribute('cy', y);
  }
};

const dials = () => {
  const now = document.querySelector('#p-dials [data-cl]');
  if (!now) return;
  for (const slider of document.querySelectorAll('#dial-form input[data-dial]')) {
    const name = slider.dataset.dial, held = document.getElementById(`${name}-on`).checked;
    const value = { cl: now.dataset.cl, tau_q: now.dataset.tauQ, tau_crit: now.dataset.tauCrit }[name];
    if (!held && value !== undefined) { slider.value = value; slider.nextElementSibling.textContent = (+value).toFixed(2); }
  }
};

if (root) {
  for (const slider of root.querySelectorAll('#dial-form input[data-dial]')) {
    slider.addEventListener('input', () => {
      document.getElementById(`${slider.dataset.dial}-on`).checked = true;
      slider.nextElementSibling.textContent = (+slider.value).toFixed(2);
      if (slider.dataset.dial === 'cl') told(+slider.value);
    });
  }
  const by = document.getElementById('by');
  if (by) {
    try { by.value ||= localStorage.getItem('maci-by') ?? ''; } catch { /* no storage */ }
    by.addEventListener('change', () => { try { localStorage.setItem('maci-by', by.value); } catch { /* no storage */ } });
  }
}

// When a debate ends or somebody steers it, its page is loaded again; what was unfolded stays so.
const place = `maci-open ${location.pathname}`;
const keepOpen = () => {
  try { sessionStorage.setItem(place, JSON.stringify([...document.querySelectorAll('details[id][open]')].map(d => d.id))); } catch { /* no storage */ }
};
if (root) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(place) ?? '[]');
    if (kept.length) for (const round of rounds()) round.open = false;
    for (const id of kept) { const d = document.getElementById(id); if (d) d.open = true; }
    sessionStorage.removeItem(place);
  } catch { /* no storage */ }
}

if (root?.dataset.live) {
  let last = +root.dataset.last;
  const log = document.getElementById('log'), count = document.getElementById('log-count');
  pointTo();
  document.addEventListener('toggle', pointTo, true);
  document.addEventListener('submit', post);
  setInterval(tick, 1000);
  tick();
  newest.firstChild.addEventListener('click', event => {
    event.preventDefault();
    const every = rounds(), last = every.filter(said).at(-1) ?? every.at(-1);
    for (const round of every) round.open = round === last;
    last.scrollIntoView();
    last.querySelector('summary').focus();
  });
  const stream = new EventSource(`${root.dataset.events}?after=${last}`);
  stream.addEventListener('open', () => { delete root.dataset.lost; });
  stream.addEventListener('error', () => { root.dataset.lost = 'yes'; });
  stream.addEventListener('line', event => {
    const { seq, html } = JSON.parse(event.data);
    if (seq <= last) return;
    last = seq;
    root.dataset.last = seq;
    const bottom = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    log.insertAdjacentHTML('beforeend', html);
    count.textContent = `(${seq})`;
    if (bottom) log.scrollTop = log.scrollHeight;
  });
  stream.addEventListener('panels', event => {
    const panels = JSON.parse(event.data), state = panels['p-state'];
    for (const [id, html] of Object.entries(panels)) put(id, html);
    dials();
    tick();
    pointTo();
    if (state !== undefined || 'p-question' in panels) refreshControls();
  });
  stream.addEventListener('end', () => {
    stream.close();
    document.removeEventListener('toggle', pointTo, true);
    newest.hidden = true;
    if (document.activeElement?.closest('form') && !document.activeElement.closest('#controls')) { refreshControls(); return; }
    keepOpen();
    location.replace(location.pathname);
  });
}

// Which buttons there are depends on the visitor's own page, so they are fetched, not broadcast.
async function refreshControls() {
  const place = document.getElementById('controls');
  const answer = await fetch(`${location.pathname}/controls`, { credentials: 'same-origin' });
  if (!answer.ok) return;
  const focused = place.contains(document.activeElement), shape = document.createElement('template');
  shape.innerHTML = await answer.text();
  place.replaceChildren(shape.content);
  if (focused) place.querySelector('button, a')?.focus();
  if (!place.querySelector('#do-stop')) document.getElementById('by-hand')?.remove();
}

// What a person does is sent without loading the page again: nothing jumps, and what was unfolded stays so.
async function post(event) {
  const form = event.target, notice = document.getElementById('notice');
  keepOpen();
  const target = form.getAttribute('action') ?? ''; // a field of ours is named action
  if (!target.endsWith('/hand') || !notice) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  const answer = await fetch(target, { method: 'POST', body, credentials: 'same-origin' }).catch(() => null);
  if (!answer?.ok) { form.submit(); return; }
  const shape = new DOMParser().parseFromString(await answer.text(), 'text/html');
  notice.textContent = shape.getElementById('notice')?.textContent ?? '';
  if (form.id === 'dial-form') form.querySelector('.done').textContent = notice.textContent;
  const mine = document.getElementById('do-release'), theirs = shape.getElementById('do-release');
  if (mine && !theirs) mine.remove();
  if (!mine && theirs) document.getElementById('do-dials')?.after(theirs);
  for (const tick of form.querySelectorAll('input[type=checkbox]')) tick.checked = false;
  if (form.closest('#controls')) refreshControls();
}

function minutes(seconds) { const whole = Math.round(seconds); return whole < 90 ? `${whole} s` : `${Math.round(whole / 60)} min`; }
function tick() {
  const place = document.querySelector('#p-now [data-since]');
  if (!place) return;
  const passed = (Date.now() - Date.parse(place.dataset.since)) / 1000, closed = +place.dataset.closed, left = +place.dataset.left;
  if (!(passed >= 0) || passed > 86400) return;
  place.textContent = ` · ${minutes(passed)} so far` + (closed && left ? `, at most about ${minutes(passed / closed * left)} more` : '');
}

// A list with debates under way is fetched again from time to time; what is ticked stays so.
const list = document.getElementById('debates');
if (list?.dataset.live) {
  const again = async () => {
    const answer = await fetch(location.href, { credentials: 'same-origin' }).catch(() => null);
    const fresh = answer?.ok && new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('debates');
    for (const row of fresh ? fresh.querySelectorAll('tr[data-id]') : []) {
      const mine = [...list.querySelectorAll('tr[data-id]')].find(other => other.dataset.id === row.dataset.id);
      if (!mine || mine.contains(document.activeElement)) continue;
      for (let i = 1; i < row.cells.length; i++) if (mine.cells[i].innerHTML !== row.cells[i].innerHTML) mine.cells[i].replaceWith(row.cells[i].cloneNode(true));
    }
    if (!fresh || fresh.dataset.live) setTimeout(again, 3000);
  };
  setTimeout(again, 3000);
}
