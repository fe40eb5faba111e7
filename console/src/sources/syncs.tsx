import { data } from "../api/client";
import { useLive } from "../live";
import { useShared } from "../shared";
import { ErrorBanner } from "../ui/failure";
import { Status } from "../ui/status";
import { Time } from "../ui/time";

/** What the last syncs changed. */
export function Syncs({ name }: { name: string }) {
  const { api } = useShared();
  const syncs = useLive(() => data(api.GET("/runbooks/{name}/syncs", { params: { path: { name } } })), [name], 1500);
  if (syncs.error && !syncs.data) return <ErrorBanner error={syncs.error} retry={syncs.reload} />;
  if (!syncs.data) return <div class="skeleton" aria-busy="true" />;
  if (syncs.data.items.length === 0) return <p class="empty">The source was not read yet. It is read at the next tick once automation is on.</p>;
  const number = (n: number, kind = "") => (n > 0 ? <b class={kind}>{n.toLocaleString()}</b> : <span class="quiet">–</span>);
  return (
    <div class="grid-scroll short" tabIndex={0} role="region" aria-label="Table of the last syncs">
      <table class="cards">
        <thead><tr><th>Time</th><th>Result</th><th class="number">Rows</th><th class="number">Added</th><th class="number">Removed</th><th class="number">Changed</th><th class="number">Held</th><th class="number">Problems</th></tr></thead>
        <tbody>
          {syncs.data.items.map((s) => {
            const took = Date.parse(s.endedAt) - Date.parse(s.startedAt);
            return (
              <tr key={s.startedAt}>
                <td data-label="Time"><Time at={s.startedAt} as="exactly" /><span class="sub">{took < 1000 ? `${took} ms` : `${(took / 1000).toFixed(1)} s`}</span></td>
                <td data-label="Result"><Status look={s.error ? { kind: "fail", sign: "fail", word: "Failed" } : { kind: "done", sign: "done", word: "Read" }} />{s.error && <span class="sub">{s.error}</span>}</td>
                <td class="number" data-label="Rows">{s.rowCount.toLocaleString()}</td>
                <td class="number" data-label="Added">{number(s.added)}</td>
                <td class="number" data-label="Removed">{number(s.removed)}</td>
                <td class="number" data-label="Changed">{number(s.changed)}</td>
                <td class="number" data-label="Held">{number(s.held, "k-warn")}</td>
                <td class="number" data-label="Problems">{number(s.problemCount, "k-warn")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
