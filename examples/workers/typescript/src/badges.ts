// Orders badges. It stands for a service of yours that accepts an idempotency key.
import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const directory = process.env.BADGES_DIR ?? 'badges';

// order returns the id of a new badge, or of the badge that was ordered with the same key.
export async function order(idempotencyKey: string, userId: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const badge = createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 16);
  const temporary = join(directory, randomUUID());
  await writeFile(temporary, JSON.stringify({ badge, user: userId }));
  try {
    await link(temporary, join(directory, `${badge}.json`)); // fails if the badge exists
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'EEXIST') throw e;
  } finally {
    await unlink(temporary);
  }
  return badge;
}

// find returns the id of the user's badge.
export async function find(userId: string): Promise<string | undefined> {
  await mkdir(directory, { recursive: true });
  for (const name of (await readdir(directory)).sort()) {
    if (!name.endsWith('.json')) continue;
    const { badge, user } = JSON.parse(await readFile(join(directory, name), 'utf8'));
    if (user === userId) return badge;
  }
  return undefined;
}
