// The editor of a runbook with what is known of its text: findings, the graph of its phases and what it needs.
import { useEffect, useRef, useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { Editor, type EditorHandle } from "../editor/editor";
import type { Known } from "../editor/complete";
import { useLive } from "../live";
import { useShared } from "../shared";
import { ErrorBanner } from "../ui/failure";
import { Glyph } from "../ui/glyph";
import { useNarrow } from "../ui/narrow";
import { Section } from "../ui/page";
import { plural, sentence } from "../ui/text";
import { Graph } from "./graph";
import { Needs } from "./needs";
import { Forecast, type Checked } from "./publish";
import { SimulationSection } from "./simulation";

interface Props {
  /** The runbook that the text is a version of; empty for a new one. */
  name: string;
  value: string;
  onValue(text: string): void;
  onChecked(checked: Checked): void;
  /** The text to show the changes from. */
  before?: string;
  /** The line to begin at. */
  line?: number;
  /** The version that a publication makes. */
  version: number;
  changed: boolean;
}

const pause = 300; // milliseconds without a key before the text is checked

/** The findings and the outline of a text, as the API has them. */
function useCheck(name: string, text: string): { checked?: Checked; error?: unknown; again(): void } {
  const { api } = useShared();
  const [state, set] = useState<{ checked?: Checked; error?: unknown }>({});
  const [tried, retry] = useState(0);
  useEffect(() => {
    let left = false;
    const timer = setTimeout(() => data(api.POST("/lint", { body: { name: name || undefined, yamlContent: text } })).then(
      (check) => !left && set((old) => ({ checked: { text, findings: check.findings, outline: check.outline ?? old.checked?.outline } })),
      (error: unknown) => !left && set((old) => ({ ...old, error }))), state.checked ? pause : 0);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [name, text, tried]);
  return { ...state, again: () => retry(tried + 1) };
}

/** The functions of all workers, by worker. */
function useFunctions(): { workers: Schema<"Worker">[]; functions: Map<string, Schema<"Function">[]> } {
  const { api } = useShared();
  const workers = useLive(() => data(api.GET("/workers", { params: { query: { limit: 100 } } })), [], 1500);
  const announced = (workers.data?.items ?? []).filter((w) => w.functionCount > 0).map((w) => `${w.id} ${w.seenAt}`).join("\n");
  const all = useLive(async () => {
    const ids = announced.split("\n").filter(Boolean).map((line) => line.split(" ")[0]!);
    const found = await Promise.all(ids.map((id) => data(api.GET("/workers/{id}", { params: { path: { id } } }))));
    return found.map((w) => [w.id, w.functions ?? []] as const);
  }, [announced], 600_000);
  return { workers: workers.data?.items ?? [], functions: new Map(all.data ?? []) };
}

export function Workbench({ name, value, onValue, onChecked, before, line, version, changed }: Props) {
  const { checked, error, again } = useCheck(name, value);
  const { workers, functions } = useFunctions();
  const handle = useRef<EditorHandle | null>(null);
  const small = useNarrow();
  useEffect(() => { if (checked) onChecked(checked); }, [checked]);
  useEffect(() => { if (line) handle.current?.goTo(line); }, [line]);
  const findings = checked?.findings ?? [];
  const known: Known = { functions, outline: checked?.outline };
  const errors = findings.filter((f) => f.severity === "error").length;
  const warnings = findings.length - errors;
  return (
    <>
      {error !== undefined && <ErrorBanner error={error} retry={again} />}
      <div class="workbench">
        <div class="panel editor-panel">
          <header>
            <b>{name || checked?.outline?.name || "runbook"}.yaml</b> <span class="quiet">{plural(value.split("\n").length, "line")}{small && ", read only on a narrow screen"}</span>
            <span class="end" role="status">
              {!checked && <span class="quiet">Checking…</span>}
              {checked && findings.length === 0 && <span class="status k-done"><Glyph sign="done" />No findings</span>}
              {errors > 0 && <button type="button" class="link-button status k-fail" title="Next finding (F8)" onClick={() => handle.current!.nextFinding()}><Glyph sign="fail" />{plural(errors, "error")}</button>}
              {warnings > 0 && <button type="button" class="link-button status k-warn" title="Next finding (F8)" onClick={() => handle.current!.nextFinding()}><Glyph sign="warning" />{plural(warnings, "warning")}</button>}
            </span>
          </header>
          {small && findings.length > 0 && (
            <ul class="finding-list">
              {findings.map((f) => <li key={`${f.line}/${f.column}/${f.code}`}><button type="button" class="link-button" onClick={() => handle.current!.goTo(f.line)}><Glyph sign={f.severity === "error" ? "fail" : "warning"} kind={f.severity === "error" ? "fail" : "warn"} /><span>Line {f.line}: {sentence(f.message)}</span></button></li>)}
            </ul>
          )}
          <Editor label={`YAML of ${name || "the new runbook"}`} value={value} onValue={onValue} readOnly={small} findings={findings} known={known} before={before} handle={handle} />
        </div>
        <div class="workbench-side">
          <Section id="phases" title="Phases" note="Choose a step to see its lines">
            {checked?.outline ? <Graph outline={checked.outline} findings={findings} onLine={(n) => handle.current!.goTo(n)} /> : <p class="empty">The phases are shown once the text can be read.</p>}
          </Section>
          {checked?.outline && <Needs outline={checked.outline} workers={workers} functions={functions} />}
        </div>
      </div>
      <SimulationSection name={name} text={value} ready={checked?.text === value && errors === 0} />
      {changed && <Forecast name={name} version={version} text={value} ready={checked?.text === value && errors === 0} />}
    </>
  );
}
