/**
 * Who a task belongs to. Two principals are the same exactly when their keys are equal:
 * a user of one OAuth client never sees the tasks of another user of that client.
 */
export type Principal =
  /** The person at the other end of a stdio pipe. */
  | { readonly kind: 'local' }
  /** Anyone on HTTP where no authentication is configured, or none was offered. */
  | { readonly kind: 'anonymous' }
  /** An authenticated caller. The client counts only where there is no subject. */
  | {
      readonly kind: 'user';
      readonly issuer: string;
      readonly subject?: string;
      readonly tenant?: string;
      readonly client?: string;
    };

export const LOCAL: Principal = { kind: 'local' };
export const ANONYMOUS: Principal = { kind: 'anonymous' };

/** The text under which a principal's tasks are kept; unequal principals have unequal keys. */
export function principalKey(principal: Principal): string {
  if (principal.kind !== 'user') return principal.kind;
  const { issuer, subject, tenant, client } = principal;
  return JSON.stringify([issuer, tenant ?? null, subject ?? null, subject === undefined ? (client ?? null) : null]);
}

/** The principal that `principalKey` made a key of; what the key leaves out stays out. */
export function principalOf(key: string): Principal {
  if (key === 'local') return LOCAL;
  if (key === 'anonymous') return ANONYMOUS;
  const [issuer, tenant, subject, client] = JSON.parse(key) as [string, string | null, string | null, string | null];
  return {
    kind: 'user',
    issuer,
    ...(tenant === null ? {} : { tenant }),
    ...(subject === null ? {} : { subject }),
    ...(client === null ? {} : { client }),
  };
}
