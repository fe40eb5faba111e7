import assert from 'node:assert/strict';
import { CosmosClient } from '@azure/cosmos';

export const cases = {
  items: async () => {
    const c = await container('items');
    await c.items.create({ id: '1', pk: 'p', n: 1 });
    await c.item('1', 'p').replace({ id: '1', pk: 'p', n: 2 });
    assert.equal((await c.item('1', 'p').read()).resource.n, 2);
    await c.item('1', 'p').delete();
    assert.equal((await c.item('1', 'p').read()).statusCode, 404);
  },
  query: async () => {
    const c = await container('query');
    for (const n of [0, 1, 2]) await c.items.create({ id: `${n}`, pk: 'p', n });
    const query = { query: 'SELECT * FROM c WHERE c.n > @n ORDER BY c.n', parameters: [{ name: '@n', value: 0 }] };
    const { resources } = await c.items.query(query, { partitionKey: 'p' }).fetchAll();
    assert.deepEqual(resources.map((item) => item.n), [1, 2]);
  },
  etag: async () => {
    const c = await container('etag');
    const { resource } = await c.items.create({ id: '1', pk: 'p' });
    const options = { accessCondition: { type: 'IfMatch', condition: resource._etag } };
    await c.item('1', 'p').replace({ id: '1', pk: 'p' }, options);
    await fails(412, c.item('1', 'p').replace({ id: '1', pk: 'p' }, options));
  },
};

// container creates a container with the partition key /pk.
async function container(id) {
  const client = new CosmosClient({ endpoint: process.env.COSMOS_ENDPOINT, key: process.env.COSMOS_KEY });
  const { database } = await client.databases.createIfNotExists({ id: 'clients' });
  return (await database.containers.create({ id, partitionKey: { paths: ['/pk'] } })).container;
}

// fails checks the status of an error.
async function fails(status, promise) {
  try { await promise; } catch (e) { assert.equal(e.code, status, `${e.code}: ${e.message}`); return; }
  assert.fail(`no status ${status}`);
}
