import { useState } from "preact/hooks";
import type { Schema } from "../api/client";
import { saveText, toCsv } from "../ui/files";
import { Glyph } from "../ui/glyph";

/** The rows of a source that were not used, with the reason: by kind, and as a file. */
export function Problems({ problems, file, label = "Rows that were not used" }: { problems: Schema<"RowProblem">[]; file: string; label?: string }) {
  const [code, setCode] = useState("");
  const codes = Map.groupBy(problems, (p) => p.code);
  const shown = codes.get(code) ?? problems;
  return (
    <>
      <div class="filters">
        {codes.size > 1 && (
          <div class="tabs" role="group" aria-label="Kind of problem">
            <button type="button" aria-pressed={!codes.has(code)} onClick={() => setCode("")}>All <span class="tab-count">{problems.length}</span></button>
            {[...codes].map(([c, of]) => <button key={c} type="button" aria-pressed={code === c} onClick={() => setCode(c)}>{c} <span class="tab-count">{of.length}</span></button>)}
          </div>
        )}
        <button type="button" class="button small" onClick={() => saveText(file, "text/csv", toCsv(["row", "memberKey", "column", "code", "message"], shown.map((p) => [p.row || "", p.memberKey, p.column, p.code, p.message])))}><Glyph sign="download" />Export {shown.length}</button>
      </div>
      <div class="grid-scroll short" tabIndex={0} role="region" aria-label={`Table: ${label}`}>
        <table class="cards grid">
          <thead><tr><th class="number">Row</th><th>Person</th><th>Column</th><th>Problem</th></tr></thead>
          <tbody>
            {shown.map((p, n) => (
              <tr key={n}>
                <td class="number" data-label="Row">{p.row || "–"}</td>
                <td data-label="Person">{p.memberKey ?? <span class="quiet">–</span>}</td>
                <td data-label="Column">{p.column ? <code>{p.column}</code> : <span class="quiet">–</span>}</td>
                <td data-label="Problem">{p.message}<span class="sub">{p.code}</span></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
