// Files that the page saves: answers of the API, and what it makes of what it shows.
import { problemOf, Unreachable } from "../api/client";
import type { Session } from "../session";

/** Saves an answer of the API as a file, with the name that the API gives it. */
export async function download(session: Session, path: string, name: string) {
  const headers = { Authorization: `Bearer ${await session.token()}` };
  const answer = await fetch(`/api${path}`, { headers }).catch(() => { throw new Unreachable(); });
  if (!answer.ok) throw await problemOf(answer);
  save(/filename="?([^";]+)/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? name, await answer.blob().catch(() => { throw new Unreachable(); }));
}

/** Saves a text as a file. */
export const saveText = (name: string, type: string, text: string) => save(name, new Blob([text], { type: `${type};charset=utf-8` }));

function save(name: string, content: Blob) {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A CSV. For people, a text that a spreadsheet would take as a formula gets an apostrophe in front. */
export function toCsv(header: string[], rows: (string | number | undefined)[][], forPeople = true): string {
  const field = (v: string | number | undefined) => {
    const text = typeof v === "number" ? String(v) : forPeople ? (v ?? "").replace(/^([=+\-@\t\r])/, "'$1") : v ?? "";
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [header, ...rows].map((r) => r.map(field).join(",")).join("\r\n") + "\r\n";
}
