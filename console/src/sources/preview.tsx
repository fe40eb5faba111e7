import { useEffect, useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { href } from "../router";
import { useShared, type Permit } from "../shared";
import { ErrorBanner } from "../ui/failure";
import { Glyph } from "../ui/glyph";
import { Section } from "../ui/page";
import { plural, sentence, value } from "../ui/text";
import { Time } from "../ui/time";
import { Problems } from "./problems";

/** The answer of the query now, and what a sync would make of it. */
export function usePreview(name: string, limit: number): { preview?: Schema<"Preview">; error?: unknown; again(): void } {
  const { api } = useShared();
  const [state, set] = useState<{ preview?: Schema<"Preview">; error?: unknown }>({});
  const [tried, retry] = useState(0);
  useEffect(() => {
    let left = false;
    set({});
    data(api.POST("/runbooks/{name}/query/preview", { params: { path: { name } }, body: { limit } })).then((preview) => !left && set({ preview }), (error: unknown) => !left && set({ error }));
    return () => { left = true; };
  }, [name, limit, tried]);
  return { ...state, again: () => retry(tried + 1) };
}

export function PreviewPanel({ name, permit }: { name: string; permit: Permit }) {
  return (
    <Section id="preview" title="Preview of the next sync">
      {permit.allowed ? <Read name={name} /> : <p class="empty">{permit.reason}</p>}
    </Section>
  );
}

function Read({ name }: { name: string }) {
  const { preview: p, error, again } = usePreview(name, 100);
  if (error !== undefined) return <ErrorBanner error={error} retry={again} />;
  if (!p) return <div class="skeleton" aria-busy="true"><p class="quiet padded">The query runs. It can take three minutes.</p></div>;
  return (
    <>
      <p class="quiet">Read {plural(p.rowCount, "row")} in {p.durationMs} ms by v{p.version}. Nothing was changed. <button type="button" class="link-button" onClick={again}>Read again</button></p>
      {p.additionHold && <p class="notice"><Glyph sign="hold" />{sentence(p.additionHold.reason)}</p>}
      <Groups preview={p} />
      {p.problems.length > 0 && <><h3 class="more">Rows that would not be used <span class="count warn">{p.problemCount}</span></h3><Problems problems={p.problems} file={`${name}-preview-problems.csv`} label="Rows that would not be used" /></>}
      <h3 class="more">Rows <span class="quiet">the first {p.sample.length} of {p.rowCount.toLocaleString()}</span></h3>
      <div class="grid-scroll short" tabIndex={0} role="region" aria-label="Rows of the query">
        <table class="grid one-line">
          <thead><tr><th class="number">Row</th>{p.columns.map((c) => <th key={c}>{c}</th>)}</tr></thead>
          <tbody>{p.sample.map((row, n) => <tr key={n}><td class="number quiet">{n + 1}</td>{p.columns.map((c) => <td key={c} title={value(row[c])}>{value(row[c])}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </>
  );
}

/** What a sync would do to each wave. */
export function Groups({ preview: p }: { preview: Schema<"Preview"> }) {
  if (p.groups.length === 0) return <p class="empty">No row has a start: no wave would be made.</p>;
  const number = (n: number, kind = "") => (n > 0 ? <b class={kind}>{n.toLocaleString()}</b> : <span class="quiet">–</span>);
  return (
    <div class="grid-scroll" tabIndex={0} role="region" aria-label="What happens to each wave">
      <table class="cards">
        <thead><tr><th>Wave</th><th>Start</th><th class="number">Rows</th><th class="number">Add</th><th class="number">Update</th><th class="number">Remove</th><th class="number">Held</th></tr></thead>
        <tbody>
          {p.groups.map((g, n) => (
            <tr key={n}>
              <td data-label="Wave">{g.batchId ? <a href={href("waves", g.batchId)}>Wave {g.batchId}</a> : <b>New</b>}{g.note && <span class="sub">{g.note}</span>}</td>
              <td data-label="Start">{g.batchStartTime ? <Time at={g.batchStartTime} as="full" utc /> : <span class="quiet">–</span>}</td>
              <td class="number" data-label="Rows">{g.rowCount.toLocaleString()}</td>
              <td class="number" data-label="Add">{number(g.add)}</td>
              <td class="number" data-label="Update">{number(g.refresh)}</td>
              <td class="number" data-label="Remove">{number(g.remove)}</td>
              <td class="number" data-label="Held">{number(g.held + g.addHeld, "k-warn")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
