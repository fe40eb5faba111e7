import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Permit } from "../shared";
import { Glyph } from "./glyph";

interface Props {
  permit: Permit;
  onClick(): void;
  kind?: "primary" | "danger" | "";
  small?: boolean;
  children: ComponentChildren;
}

let reasons = 0;

/** A button for an action. What the user may not do stays visible, with the reason. */
export function ActionButton({ permit: { allowed, reason }, onClick, kind = "", small, children }: Props) {
  const [id] = useState(() => `reason-${++reasons}`);
  return (
    <span class="action">
      <button type="button" class={`button ${allowed ? kind : ""} ${small ? "small" : ""}`} aria-disabled={allowed ? undefined : true} aria-describedby={allowed || !reason ? undefined : id} onClick={() => allowed && onClick()}>{children}</button>
      {!allowed && reason && <span class="why" role="tooltip" id={id}>{reason}</span>}
    </span>
  );
}

/** Further actions, in a menu that opens at a click. */
export function More({ label = "More actions", items }: { label?: string; items: { title: ComponentChildren; permit: Permit; onClick(): void; danger?: boolean }[] }) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (e: Event) => { if (!root.current!.contains(e.target as Node)) setOpen(false); };
    document.addEventListener("click", outside);
    root.current!.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    return () => document.removeEventListener("click", outside);
  }, [open]);
  const button = () => root.current!.querySelector("button")!;
  const key = (e: KeyboardEvent) => {
    if (!open) return;
    if (e.key === "Escape") {
      setOpen(false);
      button().focus();
    }
    if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
    e.preventDefault();
    const all = [...root.current!.querySelectorAll<HTMLElement>("[role=menuitem]")];
    const at = all.indexOf(document.activeElement as HTMLElement) + (e.key === "ArrowDown" ? 1 : -1);
    all[(at + all.length) % all.length]?.focus();
  };
  return (
    <div class="more-menu" ref={root} onKeyDown={key} onFocusOut={(e) => { if (e.relatedTarget && !root.current!.contains(e.relatedTarget as Node)) setOpen(false); }}>
      <button type="button" class="button" aria-haspopup="menu" aria-expanded={open} aria-label={label} onClick={() => setOpen(!open)}><Glyph sign="more" /></button>
      {open && (
        <div role="menu" aria-label={label}>
          {items.map((i, n) => (
            <button key={n} type="button" role="menuitem" class={i.danger ? "k-fail" : ""} aria-disabled={i.permit.allowed ? undefined : true} onClick={() => {
              if (!i.permit.allowed) return;
              setOpen(false);
              button().focus(); // where the focus returns from a dialog: the entry is gone by then
              i.onClick();
            }}>
              {i.title}
              {!i.permit.allowed && i.permit.reason && <span class="sub">{i.permit.reason}</span>}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
