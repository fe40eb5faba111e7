import type { Session } from "../session";

/** Saves an answer of the API as a file, with the name that the API gives it. */
export async function download(session: Session, path: string, name: string) {
  const answer = await fetch(`/api${path}`, { headers: { Authorization: `Bearer ${await session.token()}` } });
  if (!answer.ok) throw new Error(((await answer.json().catch(() => ({}))) as { detail?: string }).detail ?? `The API answered ${answer.status}.`);
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = /filename="?([^";]+)/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
