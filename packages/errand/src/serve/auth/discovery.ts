import { allowInsecureRequests, customFetch, discoveryRequest, processDiscoveryResponse } from 'oauth4webapi';
import { isLoopback } from '../http/gate.ts';
import { fetchDocument } from './documents.ts';

/** The URL of an issuer's keys, by its metadata: that of OAuth (RFC 8414), else that of OpenID Connect. */
export async function discoverKeysUrl(issuer: string): Promise<URL> {
  const url = new URL(issuer);
  const failures: unknown[] = [];
  for (const algorithm of ['oauth2', 'oidc'] as const) {
    try {
      const response = await discoveryRequest(url, {
        algorithm,
        [customFetch]: (at, { method, headers }) => fetchDocument(at, { method, headers }),
        [allowInsecureRequests]: isLoopback(url.hostname),
      });
      const { jwks_uri: keys } = await processDiscoveryResponse(url, response);
      if (keys !== undefined) return secureUrl(keys, 'jwks_uri');
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, `the metadata of ${issuer} names no keys`);
}

/** Parses the URL of something that decides who is let in. Throws where others on the network could change its answer. */
export function secureUrl(text: string, name: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))) return url;
  throw new TypeError(`${name} is an https URL, or one of this machine; ${JSON.stringify(text)} is none`);
}
