import { useState } from "preact/hooks";
import { ApiError, data, type Schema } from "../api/client";
import { useLive } from "../live";
import { go, href, setQuery, type Place } from "../router";
import { usePermit, useShared } from "../shared";
import { ActionButton } from "../ui/action";
import { Confirm, Effect } from "../ui/dialog";
import { useDraft, useKept } from "../ui/fields";
import { Failure } from "../ui/failure";
import { Glyph } from "../ui/glyph";
import { Head, Loading } from "../ui/page";
import { Status } from "../ui/status";
import { plural } from "../ui/text";
import { Time } from "../ui/time";
import { toast, toastError } from "../ui/toast";
import { AuditList } from "../activity/audit";
import { Publish, type Checked } from "./publish";
import { Versions } from "./versions";
import { Workbench } from "./workbench";
import { AutomationState } from "./automation";

/** The text that a draft begins with: the active version, or the latest if none is active. */
interface Base {
  version: number;
  yaml: string;
  active: boolean;
}

const tabs = [["", "Editor"], ["versions", "Versions"], ["activity", "Activity"]] as const;

/** One runbook. */
export function Runbook({ name, place }: { name: string; place: Place }) {
  const { api } = useShared();
  const runbook = useLive(() => data(api.GET("/runbooks/{name}", { params: { path: { name } } })), [name], 1500);
  const inactive = runbook.error instanceof ApiError && runbook.error.status === 404;
  const versions = useLive(() => data(api.GET("/runbooks/{name}/versions", { params: { path: { name }, query: { limit: 1 } } })), [name], 1500);
  const latest = versions.data?.items[0];
  const old = useLive(async () => (inactive && latest ? data(api.GET("/runbooks/{name}/versions/{version}", { params: { path: { name, version: latest.version } } })) : undefined), [name, inactive, latest?.version], 600_000);
  if (versions.error && !versions.data) return <Failure title={`Runbook ${name} cannot be shown`} error={versions.error} retry={versions.reload} />;
  const r = runbook.data;
  const base: Base | undefined = r ? { version: r.version, yaml: r.yamlContent!, active: true } : old.data && { version: old.data.version, yaml: old.data.yamlContent!, active: false };
  if (!base || !latest) return <Loading />;
  return <Opened name={name} place={place} runbook={inactive ? undefined : r} latest={latest.version} base={base} />;
}

function Opened({ name, place, runbook: r, latest, base }: { name: string; place: Place; runbook?: Schema<"Runbook">; latest: number; base: Base }) {
  const { api } = useShared();
  const permit = usePermit("administer");
  const [draft, setDraft] = useKept(`runbook:${name}`);
  const [begun, setBegun] = useDraft(`runbook-base:${name}`);
  const [checked, setChecked] = useState<Checked>();
  const [dialog, setDialog] = useState<"publish" | "deactivate">();
  const [compare, setCompare] = useState(false);
  const tab = place.query.get("tab") ?? "";
  const text = draft ?? base.yaml;
  const changed = text !== base.yaml;
  const edit = (now: string) => {
    if (draft === undefined) setBegun(String(base.version));
    setDraft(now === base.yaml ? undefined : now);
  };
  const discard = () => {
    const was = draft;
    setDraft(undefined);
    toast(`Discarded the draft of ${name}`, () => setDraft(was));
  };
  const errors = checked?.text === text ? checked.findings.filter((f) => f.severity === "error") : [];
  const blocked = !permit.allowed ? permit
    : !changed && r ? { allowed: false, reason: `The text is that of v${base.version}. Change it to publish a version.` }
      : checked?.text !== text ? { allowed: false, reason: "The text is being checked." }
        : errors.length > 0 ? { allowed: false, reason: `Publishing waits until ${errors.length === 1 ? `the error in line ${errors[0]!.line} is` : `${errors.length} errors are`} corrected.` }
          : { allowed: true };
  const since = changed && begun && Number(begun) < latest;
  return (
    <>
      <Head title={name} crumb={<><a href={href("runbooks")}>Runbooks</a> /</>}
        status={<>
          <Status grounded look={r ? { kind: "done", sign: "done", word: `v${r.version} is active` } : { kind: "skip", sign: "due", word: "No version is active" }} />
          {changed && <Status grounded look={{ kind: "wait", sign: "edit", word: `Draft of v${latest + 1}` }} />}
        </>}
        sub={r?.description}
        facts={<>
          {r && <span>Published <b><Time at={r.createdAt} /></b> by <b>{r.publishedBy}</b></span>}
          {r && <span class="fact-status">Automation <AutomationState runbook={r} /> <a href={href("sources", name)}>Source</a></span>}
          <a href={href("waves", { runbook: name })}>Waves of this runbook</a>
        </>}
        actions={<>
          {tab === "" && changed && <button type="button" class="button" aria-pressed={compare} onClick={() => setCompare(!compare)}>Compare with v{base.version}</button>}
          {changed && <button type="button" class="button" onClick={discard}>Discard draft</button>}
          {r && !changed && <ActionButton permit={permit} onClick={() => setDialog("deactivate")}>Deactivate v{r.version}…</ActionButton>}
          <ActionButton kind="primary" permit={blocked} onClick={() => setDialog("publish")}>Publish v{latest + 1}…</ActionButton>
        </>} />
      <div class="tab-row">
        <div class="tabs" role="group" aria-label="Parts of the runbook">
          {tabs.map(([value, title]) => <button key={value} type="button" aria-pressed={tab === value} onClick={() => setQuery({ tab: value, version: undefined, against: undefined })}>{title}{value === "versions" && <span class="tab-count"> {latest}</span>}</button>)}
        </div>
        {!blocked.allowed && changed && <span class="reason">{blocked.reason}</span>}
      </div>
      {since && (
        <p class="notice"><Glyph sign="warning" /><span>Version {latest} was published after you began this draft from v{begun}. Compare, and take over its changes before you publish.</span>
          <a href={href("runbooks", name, { tab: "versions", version: latest, against: begun })}>What v{latest} changed</a></p>
      )}
      {tab === "" && (
        <Workbench name={name} value={text} onValue={edit} before={compare && changed ? base.yaml : undefined} onChecked={setChecked}
          line={Number(place.query.get("line")) || undefined} version={latest + 1} changed={changed || !r} />
      )}
      {tab === "versions" && <Versions name={name} place={place} draft={changed ? draft : undefined} onDraft={(yaml) => { edit(yaml); setQuery({ tab: undefined, version: undefined, against: undefined }); }} />}
      {tab === "activity" && <AuditList scope={{ runbook: name }} place={place} />}
      {dialog === "publish" && <Publish name={name} text={text} version={latest + 1} onClose={() => setDialog(undefined)} onPublished={() => { setDraft(undefined); setCompare(false); }} />}
      {dialog === "deactivate" && r && (
        <Confirm title={`Deactivate v${r.version} of ${name}?`} verb={`Deactivate v${r.version}`} keep={`Keep v${r.version} active`} danger reason="optional" onClose={() => setDialog(undefined)}
          act={async (reason) => {
            await data(api.DELETE("/runbooks/{name}/versions/{version}", { params: { path: { name, version: r.version }, query: { reason } } }));
            toast(`Deactivated v${r.version} of ${name}`);
          }}>
          <dl class="effects">
            <Effect sign="pause" name="New waves">None can be created from this runbook until a version is published.</Effect>
            <Effect sign="run" name="Open waves">They continue under their versions.</Effect>
            <Effect sign="source" name="Automation">It does nothing until a version is published.</Effect>
            <Effect sign="undo" name="Way back">Publish the text again: it becomes v{latest + 1}.</Effect>
          </dl>
        </Confirm>
      )}
    </>
  );
}

const starter = `# Moves people in two phases. Put your own name and columns in.
name: my-runbook
data_source:
  type: csv
  primary_key: UserPrincipalName
phases:
  - name: pre-stage
    offset: T-5d
    steps:
      - name: create-user
        worker_id: entra-01
        function: New-EntraUser
        params:
          UserPrincipalName: "{{UserPrincipalName}}"
          DisplayName: "{{DisplayName}}"
  - name: cut-over
    offset: T-0
    steps:
      - name: enable-sign-in
        worker_id: entra-01
        function: Set-EntraUserEnabled
        params:
          UserId: "{{UserPrincipalName}}"
`;

/** The editor of a runbook that does not exist yet. */
export function NewRunbook() {
  const permit = usePermit("administer");
  const [draft, setDraft] = useDraft("runbook:", starter);
  const [checked, setChecked] = useState<Checked>();
  const [publish, setPublish] = useState(false);
  const name = checked?.outline?.name ?? "";
  const errors = checked?.findings.filter((f) => f.severity === "error").length ?? 0;
  const blocked = !permit.allowed ? permit
    : checked?.text !== draft ? { allowed: false, reason: "The text is being checked." }
      : errors > 0 ? { allowed: false, reason: `Publishing waits until ${plural(errors, "error")} ${errors === 1 ? "is" : "are"} corrected.` } : { allowed: true };
  const upload = async (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (!file) return;
    const [was, text] = [draft, await file.text()];
    input.value = ""; // so that the same file can be chosen again
    setDraft(text);
    toast(`The text is that of ${file.name}`, () => setDraft(was));
  };
  return (
    <>
      <Head title="New runbook" crumb={<><a href={href("runbooks")}>Runbooks</a> /</>} sub="Begin with this text or with a file. What is wrong is shown beside its line."
        actions={<>
          <label class="button file-button"><Glyph sign="upload" />Open a file…<input type="file" accept=".yaml,.yml,text/yaml" onChange={(e) => void upload(e.currentTarget).catch(toastError)} /></label>
          <ActionButton kind="primary" permit={blocked} onClick={() => setPublish(true)}>Publish…</ActionButton>
        </>} />
      <Workbench name="" value={draft} onValue={setDraft} onChecked={setChecked} version={1} changed />
      {publish && <Publish name={name} text={draft} version={1} onClose={() => setPublish(false)} onPublished={() => { setDraft(starter); go(href("runbooks", name)); }} />}
    </>
  );
}
