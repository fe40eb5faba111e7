import { data } from "../api/client";
import { Editor } from "../editor/editor";
import { useLive } from "../live";
import { setQuery, type Place } from "../router";
import { useShared } from "../shared";
import { ErrorBanner } from "../ui/failure";
import { List } from "../ui/list";
import { usePages } from "../ui/pages";
import { Status } from "../ui/status";
import { Time } from "../ui/time";

/** The versions of a runbook, and what one of them changed from another. */
export function Versions({ name, place, draft, onDraft }: { name: string; place: Place; draft?: string; onDraft(yaml: string): void }) {
  const { api } = useShared();
  const pages = usePages((continuationToken) => data(api.GET("/runbooks/{name}/versions", { params: { path: { name }, query: { limit: 50, continuationToken } } })), (v) => v.version, [name], 1500);
  const version = Number(place.query.get("version")) || pages.items[0]?.version;
  const against = place.query.has("against") ? Number(place.query.get("against")) : version && version - 1;
  const read = (n: number | undefined) => async () => (n ? data(api.GET("/runbooks/{name}/versions/{version}", { params: { path: { name, version: n } } })) : undefined);
  const chosen = useLive(read(version), [name, version], 600_000);
  const other = useLive(read(against || undefined), [name, against], 600_000);
  const numbers = pages.items.map((v) => v.version);
  const error = chosen.error ?? other.error;
  const choice = (label: string, parameter: string, value: number | undefined, none?: string) => (
    <label class="filter">{label} <select value={String(value ?? "")} onChange={(e) => setQuery({ version: String(version), [parameter]: e.currentTarget.value })}>
      {none !== undefined && <option value="0">{none}</option>}
      {numbers.map((n) => <option key={n} value={n}>v{n}</option>)}
    </select></label>
  );
  return (
    <div class="versions">
      <div>
        <List label="Versions" pages={pages} keyOf={(v) => v.version} open={(v) => `?tab=versions&version=${v.version}`} empty="There is no version."
          columns={[
            { title: "Version", width: "140px", cell: (v) => <><a href={`?tab=versions&version=${v.version}`} aria-current={v.version === version ? "true" : undefined}><b>v{v.version}</b></a><span class="sub">{v.overdueBehavior === "rerun" && "runs overdue phases again"}{v.rerunInit && " runs init again"}</span></> },
            { title: "State", width: "120px", cell: (v) => <Status look={v.isActive ? { kind: "done", sign: "done", word: "Active" } : v.deactivated ? { kind: "skip", sign: "skip", word: "Deactivated" } : { kind: "skip", sign: "due", word: "Superseded" }} /> },
            { title: "Published", cell: (v) => <><Time at={v.createdAt} as="full" /><span class="sub">{v.publishedBy}{v.deactivated && `; deactivated by ${v.deactivated.by}${v.deactivated.reason ? `: ${v.deactivated.reason}` : ""}`}</span></> },
          ]} />
      </div>
      <div class="panel editor-panel">
        <header>
          {choice("Version", "version", version)} {choice("compared with", "against", against, "nothing")}
          <span class="end">{chosen.data && chosen.data.yamlContent !== draft && <button type="button" class="button small" onClick={() => onDraft(chosen.data!.yamlContent!)}>Edit a copy of v{version}</button>}</span>
        </header>
        {error && <ErrorBanner error={error} retry={() => { chosen.reload(); other.reload(); }} />}
        {chosen.data && (!against || other.data) && <Editor key={`${version}/${against}`} label={`YAML of v${version}`} value={chosen.data.yamlContent!} readOnly before={other.data?.yamlContent} collapse={other.data !== undefined} />}
      </div>
    </div>
  );
}
