import {
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type Client,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
} from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import { describe, expect, test } from 'vitest';
import { APP, authorizationServer, ROBOT, type AuthorizationServer } from './fixtures/authorization-server.ts';
import { officialClient } from './fixtures/connections.ts';
import { served } from './fixtures/served.ts';
import { textOf, wireClient } from './fixtures/wire.ts';

// The official client finds its way from our 401 to a token of a real authorization server (oidc-provider), and back.

/** A server whose one tool says who called it. */
function servedFor({ issuer }: AuthorizationServer) {
  return served(
    (errand) => {
      errand.tool('whoami', { task: 'always' }, (_args, task) => JSON.stringify(task.principal));
      errand.tool('hello', { task: 'never' }, (_args, task) => JSON.stringify(task.principal));
    },
    { http: { auth: { mode: 'required', issuer, scopes: ['tasks'] } } },
  );
}

/** A person in front of the app: follows the link to the authorization server, and comes back with the answer. */
class Person implements OAuthClientProvider {
  readonly redirectUrl = APP.redirectUrl;
  readonly clientMetadata = { redirect_uris: [APP.redirectUrl], token_endpoint_auth_method: 'none' };
  readonly #authorize: (url: URL) => Promise<URLSearchParams>;
  #tokens: OAuthTokens | undefined;
  #discovery: OAuthDiscoveryState | undefined;
  #verifier = '';
  answer = new URLSearchParams();

  constructor(authorize: (url: URL) => Promise<URLSearchParams>) {
    this.#authorize = authorize;
  }

  clientInformation = () => ({ client_id: APP.clientId });
  tokens = () => this.#tokens;
  saveTokens = (tokens: OAuthTokens) => void (this.#tokens = tokens);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
  discoveryState = () => this.#discovery;
  saveDiscoveryState = (state: OAuthDiscoveryState) => void (this.#discovery = state);
  redirectToAuthorization = async (url: URL) => void (this.answer = await this.#authorize(url));
}

/** Logs in as a person. Resolves with a client that is connected, and the access token. */
async function loggedIn(server: AuthorizationServer, url: string, name: string) {
  const person = new Person((page) => server.authorize(page, name));
  const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: person });
  const first = transport();
  await expect(officialClient().connect(first)).rejects.toThrow(UnauthorizedError);
  await first.finishAuth(person.answer);
  const client = officialClient();
  await client.connect(transport());
  return { client, token: person.tokens()!.access_token };
}

async function say(client: Client) {
  const { content } = await client.callTool({ name: 'hello' });
  return JSON.parse(textOf({ content: content as never })) as unknown;
}

describe('OAuth', { timeout: 30_000 }, () => {
  test('a client that acts for itself gets a token by itself, and is its own principal', async () => {
    const server = await authorizationServer();
    const { url } = await servedFor(server);
    const authProvider = new ClientCredentialsProvider({ ...ROBOT, expectedIssuer: server.issuer });
    const client = officialClient();
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }));
    expect(await say(client)).toMatchObject({ kind: 'user', issuer: server.issuer });
    const token = authProvider.tokens()!.access_token;
    expect(decodeJwt(token)).toMatchObject({ aud: url, scope: 'tasks', client_id: 'robot' });
    await client.close();
  });

  test('two people behind one app log in, and neither sees the tasks of the other (CASES 3)', async () => {
    const server = await authorizationServer();
    const { url } = await servedFor(server);
    const [ann, bob] = [await loggedIn(server, url, 'ann'), await loggedIn(server, url, 'bob')];
    expect(await say(ann.client)).toEqual({ kind: 'user', issuer: server.issuer, subject: 'ann', client: 'app' });
    expect(await say(bob.client)).toEqual({ kind: 'user', issuer: server.issuer, subject: 'bob', client: 'app' });
    const as = ({ token }: { token: string }) => wireClient(url, { headers: { authorization: `Bearer ${token}` } });
    const taskId = await as(ann).begin('whoami');
    expect(textOf(await as(ann).ended(taskId))).toContain('"subject":"ann"');
    expect(await as(bob).send('tasks/get', { taskId })).toMatchObject({ error: { code: -32602 } });
    await Promise.all([ann.client.close(), bob.client.close()]);
  });

  test('a token that the same authorization server gave for another resource opens nothing here', async () => {
    const server = await authorizationServer();
    const [{ url }, other] = [await servedFor(server), await servedFor(server)];
    const { token, client } = await loggedIn(server, other.url, 'ann');
    await client.close();
    const listAt = async (endpoint: string) =>
      (await wireClient(endpoint, { headers: { authorization: `Bearer ${token}` } }).send('tools/list')).status;
    expect([await listAt(other.url), await listAt(url)]).toEqual([200, 401]);
  });
});
