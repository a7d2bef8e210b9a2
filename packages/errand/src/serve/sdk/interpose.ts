import type { JSONRPCMessage, MessageExtraInfo, Transport, TransportSendOptions } from '@modelcontextprotocol/server';
import type { JsonRpcMessage } from '../exchange.ts';

/** What happens between a host's transport and the server that is connected to it. */
export interface Between {
  /** The host has a message for the server. */
  receive(message: JsonRpcMessage, extra?: MessageExtraInfo): void;
  /** The server has a message for the host. */
  send(message: JsonRpcMessage, options?: TransportSendOptions): Promise<void>;
  closed(): void;
}

/** Both ends of an interposed transport. */
export interface Interposed {
  /** What to connect the server to. */
  readonly transport: Transport;
  /** Gives a message to the server. */
  deliver(message: JsonRpcMessage, extra?: MessageExtraInfo): void;
}

/**
 * Puts something between a transport and its server. The server gets a proxy of the transport,
 * since a transport is an open set of members, and the SDK also asks for its class.
 */
export function interpose(host: Transport, between: Between): Interposed {
  let onmessage = host.onmessage;
  const send = async (message: JSONRPCMessage, options?: TransportSendOptions) =>
    between.send(message as JsonRpcMessage, options);
  const receive = (message: JSONRPCMessage, extra?: MessageExtraInfo) =>
    between.receive(message as JsonRpcMessage, extra);
  const transport = new Proxy(host, {
    get(_, key) {
      if (key === 'send') return send;
      if (key === 'onmessage') return onmessage;
      const value: unknown = Reflect.get(host, key, host);
      return typeof value === 'function' ? (value.bind(host) as unknown) : value;
    },
    set(_, key, value) {
      if (key === 'onmessage') {
        onmessage = value as Transport['onmessage'];
        return Reflect.set(host, key, receive, host);
      }
      if (key !== 'onclose') return Reflect.set(host, key, value, host);
      const onclose = value as Transport['onclose'];
      const closed = () => {
        between.closed();
        onclose?.();
      };
      return Reflect.set(host, key, closed, host);
    },
  });
  return { transport, deliver: (message, extra) => onmessage?.(message as JSONRPCMessage, extra) };
}
