// Keeps the page as things are: when the sidecar tells of a change, the page is fetched again and its
// content put in the old one's place. Ages count on; what is not fresh says so.
'use strict';
(function () {
	const link = document.getElementById('link');
	const pause = 200, limit = 5000;
	let last = Date.now(), fetching = false, again = false, timer = null, open = false, confirmed = true, unseen = false;

	function age(ms) {
		const s = Math.max(0, Math.floor(ms / 1000));
		const units = [[86400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']];
		for (let i = 0; i < units.length; i++) {
			const [size, unit] = units[i];
			if (s < size && size > 1) continue;
			const n = Math.floor(s / size), rest = units[i + 1];
			const more = rest && n < 10 ? Math.floor((s % size) / rest[0]) : 0;
			return n + unit + (more ? more + rest[1] : '');
		}
	}

	function ages() {
		const now = Date.now();
		for (const t of document.querySelectorAll('time:not(.at)')) {
			const at = Date.parse(t.dateTime);
			if (!t.title) t.title = t.dateTime;
			if (!isNaN(at)) t.textContent = at > now ? 'in ' + age(at - now) : age(now - at);
		}
		const fresh = open && confirmed;
		document.body.classList.toggle('stale', !fresh);
		link.classList.toggle('lost', !fresh);
		const text = fresh ? 'live' : (open ? 'no confirmed session' : 'connection lost') +
			': last known, ' + age(now - last) + ' ago';
		if (link.textContent !== text) link.textContent = text;
	}

	function search() {
		const box = document.getElementById('search');
		if (!box) return;
		const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
		let shown = 0, all = 0;
		for (const row of document.querySelectorAll('#tasks tbody tr')) {
			const text = (row.cells[0].textContent + ' ' + row.cells[1].textContent).toLowerCase();
			row.hidden = !words.every((w) => text.includes(w));
			all++;
			if (!row.hidden) shown++;
		}
		const found = document.getElementById('found');
		if (found.dataset.served === undefined) found.dataset.served = found.textContent;
		found.textContent = words.length ? shown + ' of ' + all : found.dataset.served;
	}

	// What is typed is kept in the address, for a reload or a colleague; the page itself is fetched
	// without it, as each letter shows and hides what is there.
	function address(typed) {
		const url = new URL(location);
		if (typed) url.searchParams.set('q', typed);
		else url.searchParams.delete('q');
		return url;
	}

	function typed() {
		history.replaceState(null, '', address(document.getElementById('search').value));
		search();
	}

	function begin() {
		const box = document.querySelector('main input[name=q]');
		if (box) {
			box.id = 'search';
			box.addEventListener('input', typed);
		}
		ages();
		if (document.getElementById('again')) setTimeout(soon, 1000);
	}

	// The element with the focus is found again by its link or its id.
	function replace(text) {
		const page = new DOMParser().parseFromString(text, 'text/html');
		const fresh = page.getElementById('main'), old = document.getElementById('main');
		if (!fresh || !old) return;
		const controls = [...old.querySelectorAll('form [name]')].map((e) => [e.name, e.value]);
		const active = document.activeElement;
		const href = active && active.getAttribute('href'), label = active && active.getAttribute('aria-label');
		const name = active && active.name;
		const place = active && active.id === 'search' ? active.selectionStart : null;
		const left = [...old.querySelectorAll('.scroll')].map((e) => e.scrollLeft);
		old.replaceWith(document.adoptNode(fresh));
		for (const [name, value] of controls) {
			const e = document.querySelector('form [name=' + name + ']');
			if (e) e.value = value;
		}
		begin();
		[...document.querySelectorAll('.scroll')].forEach((e, i) => { e.scrollLeft = left[i] || 0; });
		const again = document.getElementById('search');
		search();
		if (place !== null && again) {
			again.focus();
			again.setSelectionRange(place, place);
		} else if (href || label || name) {
			for (const e of document.querySelectorAll('main a, main [tabindex], main [name]'))
				if (href ? e.getAttribute('href') === href : label ? e.getAttribute('aria-label') === label : e.name === name) {
					e.focus({ preventScroll: true });
					break;
				}
		}
	}

	// A page that nobody sees asks for nothing; it is fetched as soon as it is seen.
	async function refresh() {
		timer = null;
		if (document.hidden) { unseen = true; return; }
		// A menu that is open would close.
		if (document.activeElement && document.activeElement.tagName === 'SELECT') { setTimeout(soon, 1000); return; }
		unseen = false;
		if (fetching) { again = true; return; }
		fetching = true;
		try {
			const stop = new AbortController();
			const late = setTimeout(() => stop.abort(), limit);
			const answer = await fetch(document.getElementById('search') ? address('') : location.href, { signal: stop.signal, cache: 'no-store' });
			const text = await answer.text();
			clearTimeout(late);
			if (answer.ok) {
				last = Date.now();
				replace(text);
			} else if (answer.status === 401) {
				location.reload();
			}
		} catch (e) {
			// The stream says that the connection is lost.
		}
		fetching = false;
		if (again) { again = false; soon(); }
	}

	function soon() {
		if (timer === null) timer = setTimeout(refresh, pause);
	}

	function listen() {
		const events = new EventSource('/v1/events');
		events.onopen = () => { open = true; soon(); ages(); };
		events.onerror = () => {
			open = false;
			ages();
			if (events.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
		};
		for (const kind of ['leadership', 'membership', 'decision', 'run'])
			events.addEventListener(kind, soon);
		events.addEventListener('connection', (e) => {
			confirmed = JSON.parse(e.data).confirmed;
			if (confirmed) last = Date.now();
			soon();
			ages();
		});
	}

	document.addEventListener('keydown', (e) => {
		const box = document.getElementById('search');
		if (e.key === '/' && box && document.activeElement !== box && !e.ctrlKey && !e.metaKey && !e.altKey) {
			e.preventDefault();
			box.focus();
		} else if (e.key === 'Escape' && box && document.activeElement === box) {
			box.value = '';
			typed();
		}
	});
	document.addEventListener('click', (e) => {
		const link = e.target.closest('main a'), box = document.getElementById('search');
		if (!link || !box || !box.value || link.pathname !== '/' || !link.search) return;
		const url = new URL(link.href);
		url.searchParams.set('q', box.value);
		link.href = url;
	});
	setInterval(ages, 1000);
	setInterval(() => { if (open && confirmed) { last = Date.now(); } }, 1000);
	setInterval(soon, 30000);
	// Nobody tells of what comes and goes in a queue, and counting it costs ZooKeeper some reads.
	setInterval(() => { if (document.querySelector('#queues, #queue')) soon(); }, 5000);
	document.addEventListener('visibilitychange', () => { if (!document.hidden && unseen) soon(); });
	begin();
	listen();
})();
