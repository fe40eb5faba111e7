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
  account: async () => {
    const { resource } = await newClient().getDatabaseAccount();
    assert.equal(resource.consistencyPolicy, 'Strong');
  },
  containers: async () => {
    const { database } = await newClient().databases.create({ id: 'containers' });
    const { container: c } = await database.containers.create({ id: 'one', partitionKey: { paths: ['/pk'] } });
    assert.deepEqual((await c.read()).resource.indexingPolicy.includedPaths, [{ path: '/*' }]);
    assert.equal((await database.containers.readAll().fetchAll()).resources.length, 1);
    assert.equal((await database.containers.query("SELECT * FROM c WHERE c.id = 'one'").fetchAll()).resources.length, 1);
    const databases = (await newClient().databases.readAll().fetchAll()).resources;
    assert(databases.some((d) => d.id === 'containers'));
    await c.delete();
    await database.delete();
    await fails(404, database.read());
  },
  statuses: async () => {
    const c = await container('statuses');
    await c.items.create({ id: '1', pk: 'p' });
    await fails(409, c.items.create({ id: '1', pk: 'p' }));
    await fails(404, c.item('2', 'p').replace({ id: '2', pk: 'p' }));
    await fails(404, c.item('1', 'q').delete());
    await fails(412, c.item('1', 'p').delete({ accessCondition: { type: 'IfMatch', condition: '"0"' } }));
  },
  upsert: async () => {
    const c = await container('upsert');
    assert.equal((await c.items.upsert({ id: '1', pk: 'p', n: 1 })).statusCode, 201);
    assert.equal((await c.items.upsert({ id: '1', pk: 'p', n: 2 })).statusCode, 200);
    assert.equal((await c.item('1', 'p').read()).resource.n, 2);
  },
  patch: async () => {
    const c = await container('patch');
    await c.items.create({ id: '1', pk: 'p', n: 1 });
    const operations = [{ op: 'set', path: '/text', value: 'x' }, { op: 'incr', path: '/n', value: 2 }];
    const { resource } = await c.item('1', 'p').patch(operations);
    assert.deepEqual([resource.text, resource.n], ['x', 3]);
    await fails(412, c.item('1', 'p').patch({ condition: 'FROM c WHERE c.n = 1', operations }));
    assert.equal((await c.item('1', 'p').read()).resource.n, 3);
  },
  batch: async () => {
    const c = await container('batch');
    await c.items.create({ id: '1', pk: 'p', n: 1 });
    const { code, result } = await c.items.batch([
      { operationType: 'Create', resourceBody: { id: '2', pk: 'p' } },
      { operationType: 'Replace', id: '1', resourceBody: { id: '1', pk: 'p', n: 2 } },
      { operationType: 'Patch', id: '1', resourceBody: { operations: [{ op: 'incr', path: '/n', value: 5 }] } },
      { operationType: 'Delete', id: '2' },
    ], 'p');
    assert.equal(code, 200);
    assert.deepEqual(result.map((r) => r.statusCode), [201, 200, 200, 204]);
    assert.equal((await c.item('1', 'p').read()).resource.n, 7);
  },
  'batch-rollback': async () => {
    const c = await container('batch-rollback');
    await c.items.create({ id: '1', pk: 'p' });
    const { code, result } = await c.items.batch([
      { operationType: 'Create', resourceBody: { id: '2', pk: 'p' } },
      { operationType: 'Create', resourceBody: { id: '1', pk: 'p' } },
    ], 'p');
    assert.equal(code, 207);
    assert.deepEqual(result.map((r) => r.statusCode), [424, 409]);
    assert.equal((await c.item('2', 'p').read()).statusCode, 404);
  },
  'partition-query': async () => {
    const c = await spread('partition-query');
    const options = { partitionKey: 'p', maxItemCount: 2 };
    assert.deepEqual(await all(c, 'SELECT VALUE c.n FROM c ORDER BY c.n DESC', options), [8, 6, 4, 2, 0]);
    assert.deepEqual(await all(c, 'SELECT VALUE COUNT(1) FROM c', options), [5]);
    const first = await c.items.query('SELECT VALUE c.n FROM c ORDER BY c.n', options).fetchNext();
    assert.deepEqual(first.resources, [0, 2]);
    const next = { ...options, continuationToken: first.continuationToken };
    assert.deepEqual((await c.items.query('SELECT VALUE c.n FROM c ORDER BY c.n', next).fetchNext()).resources, [4, 6]);
  },
  'all-partitions': async () => {
    const c = await spread('all-partitions');
    for (const options of [{}, { maxItemCount: 3 }]) {
      assert.deepEqual((await all(c, 'SELECT VALUE c.n FROM c WHERE c.n > 5', options)).sort(), [6, 7, 8, 9]);
    }
    assert.equal((await c.items.readAll().fetchAll()).resources.length, 10);
  },
  'all-partitions-order': async () => {
    const c = await spread('all-partitions-order');
    for (const options of [{}, { maxItemCount: 3 }]) {
      assert.deepEqual(await all(c, 'SELECT VALUE c.n FROM c ORDER BY c.n DESC', options), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
      assert.deepEqual(await all(c, 'SELECT VALUE COUNT(1) FROM c WHERE c.n > 2', options), [7]);
      assert.deepEqual(await all(c, 'SELECT TOP 4 VALUE c.n FROM c ORDER BY c.n', options), [0, 1, 2, 3]);
      assert.deepEqual(await all(c, 'SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 4 LIMIT 3', options), [4, 5, 6]);
    }
  },
  'hierarchical-key': async () => {
    const c = await hierarchy('hierarchical-key');
    assert.equal((await c.item('1', ['a', 'x']).read()).resource.n, 1);
    assert.deepEqual(await all(c, 'SELECT VALUE c.n FROM c', { partitionKey: ['a', 'y'] }), [2]);
  },
  'hierarchical-prefix': async () => {
    const c = await hierarchy('hierarchical-prefix');
    assert.deepEqual(await all(c, 'SELECT VALUE c.n FROM c ORDER BY c.n', { partitionKey: ['a'] }), [1, 2]);
  },
  bulk: async () => {
    const c = await container('bulk');
    await c.items.create({ id: '7', pk: 'p7' });
    const operations = Array.from({ length: 50 }, (_, i) => (
      { operationType: 'Create', partitionKey: `p${i}`, resourceBody: { id: `${i}`, pk: `p${i}` } }));
    const results = await c.items.executeBulkOperations(operations);
    assert.deepEqual(results.filter((r) => r.response?.statusCode !== 201).map((r) => r.error?.code), [409]);
    assert.deepEqual(await all(c, 'SELECT VALUE COUNT(1) FROM c'), [50]);
  },
  'too-large': async () => {
    const c = await container('too-large');
    await fails(413, c.items.create({ id: '1', pk: 'p', text: 'x'.repeat(3 << 20) }));
  },
  'wrong-partition-key': async () => {
    const c = await container('wrong-partition-key');
    await c.items.create({ id: '1', pk: 'p' });
    assert.equal((await fails(400, c.item('1', 'p').replace({ id: '1', pk: 'q' }))).substatus, 1001);
  },
  'missing-container': async () => {
    const c = (await container('missing-container')).database.container('none');
    assert.equal((await fails(404, c.item('1', 'p').replace({ id: '1', pk: 'p' }))).substatus, 1003);
  },
  'wrong-key': async () => {
    const client = new CosmosClient({ endpoint: process.env.COSMOS_ENDPOINT, key: Buffer.from('wrong').toString('base64') });
    await fails(401, client.databases.create({ id: 'wrong-key' }));
  },
  'change-feed': async () => {
    const c = await spread('change-feed');
    await c.items.getChangeFeedIterator({}).readNext();
  },
  'stored-procedures': async () => {
    const c = await container('stored-procedures');
    await c.scripts.storedProcedures.create({ id: 'f', body: 'function f() {}' });
  },
  'unique-keys': async () => {
    const { database } = await newClient().databases.createIfNotExists({ id: 'clients' });
    await database.containers.create({ id: 'unique-keys', partitionKey: { paths: ['/pk'] }, uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/n'] }] } });
  },
};

function newClient() {
  return new CosmosClient({ endpoint: process.env.COSMOS_ENDPOINT, key: process.env.COSMOS_KEY });
}

// container creates a container with the partition key /pk.
async function container(id, partitionKey = { paths: ['/pk'] }) {
  const { database } = await newClient().databases.createIfNotExists({ id: 'clients' });
  return (await database.containers.create({ id, partitionKey })).container;
}

// spread creates a container with 10 items: those with an even n in partition p, the others in q.
async function spread(id) {
  const c = await container(id);
  for (let n = 9; n >= 0; n--) await c.items.create({ id: `${n}`, pk: n % 2 ? 'q' : 'p', n });
  return c;
}

// hierarchy creates a container with three items under a key of two levels.
async function hierarchy(id) {
  const c = await container(id, { paths: ['/a', '/b'], kind: 'MultiHash', version: 2 });
  for (const [a, b, n] of [['a', 'x', 1], ['a', 'y', 2], ['b', 'x', 3]]) await c.items.create({ id: `${n}`, a, b, n });
  return c;
}

async function all(c, query, options = {}) {
  return (await c.items.query(query, options).fetchAll()).resources;
}

// fails checks the status of an error and returns the error.
async function fails(status, promise) {
  try { await promise; } catch (e) { assert.equal(e.code, status, `${e.code}: ${e.message}`); return e; }
  assert.fail(`no status ${status}`);
}
