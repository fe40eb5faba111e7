// Where in the YAML of a runbook the cursor is: the names that lead there, and what stands beside it.

export interface Place {
  /** The keys from the root, without the places in lists: ["phases", "steps", "params"]. */
  path: string[];
  /** The key whose value is written; none while a key is written. */
  key?: string;
  /** The other keys of the same mapping, with their values where these are short. */
  siblings: Map<string, string>;
  /** The siblings of each mapping above, the nearest first. */
  outer: Map<string, string>[];
  /** Where the word that is written begins. */
  from: number;
}

const pair = /^\s*(?:"([^"]*)"|'([^']*)'|([\w.\- ]+?))\s*:(?:\s+(.*))?$/s;
const unquoted = (text: string) => text.trim().replace(/^(["'])(.*)\1$/s, "$2").replace(/\s+#.*$/, "");

function split(text: string, into: Map<string, string>) {
  const found = pair.exec(text.replace(/^(\s*- )+/, (dashes) => " ".repeat(dashes.length)));
  if (found) into.set(found[1] ?? found[2] ?? found[3]!, unquoted(found[4] ?? ""));
  return found;
}

/** Where the flow mapping begins that is open at a position; -1 if none is. */
function openBrace(text: string, pos: number): number {
  let depth = 0;
  let quote = "";
  const open: number[] = [];
  const start = Math.max(0, text.lastIndexOf("\n", Math.max(0, pos - 3000)));
  for (let i = start; i < pos; i++) {
    const c = text[i]!;
    if (quote) {
      if (c === quote || c === "\n") quote = "";
    } else if ((c === '"' || c === "'") && /[\s,:[{]/.test(text[i - 1] ?? " ")) quote = c;
    else if (c === "#" && /\s/.test(text[i - 1] ?? " ")) i = (text.indexOf("\n", i) + 1 || text.length) - 1;
    else if (c === "{") { open.push(i); depth++; }
    else if (c === "}" && depth > 0) { open.pop(); depth--; }
  }
  return open.at(-1) ?? -1;
}

/** The parts of a flow mapping between commas, from one position on. */
function parts(text: string, from: number, to: number): { text: string; from: number; closed: boolean }[] {
  const all: { text: string; from: number; closed: boolean }[] = [];
  let depth = 0;
  let quote = "";
  let begin = from;
  for (let i = from; i < to; i++) {
    const c = text[i]!;
    if (quote) {
      if (c === quote || c === "\n") quote = "";
    } else if ((c === '"' || c === "'") && /[\s,:[{]/.test(text[i - 1] ?? " ")) quote = c;
    else if (c === "{" || c === "[") depth++;
    else if (c === "}" || c === "]") {
      if (depth === 0) {
        all.push({ text: text.slice(begin, i), from: begin, closed: true });
        return all;
      }
      depth--;
    } else if (c === "," && depth === 0) {
      all.push({ text: text.slice(begin, i), from: begin, closed: false });
      begin = i + 1;
    }
  }
  all.push({ text: text.slice(begin, to), from: begin, closed: false });
  return all;
}

export function placeOf(text: string, pos: number): Place {
  const brace = openBrace(text, pos);
  return brace < 0 ? inBlock(text, pos) : inFlow(text, pos, brace);
}

function inFlow(text: string, pos: number, brace: number): Place {
  const outside = placeOf(text, brace);
  const siblings = new Map<string, string>();
  let key: string | undefined;
  let from = pos;
  for (const p of parts(text, brace + 1, Math.min(text.length, pos + 1500))) {
    const here = p.from <= pos && pos <= p.from + p.text.length;
    if (!here) {
      split(p.text, siblings);
      continue;
    }
    const written = text.slice(p.from, pos);
    const found = /^\s*([\w.-]+)\s*:\s+(["']?)/.exec(written);
    key = found?.[1];
    from = p.from + (found ? found[0].length : written.length - written.trimStart().length);
  }
  const path = outside.key === undefined ? outside.path : [...outside.path, outside.key];
  return { path, key, siblings, outer: [outside.siblings, ...outside.outer], from };
}

interface Line {
  indent: number;
  /** Whether the line begins an item of a list, at indent - 2. */
  item: boolean;
  text: string;
}

function lineOf(text: string): Line | undefined {
  const found = /^(\s*)((?:- +)*)(.*)$/.exec(text)!;
  if (found[3] === "" && found[2] === "" || found[3]!.startsWith("#")) return undefined;
  return { indent: found[1]!.length + found[2]!.length, item: found[2] !== "", text: found[3]! };
}

function inBlock(text: string, pos: number): Place {
  const before = text.slice(0, pos).split("\n");
  const after = text.slice(pos).split("\n").slice(1);
  const current = before.pop()!;
  const head = /^(\s*)((?:- +)*)/.exec(current)!;
  const indent = head[0].length;
  const found = /^([\w.-]+)\s*:\s+(["']?)/.exec(current.slice(indent));
  const start = pos - current.length;
  const siblings = new Map<string, string>();
  const outer: Map<string, string>[] = [];
  const path: string[] = [];
  let level = indent;
  let own = siblings;
  let item = head[2] !== "";
  const gather = (lines: string[]) => {
    for (const l of lines) {
      const line = lineOf(l);
      if (!line) continue;
      if (line.indent < indent || line.item && line.indent <= indent) break;
      if (line.indent === indent) split(line.text, siblings);
    }
  };
  for (let n = before.length - 1; n >= 0; n--) {
    const line = lineOf(before[n]!);
    if (!line) continue;
    if (line.indent === level && !item) {
      split(line.text, own);
      item = line.item;
    } else if (line.indent < level) {
      const name = /^([\w.\- ]+?)\s*:\s*(?:#.*)?$/.exec(line.text)?.[1];
      if (name === undefined && !line.item) continue;
      if (name !== undefined) path.unshift(name);
      own = new Map();
      outer.push(own);
      level = line.indent;
      item = line.item;
      split(line.text, own);
    }
  }
  gather(after);
  return { path, key: found?.[1], siblings, outer, from: start + indent + (found ? found[0].length : 0) };
}
