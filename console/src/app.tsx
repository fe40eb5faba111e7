import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Api } from "./api/client";
import { data } from "./api/client";
import { lazy } from "./lazy";
import { useConnection, useLive } from "./live";
import { go, href, usePlace, type Place } from "./router";
import type { Session } from "./session";
import { SharedContext, useShared } from "./shared";
import { Dialog } from "./ui/dialog";
import { ErrorBanner, Failure } from "./ui/failure";
import { CheckField, SelectField } from "./ui/fields";
import { Glyph } from "./ui/glyph";
import { keysOn, switchKeys, useKeys } from "./ui/keys";
import { inUTC, seconds, time, zoneName } from "./ui/text";
import { toastError, Toasts } from "./ui/toast";
import { lookForUpdate, reloadPage, UpdateNotice } from "./update";
import { NewWave } from "./views/newwave";
import { Now } from "./views/now";
import { People } from "./views/people";
import { Person } from "./views/person";
import { Wave } from "./views/wave";
import { Waves } from "./views/waves";

// Views that are fetched when they are opened first.
const Runbooks = lazy(() => import("./runbooks/view").then((m) => m.Runbooks));
const Sources = lazy(() => import("./sources/view").then((m) => m.Sources));
const Workers = lazy(() => import("./workers/view").then((m) => m.Workers));
const Activity = lazy(() => import("./activity/view").then((m) => m.Activity));
const Scaler = lazy(() => import("./scaler/view").then((m) => m.Scaler));
const Rehearsal = lazy(() => import("./rehearsal/view").then((m) => m.Rehearsal));
const Notifications = lazy(() => import("./notifications/view").then((m) => m.Notifications));

/** The view of an address: its first segment names the view, the further ones what it shows. */
function View({ place }: { place: Place }) {
  const [view, id, part, member] = place.path;
  switch (view) {
    case "now":
      return <Now place={place} />;
    case "waves":
      if (id === undefined) return <Waves place={place} />;
      if (id === "new") return <NewWave place={place} />;
      if (part === "people" && member !== undefined) return <Person key={`${id}/${member}`} batch={Number(id)} member={Number(member)} place={place} />;
      return <Wave key={id} id={Number(id)} place={place} />;
    case "people":
      return <People place={place} />;
    case "runbooks":
      return <Runbooks place={place} />;
    case "sources":
      return <Sources place={place} />;
    case "workers":
      return <Workers place={place} />;
    case "activity":
      return <Activity place={place} />;
    case "containers":
      return <Scaler />;
    case "rehearsal":
      return <Rehearsal />;
    case "notifications":
      return <Notifications place={place} />;
  }
  return (
    <div class="empty">
      <h1>There is no view at this address</h1>
      <a href={href("now")}>Show what happens now</a>
    </div>
  );
}

/** The view of an address. One that cannot be drawn leaves the others: the API can be newer than this page. */
function Guarded({ place }: { place: Place }) {
  const [error, reset] = useErrorBoundary(() => void lookForUpdate());
  useEffect(() => { if (error) reset(); }, [place]);
  return error ? <Failure title="This view cannot be shown" error={`${error}. Reload the page; if that does not help, report this text.`} retry={reloadPage} verb="Reload" /> : <View place={place} />;
}

// The views of the header, with the key that follows g.
const views = [
  ["now", "Now", "n"], ["waves", "Waves", "w"], ["people", "People", "p"], ["runbooks", "Runbooks", "r"], ["sources", "Sources", "s"],
  ["workers", "Workers", "k"], ["activity", "Activity", "a"], ["notifications", "Notifications", "o"],
] as const;

export function App({ api, session }: { api: Api; session: Session }) {
  const place = usePlace();
  const me = useLive(() => data(api.GET("/me")), [], 600_000);
  const scaler = useLive(() => data(api.GET("/scaler")), [], 600_000);
  const summary = useLive(() => data(api.GET("/summary")), [], 1500);
  useFocusOnArrival(place);
  return (
    <SharedContext.Provider value={{ api, session, me: me.data, summary }}>
      <a class="skip-link" href="#content">Skip to the content</a>
      <Top place={place} containers={scaler.data?.configured ?? false} />
      <main id="content" tabIndex={-1}>
        <ConnectionNotice />
        <UpdateNotice />
        <Guarded place={place} />
      </main>
      <Toasts />
      <Shortcuts />
    </SharedContext.Provider>
  );
}

/** Moves the focus to the view after a step to another one, for those who use keys or cannot see the change. */
function useFocusOnArrival({ path }: Place) {
  const at = path.join("/");
  const before = useRef(at);
  useLayoutEffect(() => {
    if (at === before.current) return;
    before.current = at;
    document.getElementById("content")!.focus({ preventScroll: true });
  }, [at]);
}

/** The header. The view of containers is among the views if the container scaler is configured. */
function Top({ place, containers }: { place: Place; containers: boolean }) {
  const { session, me, summary } = useShared();
  const attention = summary.data?.attention ?? [];
  const counts: Partial<Record<string, number>> = {
    now: attention.length,
    sources: attention.filter((a) => ["source_failing", "removals_held", "additions_held"].includes(a.event)).length,
    workers: attention.filter((a) => a.event === "worker_silent").length,
    activity: attention.filter((a) => a.event === "message_unprocessable").length,
  };
  const lost = attention.filter((a) => a.event === "containers_lost").length;
  return (
    <header class="top">
      <div class="brand-row">
        <a class="brand" href={href("now")}>
          <svg viewBox="0 0 18 18" aria-hidden="true"><rect width="18" height="18" rx="4" fill="currentColor" /><path d="M4 9h10M10.5 6L14 9l-3.5 3" stroke="var(--sunken)" stroke-width="1.8" fill="none" /><circle cx="5" cy="9" r="2" fill="var(--sunken)" /></svg>
          matoolkit
        </a>
        <Search place={place} />
        <LiveMark />
        <Menu name={me?.name ?? session.userName} roles={me?.roles ?? []} session={session} />
      </div>
      <nav aria-label="Views">
        {views.map(([view, title]) => (
          <a key={view} href={href(view)} aria-current={place.path[0] === view ? "page" : undefined}>
            {title}{counts[view] ? <span class={`count ${view === "now" ? "" : "warn"}`}>{counts[view]}</span> : null}
          </a>
        ))}
        {containers && (
          <a href={href("containers")} aria-current={place.path[0] === "containers" ? "page" : undefined}>
            Containers{lost ? <span class="count warn">{lost}</span> : null}
          </a>
        )}
      </nav>
    </header>
  );
}

function Search({ place }: { place: Place }) {
  const input = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => input.current!.focus() });
  return (
    <form class="search" role="search" onSubmit={(e) => { e.preventDefault(); go(href("people", { q: input.current!.value.trim() })); }}>
      <Glyph sign="search" />
      <input ref={input} type="search" aria-label="Search people in all waves" placeholder="Search people in all waves"
        defaultValue={place.path[0] === "people" ? place.query.get("q") ?? "" : ""} />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

function LiveMark() {
  const { at, error } = useConnection();
  const [now, tick] = useState(new Date());
  useEffect(() => {
    const timer = setInterval(() => tick(new Date()), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <span class={`live ${error ? "lost" : ""}`}><i aria-hidden="true" />{error ? (at ? `Last update ${seconds(at)}` : "Not connected") : "Live"}</span>
      <span class="clock"><b>{time(now)}</b> {zoneName()} · {inUTC(now)}</span>
    </>
  );
}

function ConnectionNotice() {
  const { error } = useConnection();
  return error ? <ErrorBanner error={error} /> : null;
}

function Menu({ name, roles, session }: { name: string; roles: readonly string[]; session: Session }) {
  const [open, set] = useState(false);
  const [, changed] = useState(0);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const outside = (e: Event) => { if (!root.current!.contains(e.target as Node)) set(false); };
    document.addEventListener("click", outside);
    return () => document.removeEventListener("click", outside);
  }, []);
  const close = () => {
    set(false);
    root.current!.querySelector("button")!.focus();
  };
  const initials = name.split(/[\s.@]+/).slice(0, 2).map((w) => w[0]?.toUpperCase()).join("");
  const theme = (value: string) => {
    value ? localStorage.setItem("theme", value) : localStorage.removeItem("theme");
    applyTheme();
    changed((n) => n + 1);
  };
  return (
    <div class="menu" ref={root} onKeyDown={(e) => { if (e.key === "Escape" && open) close(); }} onFocusOut={(e) => { if (e.relatedTarget && !root.current!.contains(e.relatedTarget as Node)) set(false); }}>
      <button type="button" aria-expanded={open} aria-label={`${initials}, the account of ${name}`} onClick={() => set(!open)}>{initials}</button>
      {open && (
        <div>
          <div><b>{name}</b><span class="sub">{roles.length ? roles.join(", ") : "No app role: you may read"}</span></div>
          <SelectField label="Colours" value={localStorage.getItem("theme") ?? ""} onValue={theme} options={[["", "As the system has them"], ["light", "Light"], ["dark", "Dark"]]} />
          <CheckField label="Single-key shortcuts" checked={keysOn()} onValue={(on) => { switchKeys(on); changed((n) => n + 1); }} />
          <a href="/api/console/licences.txt" target="_blank" rel="noreferrer">Licences</a>
          <button class="button" onClick={() => session.signOut().catch(toastError)}>Sign out</button>
        </div>
      )}
    </div>
  );
}

/** The keys that work everywhere, and their list. */
function Shortcuts() {
  const [open, set] = useState(false);
  useKeys({ ...Object.fromEntries(views.map(([view, , key]) => [`g ${key}`, () => go(href(view))])), "?": () => set(true) });
  if (!open) return null;
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => set(false)}>
      <dl class="keys">
        {[["/", "Search people in all waves"], ...views.map(([, title, key]) => [`g ${key}`, title]), ["j k", "Next and previous row"], ["Enter", "Open the row"], ["x", "Select the row"], ["a", "Advance the wave"], ["Esc", "Close"], ["?", "This list"]]
          .map(([keys, what]) => <div key={keys}><dt>{keys!.split(" ").map((k) => <kbd key={k}>{k}</kbd>)}</dt><dd>{what}</dd></div>)}
      </dl>
      <div class="buttons"><button class="button" onClick={() => set(false)}>Close</button></div>
    </Dialog>
  );
}

export function applyTheme() {
  const theme = localStorage.getItem("theme");
  theme ? (document.documentElement.dataset.theme = theme) : delete document.documentElement.dataset.theme;
}
