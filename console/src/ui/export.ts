// Files that the page makes of what it shows.

/** A CSV. For people, a text that a spreadsheet would take as a formula gets an apostrophe in front. */
export function toCsv(header: string[], rows: (string | number | undefined)[][], forPeople = true): string {
  const field = (v: string | number | undefined) => {
    const text = typeof v === "number" ? String(v) : forPeople ? (v ?? "").replace(/^([=+\-@\t\r])/, "'$1") : v ?? "";
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [header, ...rows].map((r) => r.map(field).join(",")).join("\r\n") + "\r\n";
}

/** Saves a text as a file. */
export function download(name: string, type: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
