import type { LookupFunction } from 'node:net'
import { GatewayError } from '../errors.ts'
import type { NodeSettings } from '../upstream/node/parse-node.ts'
import type { Pool } from '../upstream/pool/pool.ts'
import type { UpstreamTls } from '../upstream/tls.ts'
import type { OutgoingCall } from './call.ts'
import { PlainCaller } from './http/caller.ts'
import { Channel } from './ws/channel.ts'

/** Client of one node, over as many connections as its calls need. */
export interface Caller {
  /** Calls in flight and calls waiting for a connection. */
  readonly pending: number
  /** Sends a call. A call that cannot be sent may fail before the method returns. */
  readonly call: (call: OutgoingCall) => void
  /** Accepts no more calls, and closes the connections when the calls in flight have ended. */
  readonly drain: () => void
  /** Closes the connections; calls in flight are lost. */
  readonly close: () => void
}

export interface Callee extends Pick<NodeSettings, 'host' | 'port' | 'secure' | 'protocol'> {
  readonly pool: Pool
  /** DNS lookup; undefined: the system resolver. */
  readonly lookup?: LookupFunction | undefined
  /** @default verified by the authorities of the system */
  readonly tls?: UpstreamTls | undefined
  /** `Host` of calls over HTTP; undefined: host and port. */
  readonly hostHeader?: string | undefined
}

/** Caller of gRPC nodes: gRPC requests are forwarded to them, other calls fail with 501. */
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
    // Read for each connection: a reload may change it.
    get connectTimeoutMs() {
      return callee.pool.connectTimeoutMs
    },
  })
}
