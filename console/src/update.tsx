// Whether the handler now serves another console than this page is of.
import { useEffect, useState } from "preact/hooks";
import { useConnection } from "./live";
import { Glyph } from "./ui/glyph";

const every = 300_000;

/** The script of the console that the handler serves. */
async function served(): Promise<string | undefined> {
  const answer = await fetch("/api/console/", { cache: "no-cache" });
  return answer.ok ? /\/api\/console\/assets\/main-[^"]+\.js/.exec(await answer.text())?.[0] : undefined;
}

/** Loads the page anew, unless the handler is away: then this page is all there is. */
export const reloadPage = () => void fetch("/api/console/", { cache: "no-cache" }).then((answer) => { if (answer.ok) location.reload(); }, () => {});

const wanted = "matoolkit:look-for-update";

/** Looks now: the API has refused what this page asked for. */
export const lookForUpdate = () => dispatchEvent(new Event(wanted));

/**
 * Asks to reload once the handler was updated. It looks after each lost connection, when the page is
 * shown again, and every five minutes.
 */
export function UpdateNotice() {
  const { error } = useConnection();
  const [updated, set] = useState(false);
  const lost = error !== undefined;
  useEffect(() => {
    if (lost) return;
    const own = document.querySelector<HTMLScriptElement>("script[type=module]")?.src;
    const look = () => void served().then((name) => { if (name && own && !own.endsWith(name)) set(true); }, () => {});
    const timer = setInterval(look, every);
    const seen = () => { if (document.visibilityState === "visible") look(); };
    document.addEventListener("visibilitychange", seen);
    addEventListener(wanted, look);
    look();
    return () => {
      clearInterval(timer);
      removeEventListener(wanted, look);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [lost]);
  if (!updated) return null;
  return (
    <div class="notice" role="status">
      <Glyph sign="warning" />
      <span class="wrap">The console was updated. Reload the page for the new version: what you typed stays.</span>
      <button class="button small" onClick={reloadPage}>Reload</button>
    </div>
  );
}
