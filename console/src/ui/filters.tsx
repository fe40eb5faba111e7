import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "./dialog";
import { Glyph } from "./glyph";
import { useNarrow } from "./narrow";

/** The filters of a list, beside each other; on a narrow screen a button opens them in a sheet. */
export function Filters({ active, end, children }: {
  /** How many of the filters leave rows out. */
  active: number;
  /** What is beside the filters and belongs to the list itself. */
  end?: ComponentChildren;
  children: ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  if (!useNarrow()) return <div class="filters">{children}{end}</div>;
  return (
    <div class="filters">
      <button type="button" class="button" aria-haspopup="dialog" onClick={() => setOpen(true)}><Glyph sign="search" /> Filters{active > 0 && <span class="count">{active}<span class="visually-hidden"> in use</span></span>}</button>
      {end}
      {open && (
        <Dialog title="Filters" sheet onClose={() => setOpen(false)}>
          <div class="body">{children}</div>
          <div class="buttons"><button type="button" class="button primary" onClick={() => setOpen(false)}>Show the list</button></div>
        </Dialog>
      )}
    </div>
  );
}
