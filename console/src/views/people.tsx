import { useShared } from "../app";
import { data } from "../api/client";
import { href, type Place } from "../router";
import { Failure } from "../ui/failure";
import { memberLooks, Status } from "../ui/status";
import { usePages } from "./pages";

/** People of all batches whose columns have a text. */
export function People({ place }: { place: Place }) {
  const { api } = useShared();
  const text = place.query.get("q") ?? "";
  const pages = usePages(
    async (continuationToken) => (text ? data(api.GET("/find", { params: { query: { text, limit: 50, continuationToken } } })) : { items: [] }), [text], 5000);
  return (
    <>
      <h1>People</h1>
      {!text && <p class="empty">Search for a name, an address or any other stored value, across all waves. Press / to start.</p>}
      {pages.error && !pages.data && <Failure title="The search failed" error={pages.error} retry={pages.reload} />}
      {text && pages.data && pages.items.length === 0 && <p class="empty">No wave has a person with “{text}”.</p>}
      {pages.items.length > 0 && (
        <div class="grid-scroll">
          <table>
            <thead><tr><th>Person</th><th>Found in</th><th>Wave</th><th>Phase and step</th><th>Status</th></tr></thead>
            <tbody>
              {pages.items.map((m) => (
                <tr key={`${m.batchId}/${m.memberId}`}>
                  <td><a href={href("waves", m.batchId, "people", m.memberId)}>{m.memberDisplay ?? m.memberKey}</a>{m.memberDisplay && <span class="sub">{m.memberKey}</span>}</td>
                  <td>{m.matched ? <>{m.matched.column}<span class="sub">{m.matched.value}</span></> : <span class="quiet">Key or name</span>}</td>
                  <td><a href={href("waves", m.batchId)}>{m.batchName ?? `Wave ${m.batchId}`}</a><span class="sub">{m.runbook}</span></td>
                  <td>{m.phase}{m.step && <span class="sub">{m.step}</span>}</td>
                  <td><Status look={memberLooks[m.status]} />{m.error && <span class="sub">{m.error}</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {pages.more && <button class="button" onClick={pages.more}>Show more</button>}
    </>
  );
}
