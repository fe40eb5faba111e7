// What a publication would change, and the publication.
import { useEffect, useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { href } from "../router";
import { useRequestKey } from "../requestkey";
import { usePermit, useShared } from "../shared";
import { Confirm, Effect } from "../ui/dialog";
import { ErrorBanner } from "../ui/failure";
import { CheckField, SelectField } from "../ui/fields";
import { Section } from "../ui/page";
import { lookOf, batchLooks, Status } from "../ui/status";
import { plural, sentence } from "../ui/text";
import { toast } from "../ui/toast";

/** A text that was checked, with what was found. */
export interface Checked {
  text: string;
  findings: Schema<"Diagnostic">[];
  outline?: Schema<"RunbookOutline">;
}

interface Options {
  overdueBehavior: "ignore" | "rerun";
  rerunInit: boolean;
}

const defaults: Options = { overdueBehavior: "ignore", rerunInit: false };

/** The answer of a dry run, once the text has rested for a moment. */
function useForecast(name: string, text: string, options: Options, ready: boolean): { forecast?: Schema<"Runbook">; error?: unknown; again(): void } {
  const { api } = useShared();
  const [state, set] = useState<{ forecast?: Schema<"Runbook">; error?: unknown }>({});
  const [tried, retry] = useState(0);
  useEffect(() => {
    if (!ready) return;
    let left = false;
    const timer = setTimeout(() => data(api.POST("/runbooks", { body: { name: name || undefined, yamlContent: text, dryRun: true, ...options } })).then(
      (forecast) => !left && set({ forecast }), (error: unknown) => !left && set({ error })), state.forecast ? 400 : 0);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [name, text, options.overdueBehavior, options.rerunInit, ready, tried]);
  return { ...state, again: () => retry(tried + 1) };
}

/** The table of what a publication would do to each open wave. */
export function Forecast({ name, version, text, ready }: { name: string; version: number; text: string; ready: boolean }) {
  const permit = usePermit("administer");
  const { forecast, error, again } = useForecast(name, text, defaults, ready && permit.allowed);
  const c = forecast?.changes;
  return (
    <Section id="forecast" title={`If you publish v${version}`} note={c && `${plural(c.batchCount, "open wave")} of this runbook`}>
      {!permit.allowed && <p class="empty">{permit.reason}</p>}
      {permit.allowed && !ready && <p class="empty">This is shown once the text has no error.</p>}
      {error !== undefined && ready && <ErrorBanner error={error} retry={again} />}
      {ready && c && <>
        <Changes changes={c} />
        <Waves changes={c} version={version} />
      </>}
    </Section>
  );
}

function Changes({ changes: c }: { changes: Schema<"Changes"> }) {
  if (c.againstVersion === 0) return <p class="quiet">It is the first version of this runbook.</p>;
  if (c.problem) return <p class="notice">{c.problem}</p>;
  if (c.runbookChanges.length === 0) return <p class="quiet">The runbook does the same as v{c.againstVersion}.</p>;
  const signs = { added: "+", removed: "−", changed: "~", moved: "↕" };
  return (
    <details class="changes" open={c.runbookChanges.length <= 6}>
      <summary>{plural(c.runbookChanges.length, "change")} from v{c.againstVersion}</summary>
      <ul>
        {c.runbookChanges.map((d, n) => (
          <li key={n}><b title={d.kind}>{signs[d.kind]}</b><span class="visually-hidden">{d.kind}</span> <code>{d.path}</code>{" "}
            {d.from !== undefined && <del>{d.from}</del>}{d.from !== undefined && d.to !== undefined && " → "}{d.to !== undefined && <ins>{d.to}</ins>}</li>
        ))}
      </ul>
    </details>
  );
}

const list = (names: string[] | undefined) => names?.join(", ");

function Waves({ changes: c, version }: { changes: Schema<"Changes">; version: number }) {
  if (c.batches.length === 0) return c.batchCount === 0 ? <p class="quiet">No wave of this runbook is open: nothing else changes.</p> : null;
  return (
    <div class="grid-scroll" tabIndex={0} role="region" aria-label="What happens to each open wave">
      <table class="cards">
        <thead><tr><th>Wave</th><th>Now</th><th>Stays as it is</th><th>Comes from v{version}</th><th>To look at</th></tr></thead>
        <tbody>
          {c.batches.map((b) => (
            <tr key={b.batchId}>
              <td data-label="Wave"><a href={href("waves", b.batchId)}><b>Wave {b.batchId}</b></a><span class="sub">v{b.fromVersion}</span></td>
              <td data-label="Now">{b.status && <Status look={lookOf(batchLooks, b.status)} />}</td>
              <td data-label="Stays as it is">{b.stays ?? (b.underWay ? `${list(b.underWay)} ends under its version` : "–")}</td>
              <td data-label={`Comes from v${version}`}>
                {[b.init && "init", b.initAgain && "init again", list(b.pending), b.runAgain && `again: ${list(b.runAgain)}`].filter(Boolean).join(", ") || (b.stays || b.problem ? "–" : "Nothing: no phase is left")}
                {b.superseded && <span class="sub">in place of {list(b.superseded)}</span>}
              </td>
              <td data-label="To look at">
                {[b.problem, b.skipped && `${list(b.skipped)} is past due and is skipped`, b.ends && "The wave ends", b.lacks && `Its people lack ${list(b.lacks)}`].filter(Boolean).map((t) => <span key={String(t)} class="k-warn line">{t}</span>)}
                {!b.problem && !b.skipped && !b.ends && !b.lacks && "–"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {c.batchCount > c.batches.length && <p class="quiet">The first {c.batches.length} of {c.batchCount} waves are shown.</p>}
    </div>
  );
}

/** States what a publication does, with its options, and publishes. */
export function Publish({ name, text, version: expected, onClose, onPublished }: { name: string; text: string; version: number; onClose(): void; onPublished(): void }) {
  const { api } = useShared();
  const [options, setOptions] = useState(defaults);
  const keyOf = useRequestKey();
  const { forecast, error, again } = useForecast(name, text, options, true);
  const version = forecast?.version ?? expected; // a new text can have the name of a runbook that exists
  const c = forecast?.changes;
  const lacking = c?.batches.filter((b) => b.lacks).length ?? 0;
  const moved = c?.batches.filter((b) => !b.stays && !b.problem).length ?? 0;
  const skipped = c?.batches.filter((b) => b.skipped).length ?? 0;
  return (
    <Confirm title={`Publish v${version} of ${name || "this runbook"}?`} sub={c && (c.againstVersion ? `${plural(c.runbookChanges.length, "change")} from v${c.againstVersion}` : "The first version")}
      verb={moved ? `Publish v${version} for ${plural(moved, "wave")}` : `Publish v${version}`} ready={forecast !== undefined && error === undefined} onClose={onClose}
      fields={c && c.batchCount > 0 && <>
        <SelectField label="Phases of the new version that are past due" value={options.overdueBehavior} onValue={(v) => setOptions({ ...options, overdueBehavior: v as Options["overdueBehavior"] })}
          options={[["ignore", "Skip them"], ["rerun", "Run them again for all active people"]]} />
        <CheckField label="Run the init steps of open waves again" checked={options.rerunInit} onValue={(rerunInit) => setOptions({ ...options, rerunInit })} />
      </>}
      act={async () => {
        await data(api.POST("/runbooks", { params: { header: { "Idempotency-Key": keyOf([text, options]) } }, body: { name: name || undefined, yamlContent: text, ...options } }));
        toast(`Published v${version} of ${name}`);
        onPublished();
      }}>
      {error !== undefined && <ErrorBanner error={error} retry={again} />}
      {!forecast && error === undefined && <div class="skeleton effects-room" aria-busy="true" />}
      {forecast && c && (
        <dl class="effects">
          <Effect sign="jobs" name="Open waves"><b>{moved.toLocaleString()}</b> {moved === 1 ? "goes" : "go"} over to v{version} at the next tick{c.batchCount > moved && `, ${c.batchCount - moved} ${c.batchCount - moved === 1 ? "stays" : "stay"} as ${c.batchCount - moved === 1 ? "it is" : "they are"}`}<span class="sub">Phases that have begun end under their version.</span></Effect>
          {skipped > 0 && <Effect sign="warning" name="Past due" warn>{plural(skipped, "wave")} skip phases of v{version} that are past due.</Effect>}
          {lacking > 0 && <Effect sign="warning" name="Columns" warn>People of {plural(lacking, "wave")} lack columns that v{version} uses. Steps that use them fail.</Effect>}
          {forecast.warnings?.map((w) => <Effect key={`${w.line}/${w.code}`} sign="warning" name={`Line ${w.line}`} warn>{sentence(w.message)}</Effect>)}
          <Effect sign="undo" name="Way back">{c.againstVersion ? `Publish the text of v${c.againstVersion} again: it becomes v${version + 1}.` : `Deactivate v${version}.`}</Effect>
        </dl>
      )}
    </Confirm>
  );
}
