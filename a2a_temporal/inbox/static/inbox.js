// Keys, live updates, drafts, local times. Everything works without it, only less comfortably.
"use strict";
(() => {
  const main = document.getElementById("main");
  const page = main.dataset.page;
  const say = (text) => { document.getElementById("announcer").textContent = text; };

  // ------------------------------------------------------------------- times
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  function relative(at) {
    const seconds = (at - Date.now()) / 1000;
    for (const [name, length] of units) {
      const amount = Math.floor(Math.abs(seconds) / length);
      if (amount) {
        const text = `${amount} ${name}${amount > 1 ? "s" : ""}`;
        return seconds > 0 ? `in ${text}` : `${text} ago`;
      }
    }
    return seconds > 0 ? "in less than a minute" : "just now";
  }
  const absolute = new Intl.DateTimeFormat("en-GB", {
    weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit",
    timeZoneName: "short",
  });
  function showTimes() {
    for (const each of document.querySelectorAll("time[datetime]")) {
      const at = new Date(each.dateTime);
      if (Number.isNaN(at.valueOf())) continue;
      if ("absolute" in each.dataset) { each.textContent = absolute.format(at); continue; }
      const word = each.dataset.word;
      const left = at - Date.now();
      each.textContent = word && left < 0 ? `overdue, ${relative(at)}` : `${word ? word + " " : ""}${relative(at)}`;
      each.title = absolute.format(at);
      each.classList.toggle("soon", Boolean(word) && left < 3600e3);
    }
  }

  // ------------------------------------------------------------------ drafts
  const draftKey = (form) => `draft ${location.pathname} ${form.dataset.draft}`;
  const fields = (form) => [...form.elements].filter(
    (each) => each.name && each.type !== "hidden" && each.type !== "submit");
  const valueOf = (each) => (each.type === "checkbox" ? String(each.checked) : each.value);
  const isDirty = (form) => fields(form).some((each) => each.dataset.first !== valueOf(each));
  const forms = () => [...document.querySelectorAll("form[data-draft]")];

  function prepareForms() {
    for (const form of forms()) {
      for (const each of fields(form)) {
        if (each.dataset.first === undefined) each.dataset.first = valueOf(each);
      }
      let draft = null;
      try { draft = JSON.parse(sessionStorage.getItem(draftKey(form))); } catch { /* none */ }
      if (draft && !("typed" in form.dataset)) restore(form, draft);
    }
  }
  function restore(form, draft) {
    for (const each of fields(form)) {
      if (!(each.name in draft) || valueOf(each) === draft[each.name]) continue;
      if (each.type === "checkbox") each.checked = draft[each.name] === "true";
      else each.value = draft[each.name];
      const panel = each.closest("details");
      if (panel) panel.open = true;
    }
  }
  function forgetDrafts(prefix) {
    for (const key of Object.keys(sessionStorage)) {
      if (key.startsWith(prefix)) sessionStorage.removeItem(key);
    }
  }
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form || !("draft" in form.dataset)) return;
    const draft = Object.fromEntries(fields(form).map((each) => [each.name, valueOf(each)]));
    sessionStorage.setItem(draftKey(form), JSON.stringify(draft));
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if ("signOut" in form.dataset) forgetDrafts("draft ");
    if (form.dataset.sending) { event.preventDefault(); return; }
    form.dataset.sending = "1";
    setTimeout(() => { delete form.dataset.sending; }, 8000);
  });
  addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sending; });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-undo]");
    if (!link) return;
    // Only the details go back to what was asked; the comment stays.
    const key = draftKey(link.closest("form"));
    const comment = link.closest("form").elements.comment;
    sessionStorage.setItem(key, JSON.stringify(comment ? { comment: comment.value } : {}));
  });
  if ("sent" in main.dataset) forgetDrafts(`draft ${location.pathname} `);

  // -------------------------------------------------------------------- live
  async function look() {
    const watched = main.dataset.watch;
    if (!watched || document.hidden) return;
    const answer = await fetch(watched, { headers: { "X-Live": "1" }, credentials: "same-origin" });
    if (answer.status === 401) { say("You are signed out. What you typed is kept."); return; }
    if (!answer.ok) return;
    const version = await answer.text();
    if (version && version !== main.dataset.version) await refresh();
  }
  async function refresh() {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const next = fresh.getElementById("main");
    if (!next || next.dataset.page !== page) return;
    const typing = forms().some(isDirty);
    if (next.dataset.forms !== main.dataset.forms && !typing) {
      main.replaceChildren(...next.childNodes);
      main.dataset.forms = next.dataset.forms;
      say("This page was updated.");
    } else {
      const focused = document.activeElement && document.activeElement.getAttribute("href");
      for (const region of document.querySelectorAll("[data-live]")) {
        const other = next.querySelector(`[data-live="${region.dataset.live}"]`);
        if (other && other.innerHTML !== region.innerHTML) region.replaceChildren(...other.childNodes);
      }
      if (focused) {
        const again = [...document.querySelectorAll("a[href]")].find((each) => each.getAttribute("href") === focused);
        if (again && document.activeElement === document.body) again.focus();
      }
      if (next.dataset.forms !== main.dataset.forms) changedMeanwhile();
    }
    main.dataset.version = next.dataset.version;
    document.title = fresh.title;
    prepareForms();
    showTimes();
  }
  function changedMeanwhile() {
    const text = "This request was answered or changed while you were writing. Your text is kept: copy it, or load the page again.";
    if (!document.querySelector("[data-meanwhile]")) {
      const notice = document.createElement("div");
      notice.className = "notice wait";
      notice.dataset.meanwhile = "";
      notice.append(Object.assign(document.createElement("p"), { textContent: text }));
      document.querySelector(".primary-column").prepend(notice);
    }
    say(text);
  }

  // -------------------------------------------------------------------- keys
  const rows = () => [...document.querySelectorAll("a.row")];
  function move(step) {
    const all = rows();
    const at = all.indexOf(document.activeElement);
    const next = all[Math.max(0, Math.min(all.length - 1, at + step))];
    if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
  }
  function press(key) {
    const target = document.querySelector(`[data-key="${key}"]`);
    if (!target) return false;
    if (target.tagName === "A") target.click();
    else { target.focus(); target.scrollIntoView({ block: "center" }); }
    return true;
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const writing = event.target.matches("input:not([type=checkbox]), textarea, select");
    if (writing) { if (event.key === "Escape") event.target.blur(); return; }
    const row = event.target.matches && event.target.matches("a.row") ? event.target : rows()[0];
    if (page === "list" && event.key === "j") move(1);
    else if (page === "list" && event.key === "k") move(-1);
    else if (page === "list" && row && (event.key === "a" || event.key === "r")) location.href = `${row.href}#${event.key}`;
    else if (page === "task" && "arcu".includes(event.key) && press(event.key)) { /* done */ }
    else return;
    event.preventDefault();
  });

  prepareForms();
  showTimes();
  setInterval(showTimes, 30e3);
  if (page) {
    const every = () => look().catch(() => {});
    setInterval(every, 3000);
    document.addEventListener("visibilitychange", every);
  }
  if ("retry" in main.dataset) setTimeout(() => location.reload(), 5000);
  if (page === "task" && /^#[ar]$/.test(location.hash)) press(location.hash[1]);
  else { const first = document.querySelector("[data-focus]"); if (first) first.focus(); }
})();
