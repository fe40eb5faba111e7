// Runs the cases of local/clients with the packages for JavaScript.
import { readFileSync } from 'node:fs';
import { cases as blob } from './blob.mjs';
import { cases as cosmos } from './cosmos.mjs';
import { cases as servicebus } from './servicebus.mjs';

const client = 'js';
const limit = 60; // seconds that a case may take
const programs = { servicebus, cosmos, blob };

// execute returns the error of a case.
async function execute(f) {
  if (!f) return new Error(`the ${client} client does not implement the case`);
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`no end within ${limit}s`)), limit * 1000); });
  try {
    await Promise.race([f(), late]);
  } catch (e) {
    return e;
  } finally {
    clearTimeout(timer);
  }
}

// judge compares the error of a case with the refusal that cases.json expects.
function judge(error, refused) {
  if (!error) return refused ? ['FAIL', `the server does not refuse ${refused}`] : ['PASS', ''];
  const note = `${error.name} ${error.code ?? ''}: ${error.message ?? error}`.replace(/\s+/g, ' ');
  return [refused && note.toLowerCase().includes(refused.toLowerCase()) ? 'REFUSED' : 'FAIL', note];
}

const [list, ...prefixes] = process.argv.slice(2);
const count = { PASS: 0, FAIL: 0, REFUSED: 0 };
for (const c of JSON.parse(readFileSync(list))) {
  const name = `${c.service}/${c.name}`;
  if ((prefixes.length && !prefixes.some((p) => name.startsWith(p))) || c.without?.[client]) continue;
  const [outcome, note] = judge(await execute(programs[c.service][c.name]), c.refused);
  count[outcome]++;
  console.log(note ? `${outcome} ${name}: ${note}` : `${outcome} ${name}`);
}
console.log(`${count.PASS} passed, ${count.FAIL} failed, ${count.REFUSED} refused`);
process.exit(count.FAIL ? 1 : 0);
