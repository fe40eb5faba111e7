import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Api, Schema } from "./api/client";
import { data } from "./api/client";
import { useConnection, useLive } from "./live";
import { go, href, usePlace, type Place } from "./router";
import type { Session } from "./session";
import { explain } from "./ui/failure";
import { Glyph } from "./ui/glyph";
import { inUTC, seconds, time, zoneName } from "./ui/text";
import { Toasts } from "./ui/toast";
import { People } from "./views/people";
import { Person } from "./views/person";
import { Wave } from "./views/wave";
import { Waves } from "./views/waves";

interface Shared {
  api: Api;
  session: Session;
  me?: Schema<"Me">;
}

const SharedContext = createContext<Shared | null>(null);

/** What every view needs: the API and the signed-in user. */
export function useShared(): Shared {
  return useContext(SharedContext)!;
}

export function App({ api, session }: { api: Api; session: Session }) {
  const place = usePlace();
  const me = useLive(() => data(api.GET("/me")), [], 600_000);
  return (
    <SharedContext.Provider value={{ api, session, me: me.data }}>
      <a class="skip-link" href="#content">Skip to the content</a>
      <Top place={place} />
      <main id="content" tabIndex={-1}>
        <ConnectionNotice />
        <View place={place} />
      </main>
      <Toasts />
    </SharedContext.Provider>
  );
}

function View({ place }: { place: Place }) {
  const [view, id, part, member] = place.path;
  switch (view) {
    case "now":
    case "waves":
      if (id === undefined) return <Waves place={place} />;
      if (part === "people" && member !== undefined) return <Person key={`${id}/${member}`} batch={Number(id)} member={Number(member)} place={place} />;
      return <Wave key={id} id={Number(id)} place={place} />;
    case "people":
      return <People place={place} />;
  }
  return (
    <div class="empty">
      <h1>There is no view at this address</h1>
      <a href={href("waves")}>Show the waves</a>
    </div>
  );
}

const views = [["waves", "Waves"], ["people", "People"]] as const;

function Top({ place }: { place: Place }) {
  const { session, me } = useShared();
  return (
    <header class="top">
      <div class="brand-row">
        <a class="brand" href={href("waves")}>
          <svg viewBox="0 0 18 18" aria-hidden="true"><rect width="18" height="18" rx="4" fill="currentColor" /><path d="M4 9h10M10.5 6L14 9l-3.5 3" stroke="var(--sunken)" stroke-width="1.8" fill="none" /><circle cx="5" cy="9" r="2" fill="var(--sunken)" /></svg>
          matoolkit
        </a>
        <Search place={place} />
        <LiveMark />
        <Menu name={me?.name ?? session.userName} roles={me?.roles ?? []} session={session} />
      </div>
      <nav aria-label="Views">
        {views.map(([view, title]) => <a href={href(view)} aria-current={place.path[0] === view ? "page" : undefined}>{title}</a>)}
      </nav>
    </header>
  );
}

function Search({ place }: { place: Place }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test((e.target as Element).tagName)) return;
      e.preventDefault();
      input.current!.focus();
    };
    document.addEventListener("keydown", key);
    return () => document.removeEventListener("keydown", key);
  }, []);
  return (
    <form class="search" role="search" onSubmit={(e) => { e.preventDefault(); go(href("people", { q: input.current!.value.trim() })); }}>
      <Glyph sign="search" />
      <input ref={input} type="search" aria-label="Search people in all waves" placeholder="Search people"
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
  const { session } = useShared();
  if (!error) return null;
  const { text, action } = explain(error);
  return (
    <p class="notice fail" role="alert">
      {text}
      {action === "sign-in" && <button class="button small" onClick={() => session.signIn()}>Sign in</button>}
    </p>
  );
}

function Menu({ name, roles, session }: { name: string; roles: readonly string[]; session: Session }) {
  const [open, set] = useState(false);
  const initials = name.split(/[\s.@]+/).slice(0, 2).map((w) => w[0]?.toUpperCase()).join("");
  const theme = (value: string) => {
    value ? localStorage.setItem("theme", value) : localStorage.removeItem("theme");
    applyTheme();
  };
  return (
    <div class="menu" onKeyDown={(e) => e.key === "Escape" && set(false)}>
      <button aria-haspopup="true" aria-expanded={open} aria-label={`Account of ${name}`} onClick={() => set(!open)}>{initials}</button>
      {open && (
        <div>
          <div><b>{name}</b><span class="sub">{roles.length ? roles.join(", ") : "No app role: read only"}</span></div>
          <label class="field">Colours
            <select value={localStorage.getItem("theme") ?? ""} onChange={(e) => theme(e.currentTarget.value)}>
              <option value="">As the system has them</option><option value="light">Light</option><option value="dark">Dark</option>
            </select>
          </label>
          <a href="/api/console/licences.txt" target="_blank" rel="noreferrer">Licences</a>
          <button class="button" onClick={() => session.signOut()}>Sign out</button>
        </div>
      )}
    </div>
  );
}

export function applyTheme() {
  const theme = localStorage.getItem("theme");
  theme ? (document.documentElement.dataset.theme = theme) : delete document.documentElement.dataset.theme;
}
