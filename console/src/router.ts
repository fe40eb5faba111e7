// Addresses below /api/console/. Views push, filters replace the entry of the history.
import { useEffect, useState } from "preact/hooks";

const base = "/api/console/";

export interface Place {
  /** The segments of the path, decoded: ["waves", "7"]. */
  path: string[];
  query: URLSearchParams;
  hash: string;
}

/** A part of an address, decoded; as it is if it was written by hand and cannot be decoded. */
function decoded(part: string) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function place(): Place {
  const path = location.pathname.slice(base.length).split("/").filter(Boolean).map(decoded);
  return { path: path.length ? path : ["now"], query: new URLSearchParams(location.search), hash: decoded(location.hash.slice(1)) };
}

const moved = "matoolkit:moved";

/** The address of a view: href("waves", 7, { people: "failed" }). */
export function href(...parts: (string | number | Record<string, string | number | undefined>)[]): string {
  const query = new URLSearchParams();
  const path: string[] = [];
  for (const part of parts) {
    if (typeof part === "object") {
      for (const [name, value] of Object.entries(part)) if (value !== undefined && value !== "") query.set(name, String(value));
    } else path.push(encodeURIComponent(part));
  }
  const search = query.toString();
  return base + path.join("/") + (search && `?${search}`);
}

export function go(address: string, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  if (!replace) scrollTo(0, 0);
  dispatchEvent(new Event(moved));
}

/** Changes parameters of the query, without a new entry in the history. */
export function setQuery(change: Record<string, string | undefined>) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(change)) value ? query.set(name, value) : query.delete(name);
  const search = query.toString();
  go(location.pathname + (search && `?${search}`), true);
}

export function usePlace(): Place {
  const [now, set] = useState(place);
  useEffect(() => {
    const update = () => set(place());
    // A link of the console does not load the page again.
    const click = (e: MouseEvent) => {
      const link = (e.target as Element).closest?.("a[href]") as HTMLAnchorElement | null;
      const plain = e.button === 0 && !e.ctrlKey && !e.metaKey && !e.shiftKey && !e.altKey;
      if (!link || !plain || e.defaultPrevented || link.target || link.download || link.origin !== location.origin || !link.pathname.startsWith(base) || link.getAttribute("href")!.startsWith("#") || link.pathname.endsWith(".txt")) return;
      e.preventDefault();
      go(link.href);
    };
    addEventListener("popstate", update);
    addEventListener(moved, update);
    document.addEventListener("click", click);
    return () => {
      removeEventListener("popstate", update);
      removeEventListener(moved, update);
      document.removeEventListener("click", click);
    };
  }, []);
  return now;
}
