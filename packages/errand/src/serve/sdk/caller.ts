import type { AuthInfo, MessageExtraInfo } from '@modelcontextprotocol/server';
import { ErrandError } from '../../errors.ts';
import { ANONYMOUS, LOCAL, type Principal } from '../../task/principal.ts';
import type { Inbound } from '../exchange.ts';

/** What an SDK handler finds in `ctx.http` of whoever sent a message; nothing on stdio. */
export function extraOf(inbound: Inbound): MessageExtraInfo {
  const { header, signal } = inbound;
  if (header === undefined) return {};
  const auth = authOf(inbound, header('authorization'));
  return { request: requestView(header, signal), ...(auth === undefined ? {} : { authInfo: auth }) };
}

/** A caller in the words of the SDK. Where we know of no scopes it has none, so that none is granted by mistake. */
function authOf({ principal, scopes = [] }: Inbound, authorization = ''): AuthInfo | undefined {
  if (principal.kind !== 'user') return undefined;
  const { issuer: iss, subject: sub, tenant, client } = principal;
  return {
    token: /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? '',
    clientId: client ?? sub ?? '',
    scopes: [...scopes],
    extra: { iss, ...(sub === undefined ? {} : { sub }), ...(tenant === undefined ? {} : { tenant }) },
  };
}

/**
 * The HTTP request as handlers use it: its headers, by name. A real one would cost more than most
 * handlers do, and its body has been read in any case.
 */
function requestView(header: NonNullable<Inbound['header']>, signal: AbortSignal): Request {
  const read = (name: string) => header(name.toLowerCase());
  const headers = Object.create(Headers.prototype, {
    get: { value: (name: string) => read(name) ?? null },
    has: { value: (name: string) => read(name) !== undefined },
  }) as Headers;
  return Object.create(Request.prototype, {
    method: { value: 'POST' },
    headers: { value: headers },
    signal: { value: signal },
  }) as Request;
}

/**
 * Who sent a message, by what an SDK host knows of it. Two users of one client must never pass
 * for the same, so an authenticated caller without a subject is refused.
 */
export function principalOf(extra: MessageExtraInfo | undefined): Principal {
  const auth = extra?.authInfo;
  if (auth === undefined) return extra?.request === undefined ? LOCAL : ANONYMOUS;
  const { iss, sub, tenant } = auth.extra ?? {};
  if (typeof sub !== 'string') {
    throw new ErrandError('internal', 'Internal error', {
      cause: new Error(
        'attach: authInfo.extra.sub is missing; have the token verifier set it, or pass `principal` to attach',
      ),
    });
  }
  return {
    kind: 'user',
    issuer: typeof iss === 'string' ? iss : '',
    subject: sub,
    client: auth.clientId,
    ...(typeof tenant === 'string' ? { tenant } : {}),
  };
}
