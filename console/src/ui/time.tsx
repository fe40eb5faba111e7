import { dayAndTime, inUTC, seconds, when } from "./text";

/** A time in local time; its day unless that is today. UTC is in its title, or beside it with utc. */
export function Time({ at, utc, exact, full }: { at: string; utc?: boolean; exact?: boolean; full?: boolean }) {
  return <time dateTime={at} title={`${at.slice(0, 10)} ${inUTC(at)}`}>{exact ? seconds(at) : full ? dayAndTime(at) : when(at)}{utc && <span class="quiet"> ({inUTC(at)})</span>}</time>;
}
