// Numbers and times as the console writes them: local time, and UTC beside starts.

export const people = (n: number) => `${n.toLocaleString()} ${n === 1 ? "person" : "people"}`;

const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const exact = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const utc = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" });
const zone = new Intl.DateTimeFormat("en", { timeZoneName: "short" });

export const time = (t: string | Date) => clock.format(new Date(t));
export const seconds = (t: string | Date) => exact.format(new Date(t));
export const inUTC = (t: string | Date) => `${utc.format(new Date(t))} UTC`;
export const zoneName = () => zone.formatToParts(new Date()).find((p) => p.type === "timeZoneName")?.value ?? "";
export const sameDay = (a: string | Date, b: string | Date) => new Date(a).toDateString() === new Date(b).toDateString();

/** A day; its year unless that is this one. */
export const dayOf = (t: string | Date) => (new Date(t).getFullYear() === new Date().getFullYear() ? day : dayAndYear).format(new Date(t));
export const dayAndTime = (t: string | Date) => `${dayOf(t)} ${time(t)}`;

/** The time of something recent: without its day if that is today. */
export const when = (t: string | Date) => (sameDay(t, new Date()) ? time(t) : dayAndTime(t));

/** The same to the second. */
export const exactly = (t: string | Date) => (sameDay(t, new Date()) ? seconds(t) : `${dayOf(t)} ${seconds(t)}`);

/** A time as a field of a form has it, in local time. */
export function fieldTime(t: string | Date) {
  const at = new Date(t);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** A duration in its two largest units: 2 d 21 h, 18 min, 6 s. */
export function duration(milliseconds: number) {
  let s = Math.max(0, Math.round(milliseconds / 1000));
  const parts: string[] = [];
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]] as const) {
    const n = Math.floor(s / length);
    s -= n * length;
    if (n > 0) parts.push(`${n} ${unit}`);
    if (parts.length === 2 || (parts.length === 1 && unit === "min")) break;
  }
  return parts.join(" ") || "0 s";
}

/** A value of a member or a step, as text. */
export function value(v: unknown): string {
  if (v === null || v === undefined) return "";
  return typeof v === "string" ? v : JSON.stringify(v);
}

/** A text of the API as a sentence: with a capital and a full stop. */
export const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?:]$/.test(text) ? "" : ".");

/** A count with its noun: 1 job, 12 jobs. */
export const plural = (n: number, one: string, many = `${one}s`) => `${n.toLocaleString()} ${n === 1 ? one : many}`;

/** What the API shows in place of a secret. */
export const secret = "(secret)";

/** A text of the API with its times in local time. */
export const localTimes = (text: string) =>
  text.replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)/g, (t) => dayAndTime(t.replace(" UTC", "Z").replace(" ", "T")));
