// Lists that are read page by page. Pages that are on the screen are kept up to date; the others wait until
// they are scrolled to.
import { useMemo, useRef, useState } from "preact/hooks";
import { sameValues, useRepeated } from "../live";

const none: Loaded<never>[] = [];

/** What keeps rows where they are: the pointer above them, or the focus in them. */
export type Holder = "pointer" | "focus";

export interface Page<T> {
  items: T[];
  continuationToken?: string;
}

interface Loaded<T> {
  /** The token that the page was read with; none for the first. */
  from?: string;
  items: T[];
  next?: string;
}

export interface Pages<T> {
  items: T[];
  /** Whether the first page is there. */
  loaded: boolean;
  error?: Error;
  /** Whether the list goes on behind items. */
  more: boolean;
  /** Tells which items are on the screen: their pages are read anew, and the next one near the end. */
  show(first: number, last: number): void;
  /** While someone holds it, changed rows stay where they are; new ones wait. */
  hold(by: Holder, on: boolean): void;
  /** Shows what waits, although the list is held. */
  release(): void;
  /** How many changed pages wait to be shown. */
  waiting: boolean;
  reload(): void;
}

/** Who holds a list, and what is done once nobody does. */
export function useHolders(onRelease: () => void) {
  const holders = useRef(new Set<Holder>()).current;
  return {
    held: () => holders.size > 0,
    hold(by: Holder, on: boolean) {
      on ? holders.add(by) : holders.delete(by);
      if (holders.size === 0) onRelease();
    },
  };
}

export function usePages<T>(read: (token?: string) => Promise<Page<T>>, keyOf: (item: T) => string | number, depends: unknown[], every?: number): Pages<T> {
  const [state, set] = useState<{ of?: unknown[]; pages: Loaded<T>[]; error?: Error; waiting?: boolean }>({ pages: [] });
  const own = sameValues(state.of, depends) ? state : { ...state, pages: none as Loaded<T>[], error: undefined, waiting: false };
  const now = useRef(own);
  now.current = own;
  const seen = useRef({ first: 0, last: 0 });
  const holders = useHolders(() => { if (now.current.waiting) reload(); });
  const released = useRef(false); // the next answer is shown although the list is held

  // A page may be empty although the list goes on: it ends with the first item behind it.
  const readFrom = async (from: string | undefined, left: () => boolean): Promise<Loaded<T>> => {
    let page = await read(from);
    while (page.items.length === 0 && page.continuationToken && !left()) page = await read(page.continuationToken);
    return { from, items: page.items, next: page.continuationToken };
  };

  const ask = async (signal: AbortSignal) => {
    const before = now.current.pages;
    const shown = before.length === 0 ? [0] : pagesOf(before, seen.current.first, seen.current.last);
    const fresh = await Promise.all(shown.map(async (n) => ({ n, page: await readFrom(before[n]?.from, () => signal.aborted) })));
    if (signal.aborted) return false;
    const held = holders.held() && !released.current;
    released.current = false;
    const pages = [...now.current.pages];
    let waiting = false;
    let changed = false;
    for (const { n, page } of fresh) {
      const old = pages[n];
      if (old && JSON.stringify(old) === JSON.stringify(page)) continue;
      changed = true;
      const same = old && keys(old, keyOf) === keys(page, keyOf);
      if (old && !same && held) {
        waiting = true;
        const values = new Map(page.items.map((i) => [keyOf(i), i]));
        pages[n] = { ...old, items: old.items.map((i) => values.get(keyOf(i)) ?? i) };
      } else {
        pages[n] = page;
        // The pages behind one that now ends elsewhere do not follow it.
        if (old && old.next !== page.next && !same) pages.length = n + 1;
      }
    }
    if (changed || now.current.error || waiting !== now.current.waiting) set({ of: depends, pages, waiting });
    return true;
  };
  const reload = useRepeated(ask, (error) => set({ of: depends, pages: now.current.pages, error }), depends, every);

  const reading = useRef<string | undefined>(undefined);
  const next = async () => {
    const token = now.current.pages.at(-1)?.next;
    if (!token || reading.current === token) return;
    reading.current = token;
    const left = () => now.current.pages.at(-1)?.next !== token; // the list is another one by now
    try {
      const page = await readFrom(token, left);
      if (!left()) set({ ...now.current, of: depends, pages: [...now.current.pages, page] });
    } catch (e) {
      // The pages on the screen are asked for again, and after them this one.
      if (!left()) set({ ...now.current, of: depends, error: e as Error });
    } finally {
      if (reading.current === token) reading.current = undefined;
    }
  };

  // While rows move between pages, one of them can be on two.
  const items = useMemo(() => [...new Map(own.pages.flatMap((p) => p.items).map((i) => [keyOf(i), i])).values()], [own.pages]);
  return {
    items, reload,
    loaded: own.pages.length > 0,
    error: own.error,
    more: own.pages.at(-1)?.next !== undefined,
    waiting: own.waiting === true,
    show(first, last) {
      seen.current = { first, last };
      if (last >= items.length - 30) void next();
    },
    hold: holders.hold,
    release() {
      released.current = true;
      reload();
    },
  };
}

function keys<T>(page: Loaded<T>, keyOf: (item: T) => string | number) {
  return page.items.map(keyOf).join("\n");
}

/** The numbers of the pages that have items first to last. */
function pagesOf<T>(pages: Loaded<T>[], first: number, last: number): number[] {
  const numbers: number[] = [];
  let start = 0;
  pages.forEach((page, n) => {
    if (start <= last && start + page.items.length > first) numbers.push(n);
    start += page.items.length;
  });
  return numbers.length > 0 ? numbers.slice(0, 4) : [0];
}
