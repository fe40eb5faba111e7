// A wave from a CSV: the API checks the file, and shows its rows with problems, before anything is written.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, data, Unreachable, type Schema } from "../api/client";
import { useLive } from "../live";
import { go, href, setQuery, type Place } from "../router";
import { useRequestKey } from "../requestkey";
import { usePermit, useShared } from "../shared";
import { ErrorBanner } from "../ui/failure";
import { CheckField, SelectField, TextField, useDraft } from "../ui/fields";
import { download } from "../ui/files";
import { Glyph } from "../ui/glyph";
import { Head, Section } from "../ui/page";
import { people, plural } from "../ui/text";
import { toast, toastError } from "../ui/toast";

type Check = { state: "none" } | { state: "checking" } | { state: "good"; is: Schema<"UploadCheck"> } | { state: "bad"; error: unknown };

const separators = { comma: "commas", semicolon: "semicolons", tab: "tabs", bar: "bars" };

export function NewWave({ place }: { place: Place }) {
  const { api, session } = useShared();
  const permit = usePermit("administer");
  const runbooks = useLive(() => data(api.GET("/runbooks", { params: { query: { limit: 1000 } } })), [], 30_000);
  const runbook = place.query.get("runbook") ?? "";
  const [name, setName] = useDraft("new:name");
  const [owner, setOwner] = useDraft("new:owner");
  const [note, setNote] = useDraft("new:note");
  const [delimiter, setDelimiter] = useState("");
  const [others, setOthers] = useState(false);
  const [file, setFile] = useState<File>();
  const [chosen, setChosen] = useState(0); // how often a file was chosen
  const [check, setCheck] = useState<Check>({ state: "none" });
  const [tried, again] = useState(0);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const keyOf = useRequestKey();
  const active = runbooks.data?.items.filter((r) => r.isActive) ?? [];
  useEffect(() => {
    if (!runbook && active.length === 1) setQuery({ runbook: active[0]!.name });
  }, [active.length, runbook]);

  const send = (dryRun: boolean) => {
    const form = new FormData();
    form.set("runbook", runbook);
    const details = { name: name.trim(), note: note.trim(), owner: owner.trim() };
    for (const [part, text] of Object.entries(details)) if (text) form.set(part, text);
    form.set("file", file!);
    const key = keyOf([runbook, details, delimiter, others, chosen]);
    return data(api.POST("/batches", {
      params: { query: { dryRun: dryRun || undefined, delimiter: (delimiter || undefined) as Schema<"Delimiter"> | undefined, allowInOtherBatches: others || undefined }, header: dryRun ? {} : { "Idempotency-Key": key } },
      body: { runbook, file: "" }, bodySerializer: () => form,
    }));
  };
  useEffect(() => {
    if (!file || !runbook || !permit.allowed) return;
    let left = false;
    setError(undefined);
    setCheck({ state: "checking" });
    send(true).then((is) => !left && setCheck({ state: "good", is: is as Schema<"UploadCheck"> }), async (e: unknown) => {
      const error = await ofFile(e, file);
      if (!left) setCheck({ state: "bad", error });
    });
    return () => { left = true; };
  }, [file, runbook, delimiter, others, permit.allowed, tried]);
  const create = async (e: Event) => {
    e.preventDefault();
    if (check.state !== "good" || busy) return;
    setBusy(true);
    setError(undefined);
    try {
      const batch = (await send(false)) as Schema<"Batch">;
      for (const set of [setName, setOwner, setNote]) set("");
      toast(`Wave ${batch.id} is created with ${people(batch.memberCount)}.`);
      go(href("waves", batch.id));
    } catch (e) {
      setError(await ofFile(e, file!));
      setBusy(false);
    }
  };
  const take = (f: File) => {
    setFile(f);
    setChosen(chosen + 1);
  };
  const ready = check.state === "good" && permit.allowed && !busy;
  return (
    <form class="new-wave" onSubmit={create}>
      <Head title="New wave" crumb={<><a href={href("waves")}>Waves</a> /</>} sub="Drop a CSV with one person a line. Every row is checked before anything is written." />
      {!permit.allowed && permit.reason && <div class="notice"><Glyph sign="lock" /><span>{permit.reason}</span></div>}
      <div class="form-grid">
        <SelectField label="Runbook" value={runbook} onValue={(v) => setQuery({ runbook: v })} options={[["", runbooks.data ? "Choose a runbook" : "Loading…"], ...active.map((r) => [r.name, `${r.name}, version ${r.version}`] as const)]}
          hint={runbook ? <button type="button" class="link" onClick={() => download(session, `/runbooks/${encodeURIComponent(runbook)}/template`, `${runbook}.csv`).catch(toastError)}>Download a CSV with its columns</button> : "It says which columns the file needs."} />
        <TextField label="Name (optional)" value={name} onValue={setName} maxLength={100} autocomplete="off" placeholder="Finance and Legal" />
        <TextField label="Owner (optional)" value={owner} onValue={setOwner} maxLength={200} autocomplete="off" hint="Without one, you." />
        <SelectField label="Fields are separated by" value={delimiter} onValue={setDelimiter} options={[["", "What the header shows"], ["comma", "Commas"], ["semicolon", "Semicolons"], ["tab", "Tabs"], ["bar", "Bars"]]} />
        <TextField label="Note (optional)" value={note} onValue={setNote} maxLength={1000} rows={2} />
      </div>
      <Drop file={file} onFile={take} />
      <div aria-live="polite">
        {file && !runbook && <p class="empty">Choose the runbook, and the file is checked.</p>}
        {check.state === "checking" && <p class="notice plain"><Glyph sign="run" kind="run" /> Checking {file?.name}…</p>}
        {check.state === "good" && (
          <div class="notice good"><Glyph sign="done" /><span class="wrap"><b>{people(check.is.members)}</b> in {check.is.runbook} version {check.is.runbookVersion}, separated by {separators[check.is.delimiter]}. Nothing is written yet.</span></div>
        )}
        {check.state === "good" && check.is.warnings?.map((w) => <div class="notice" key={w}><Glyph sign="warning" /><span class="wrap">{w}</span></div>)}
        {check.state === "bad" && <Problems error={check.error} file={file!} retry={() => again(tried + 1)} />}
      </div>
      {(others || (check.state === "bad" && check.error instanceof ApiError && check.error.status === 409)) && <CheckField label="Accept people who are in other waves; the activity and the wave show it" checked={others} onValue={setOthers} />}
      {error !== undefined && <ErrorBanner error={error} retry={() => setError(undefined)} />}
      <div class="form-buttons">
        <button type="submit" class="button primary" aria-disabled={!ready || undefined}>{busy ? "Creating…" : check.state === "good" ? `Create a wave of ${people(check.is.members)}` : "Create the wave"}</button>
        <a class="button" href={href("waves")}>Not now</a>
      </div>
    </form>
  );
}

/** The error of an upload. A browser sends no file that was changed since it was chosen, and says of it what it says of a lost connection. */
async function ofFile(error: unknown, file: File): Promise<unknown> {
  if (!(error instanceof Unreachable)) return error;
  try {
    await file.slice(0, 1).arrayBuffer();
    return error;
  } catch {
    return new Error(`${file.name} was changed or moved since you chose it. Drop it again.`);
  }
}

/** Takes a file by a drop or by the dialog of the browser. */
function Drop({ file, onFile }: { file?: File; onFile(f: File): void }) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = (list?: FileList | null) => { if (list?.[0]) onFile(list[0]); };
  return (
    <label class={`drop ${over ? "over" : ""}`}
      onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
      onDrop={(e) => { e.preventDefault(); setOver(false); take(e.dataTransfer?.files); }}>
      <Glyph sign="upload" />
      <span>
        <b>{file ? file.name : "Drop a CSV here, or choose a file"}</b>
        <span class="sub">{file ? `${(file.size / 1024).toFixed(1)} KB; drop another one to replace it` : "UTF-8, at most 50 MiB and 100,000 people"}</span>
      </span>
      <input ref={input} class="visually-hidden" type="file" accept=".csv,text/csv,text/plain" aria-label="CSV of the people" onChange={(e) => { take(e.currentTarget.files); e.currentTarget.value = ""; }} />
    </label>
  );
}

const shownProblems = 500;

/** The rows that keep a file from being taken, with what the file has there. */
function Problems({ error, file, retry }: { error: unknown; file: File; retry(): void }) {
  const problems = error instanceof ApiError ? error.problems : [];
  const [lines, setLines] = useState<string[]>([]);
  useEffect(() => {
    if (problems.length > 0) file.text().then((text) => setLines(text.split(/\r\n|\n|\r/)), () => setLines([])); // the problems are shown without the lines
  }, [file, problems.length]);
  if (problems.length === 0) return <ErrorBanner error={error} retry={retry} />;
  return (
    <Section id="problems" title="Problems" count={problems.length} kind="fail" note={(error as Error).message} end={<button type="button" class="button small" onClick={() => void file.text().then(retry, toastError)}><Glyph sign="retry" /> Check again</button>}>
      <div class="grid-scroll" tabIndex={0} role="region" aria-label="Problems of the file">
        <table class="problems">
          <thead><tr><th class="number">Line</th><th>Column</th><th>Problem</th><th>What the file has</th></tr></thead>
          <tbody>
            {problems.slice(0, shownProblems).map((p, n) => (
              <tr key={n}>
                <td class="number">{p.line ?? ""}</td>
                <td>{p.field ?? p.column ?? ""}</td>
                <td><span class={`status ${p.severity === "warning" ? "k-warn" : "k-fail"}`}><Glyph sign={p.severity === "warning" ? "warning" : "fail"} /><span class="wrap">{p.message}</span></span></td>
                <td class="mono file-line">{p.line ? lines[p.line - 1] : ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {problems.length > shownProblems && <p class="quiet">and {plural(problems.length - shownProblems, "more problem")}.</p>}
      <p class="hint">Correct these lines in the file, and drop it again. Nothing was written.</p>
    </Section>
  );
}
