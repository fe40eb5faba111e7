// A table of many rows: it draws those on the screen, and reads further pages on the way down. All rows have
// the same height, and columns a fixed width, so that nothing moves while values change.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { go, setQuery } from "../router";
import { ErrorBanner } from "./failure";
import { useKeys } from "./keys";
import type { Pages } from "./pages";

export interface Column<T> {
  title: string;
  cell(item: T): ComponentChildren;
  /** A width of CSS; columns without one share the rest. */
  width?: string;
  number?: boolean;
  /** The field that the API sorts by. */
  sort?: string;
  /** Not shown on narrow screens. */
  wide?: boolean;
}

interface Props<T> {
  /** What the rows are, for those who cannot see the table: "Waves". */
  label: string;
  pages: Pages<T>;
  keyOf(item: T): string | number;
  columns: Column<T>[];
  /** The address that a row opens. The first column has the link. */
  open?(item: T): string;
  /** The present order of the address, such as -id. */
  sort?: string;
  /** What to say where there is no row: one sentence and the next step. */
  empty: ComponentChildren;
  /** What to call a row that can be selected. */
  nameOf?(item: T): string;
  selected?: ReadonlySet<string | number>;
  onSelect?(selected: ReadonlySet<string | number>): void;
  /** The height of a row in pixels, if two lines of text are not enough. */
  rowHeight?: number;
}

const around = 12; // rows that are drawn beyond the screen

export function List<T>({ label, pages, keyOf, columns, open, sort, empty, nameOf, selected, onSelect, rowHeight = 53 }: Props<T>) {
  const { items } = pages;
  const body = useRef<HTMLTableSectionElement>(null);
  const [range, setRange] = useState({ first: 0, last: 50 });
  const [active, setActive] = useState(-1);
  const measure = () => {
    const top = body.current?.getBoundingClientRect().top ?? 0;
    const first = Math.max(0, Math.floor(-top / rowHeight) - around);
    const last = first + Math.ceil(innerHeight / rowHeight) + 2 * around;
    pages.show(first + around, last - around);
    setRange((old) => (old.first === first && old.last === last ? old : { first, last }));
  };
  const now = useRef(measure);
  now.current = measure;
  useEffect(() => {
    let frame = 0;
    const moved = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => now.current());
    };
    addEventListener("scroll", moved, { passive: true });
    addEventListener("resize", moved);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", moved);
      removeEventListener("resize", moved);
    };
  }, []);
  useLayoutEffect(measure, [items.length, pages.more, pages.error]); // after an error, too: what was missing is read again

  const focus = (n: number) => {
    if (items.length === 0) return;
    const row = Math.max(0, Math.min(n, items.length - 1));
    setActive(row);
    const rows = body.current!;
    const y = rows.getBoundingClientRect().top + row * rowHeight;
    if (y < 60 || y + rowHeight > innerHeight - 20) scrollBy(0, y - innerHeight / 2);
    now.current();
    requestAnimationFrame(() => requestAnimationFrame(() => rows.querySelector<HTMLElement>(`[data-row="${row}"]`)?.focus({ preventScroll: true })));
  };
  const toggle = (item: T) => {
    const next = new Set(selected);
    const key = keyOf(item);
    next.delete(key) || next.add(key);
    onSelect!(next);
  };
  useKeys({
    j: () => focus(active + 1),
    k: () => focus(active - 1),
    ...(onSelect && { x: () => { if (items[active]) toggle(items[active]); } }),
  });

  if (pages.error && !pages.loaded) return <ErrorBanner error={pages.error} retry={pages.reload} />;
  if (!pages.loaded) return <div class="skeleton tall" aria-busy="true" />;
  if (items.length === 0 && !pages.more) return <div class="empty">{empty}</div>;
  const first = Math.min(range.first, Math.max(0, items.length - 1));
  const last = Math.min(range.last, items.length);
  const all = selected !== undefined && items.length > 0 && items.every((i) => selected.has(keyOf(i)));
  return (
    <>
      {pages.error && <ErrorBanner error={pages.error} retry={pages.reload} />}
      <div class="list" onMouseEnter={() => pages.hold("pointer", true)} onMouseLeave={() => pages.hold("pointer", false)} onFocusIn={() => pages.hold("focus", true)} onFocusOut={() => pages.hold("focus", false)}>
        {pages.waiting && <button type="button" class="button small fresh" onClick={pages.release}>Show what has changed</button>}
        <table aria-label={label} aria-rowcount={pages.more ? -1 : items.length + 1}>
          <thead>
            <tr>
              {onSelect && <th class="select"><input type="checkbox" aria-label="Select the rows that are loaded" checked={all} onChange={() => onSelect(new Set(all ? [] : items.map(keyOf)))} /></th>}
              {columns.map((c) => <Header key={c.title} column={c} sort={sort} />)}
            </tr>
          </thead>
          <tbody ref={body}>
            {first > 0 && <tr aria-hidden="true" style={{ height: `${first * rowHeight}px` }} />}
            {items.slice(first, last).map((item, n) => {
              const key = keyOf(item);
              const row = first + n;
              const target = open?.(item);
              return (
                <tr key={key} data-row={row} tabIndex={row === active ? 0 : -1} aria-rowindex={row + 2} aria-selected={selected && selected.has(key)} style={{ height: `${rowHeight}px` }}
                  onFocus={() => setActive(row)}
                  onKeyDown={(e) => { if (e.key === "Enter" && e.target === e.currentTarget && target) go(target); }}
                  onClick={(e) => { if (target && !(e.target as Element).closest("a, button, input, label") && !getSelection()?.toString()) go(target); }}
                  class={target ? "opens" : ""}>
                  {onSelect && <td class="select"><input type="checkbox" aria-label={`Select ${nameOf?.(item) ?? key}`} checked={selected?.has(key)} onChange={() => toggle(item)} /></td>}
                  {columns.map((c) => <td key={c.title} class={`${c.number ? "number" : ""} ${c.wide ? "wide" : ""}`}>{c.cell(item)}</td>)}
                </tr>
              );
            })}
            {last < items.length && <tr aria-hidden="true" style={{ height: `${(items.length - last) * rowHeight}px` }} />}
          </tbody>
        </table>
        {pages.more && <p class="quiet more-below">{items.length.toLocaleString()} are shown; more come as you scroll.</p>}
      </div>
    </>
  );
}

function Header<T>({ column: c, sort }: { column: Column<T>; sort?: string }) {
  const order = c.sort && (sort === c.sort ? "ascending" : sort === `-${c.sort}` ? "descending" : undefined);
  return (
    <th scope="col" style={{ width: c.width ?? "auto" }} class={`${c.number ? "number" : ""} ${c.wide ? "wide" : ""}`} aria-sort={order || undefined}>
      {c.sort
        ? <button class="sort" onClick={() => setQuery({ sort: order === "ascending" ? `-${c.sort}` : c.sort })}>{c.title} <span aria-hidden="true">{order === "ascending" ? "↑" : order ? "↓" : ""}</span></button>
        : c.title}
    </th>
  );
}
