import type { LookupFunction } from 'node:net'
import { GatewayError } from '../errors.ts'
import type { NodeSettings } from '../upstream/node/parse-node.ts'
import type { Pool } from '../upstream/pool/pool.ts'
import type { UpstreamTls } from '../upstream/tls.ts'
import type { OutgoingCall } from './call.ts'
import { PlainCaller } from './http/caller.ts'
import { Channel } from './ws/channel.ts'

/** Client of a node that opens as many connections as its calls need. */
export interface Caller {
  /** Number of calls in flight or waiting for a connection. */
  readonly pending: number
  /** Sends a call. A call that cannot be sent may fail before the method returns. */
  readonly call: (call: OutgoingCall) => void
  /** Stops accepting calls, and closes the connections when the calls in flight have ended. */
  readonly drain: () => void
  /** Closes the connections. Calls in flight are lost. */
  readonly close: () => void
}

export interface Callee extends Pick<NodeSettings, 'host' | 'port' | 'secure' | 'protocol'> {
  readonly pool: Pool
  /** DNS lookup; undefined for the system resolver. */
  readonly lookup?: LookupFunction | undefined
  /** @default verified by the system's authorities */
  readonly tls?: UpstreamTls | undefined
  /** `Host` for calls over HTTP; host and port if undefined. */
  readonly hostHeader?: string | undefined
}

/** Caller for gRPC nodes: gRPC requests are forwarded to them, other calls fail with 501. */
const NO_CALLER: Caller = {
  pending: 0,
  call(call) {
    call.release()
    const detail = `${call.service} speaks gRPC: call it with gRPC or gRPC-Web`
    call.onFail(new GatewayError(call.service, 501, detail, { repeatable: false }))
  },
  drain() {},
  close() {},
}

/** Creates the client for the protocol of a node (docs/protocol.md). */
export function createCaller(callee: Callee): Caller {
  const { host, port, secure, protocol, lookup, tls } = callee
  if (protocol === 'grpc') return NO_CALLER
  if (protocol !== 'mx') return new PlainCaller(callee.pool, callee)
  return new Channel({
    host,
    port,
    secure,
    lookup,
    tls,
    // Read for each connection, because a reload may change it.
    get connectTimeoutMs() {
      return callee.pool.connectTimeoutMs
    },
  })
}
