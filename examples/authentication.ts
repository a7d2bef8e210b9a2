// Callers prove who they are by bearer tokens. A task belongs to its caller; for everybody else it is not there.
import assert from 'node:assert/strict';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { taskId } from '@modelcontextprotocol/ext-tasks/core';
import { createErrand } from 'errand';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { connect, resultOf } from './client.ts';

// What stands for an authorization server here: its name, its public key, and tokens that it signs.
const issuer = 'https://login.example';
const { publicKey, privateKey } = await generateKeyPair('ES256');
const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] };
const tokenOf = (subject: string, audience: string) =>
  new SignJWT({ client_id: 'notes-app', scope: 'notes' })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(subject)
    .setExpirationTime('1h')
    .sign(privateKey);

const errand = createErrand({ name: 'notes', version: '1.0.0' });

errand.tool('write', { task: 'always', pollInterval: '50ms' }, (_args, task) => {
  const who = task.principal.kind === 'user' ? task.principal.subject : task.principal.kind;
  return `written for ${who}`;
});

// Without `jwks` the keys are found through the metadata of the issuer.
const { url } = await errand.serve({ port: 0, auth: { mode: 'required', issuer, jwks, scopes: ['notes'] } });

// Without a token a client is told where to get one.
const refused = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
const challenge = refused.headers.get('www-authenticate')!;
console.log(`${refused.status} ${challenge}`);
assert.equal(refused.status, 401);
const metadata = await fetch(/resource_metadata="([^"]+)"/.exec(challenge)![1]!);
assert.deepEqual(await metadata.json(), {
  resource: url,
  authorization_servers: [issuer],
  bearer_methods_supported: ['header'],
  scopes_supported: ['notes'],
});

/** Connects as somebody, always through the same OAuth client. */
async function connectAs(subject: string) {
  const authProvider = { token: () => tokenOf(subject, url) };
  return connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }), undefined, url);
}

const ann = await connectAs('ann');
const execution = await ann.tasks.callTool('write', {});
const { content } = await resultOf(execution);
console.log(content);
assert.deepEqual(content, [{ type: 'text', text: 'written for ann' }]);

// Bob has the id, which does not help him.
const bob = await connectAs('bob');
const id = taskId(execution.handle!.taskId);
const stolen = { generation: 'v2', originalOperation: 'tools/call', endpointId: url, taskId: id } as const;
await assert.rejects(async () => resultOf(await bob.tasks.resumeTask(stolen)), /not found/i);
console.log('to bob there is no such task');

await Promise.all([ann.close(), bob.close()]);
await errand.close();
