import assert from 'node:assert/strict';
import { ClientSecretCredential } from '@azure/identity';
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';

const env = process.env;

export const cases = {
  upload: async () => {
    const b = (await container('upload')).getBlockBlobClient('a folder/größe.txt');
    await b.upload('hello', 5, { blobHTTPHeaders: { blobContentType: 'text/plain' }, metadata: { generation: '7' } });
    assert.equal((await b.downloadToBuffer()).toString(), 'hello');
    const p = await b.getProperties();
    assert.deepEqual([p.contentType, p.contentLength, p.metadata.generation], ['text/plain', 5, '7']);
  },
  conditions: async () => {
    const b = (await container('conditions')).getBlockBlobClient('a');
    const { etag } = await put(b, 'one', { ifNoneMatch: '*' });
    await fails(409, put(b, 'two', { ifNoneMatch: '*' }));
    await put(b, 'two', { ifMatch: etag });
    await fails(412, put(b, 'three', { ifMatch: etag }));
    assert.equal((await b.downloadToBuffer()).toString(), 'two');
  },
  list: async () => {
    const c = await container('list');
    for (const name of ['a/1', 'a/2', 'a/3', 'b/1']) await c.getBlockBlobClient(name).upload(name, 3, { metadata: { name: name.at(-1) } });
    const pages = [];
    for await (const page of c.listBlobsFlat({ prefix: 'a/', includeMetadata: true }).byPage({ maxPageSize: 2 })) {
      pages.push(page.segment.blobItems.map((item) => `${item.name} ${item.metadata.name}`));
    }
    assert.deepEqual(pages, [['a/1 1', 'a/2 2'], ['a/3 3']]);
  },
  delete: async () => {
    const b = (await container('delete')).getBlockBlobClient('a');
    const { etag } = await put(b, 'one');
    await put(b, 'two');
    await fails(412, b.delete({ conditions: { ifMatch: etag } }));
    await b.delete();
    await fails(404, b.delete());
    await fails(404, b.getProperties());
  },
  container: async () => {
    const c = await container('container');
    await fails(409, c.create());
    await put(c.getBlockBlobClient('a'), 'one');
    await c.delete();
    await fails(404, put(c.getBlockBlobClient('a'), 'one'));
  },
  'append-blob': async () => (await container('append')).getAppendBlobClient('a').create(),
  'shared-key': () => new BlobServiceClient(env.BLOB_ENDPOINT, new StorageSharedKeyCredential('local', 'a2V5')).createContainer('shared-key'),
};

// container creates a container.
async function container(name) {
  const options = { authorityHost: env.ENTRA_AUTHORITY, disableInstanceDiscovery: true };
  const credential = new ClientSecretCredential(env.TENANT_ID, env.CLIENT_ID, env.CLIENT_SECRET, options);
  const c = new BlobServiceClient(env.BLOB_ENDPOINT, credential).getContainerClient(name);
  await c.create();
  return c;
}

const put = (b, text, conditions) => b.upload(text, text.length, { conditions });

// fails checks the status of an error.
const fails = (status, promise) => assert.rejects(promise, (e) => e.statusCode === status);
