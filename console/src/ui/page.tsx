// The parts that every view is laid out with.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface HeadProps {
  title: string;
  /** A chip beside the title. */
  status?: ComponentChildren;
  /** Where the view belongs: links, each with " / " behind. */
  crumb?: ComponentChildren;
  /** One sentence under the title. */
  sub?: ComponentChildren;
  /** Small facts under the title. */
  facts?: ComponentChildren;
  /** Buttons at the right; on narrow screens at the bottom. */
  actions?: ComponentChildren;
}

/** The head of a view, with its only h1. It is also the title of the window. */
export function Head({ title, status, crumb, sub, facts, actions }: HeadProps) {
  useEffect(() => {
    document.title = `${title} – matoolkit`;
  }, [title]);
  return (
    <>
      {crumb && <p class="crumb">{crumb}</p>}
      <div class="head">
        <div>
          <div class="title"><h1>{title}</h1>{status}</div>
          {sub && <p class="head-sub">{sub}</p>}
          {facts && <div class="facts">{facts}</div>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </div>
    </>
  );
}

/** A part of a view with a heading, its count, and buttons at the right. */
export function Section({ id, title, count, kind = "", note, end, children }: {
  id: string; title: string; count?: number; kind?: "warn" | "fail" | ""; note?: ComponentChildren; end?: ComponentChildren; children: ComponentChildren;
}) {
  return (
    <section class="block" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}{count !== undefined && <span class={`count ${kind}`}>{count.toLocaleString()}</span>}</h2>
        {note && <span class="quiet">{note}</span>}
        {end && <div class="end">{end}</div>}
      </header>
      {children}
    </section>
  );
}

/** A view while its data is on the way. It takes the room of what comes. */
export function Loading() {
  return <div class="skeleton tall" aria-busy="true" aria-label="Loading" />;
}

/** Tells counts to those who cannot see them change, at most every ten seconds. */
export function Announce({ text }: { text: string }) {
  const latest = useRef(text);
  latest.current = text;
  const [said, say] = useState("");
  useEffect(() => {
    const timer = setInterval(() => say(latest.current), 10_000);
    return () => clearInterval(timer);
  }, []);
  return <p class="visually-hidden" aria-live="polite">{said}</p>;
}
