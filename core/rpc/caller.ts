import type { LookupFunction } from 'node:net'
import { GatewayError } from '../errors.ts'
import type { NodeSettings } from '../upstream/parse-node.ts'
import type { Pool } from '../upstream/pool/pool.ts'
import type { OutgoingCall } from './call.ts'
import { PlainCaller } from './http/caller.ts'
import { Channel } from './ws/channel.ts'

/** Carries calls to one node, over as many connections as they need. */
export interface Caller {
  /** Calls under way, and those that wait. */
  readonly pending: number
  /** Sends a call. One that cannot be sent may be told so before the method returns. */
  readonly call: (call: OutgoingCall) => void
  /** Takes no more calls, and closes its connections when those under way are over. */
  readonly drain: () => void
  /** Closes its connections; calls under way are lost. */
  readonly close: () => void
}

/** Where calls go. */
export interface Callee extends Pick<NodeSettings, 'host' | 'port' | 'secure' | 'protocol'> {
  /** Its connections for HTTP. */
  readonly pool: Pool
  /** Resolves its host name; undefined: the system does. */
  readonly lookup?: LookupFunction | undefined
}

/** Of nodes that speak gRPC: what comes as gRPC is forwarded to them, calls in other forms are not. */
const NO_CALLER: Caller = {
  pending: 0,
  call(call) {
    call.release()
    const detail = `${call.service} speaks gRPC: call it by gRPC or gRPC-Web`
    call.onFail(new GatewayError(call.service, 501, detail, { repeatable: false }))
  },
  drain() {},
  close() {},
}

/** Calls to a node in the form of the protocol that it speaks (docs/protocol.md). */
export function createCaller(callee: Callee): Caller {
  const { host, port, secure, protocol, lookup } = callee
  if (protocol === 'grpc') return NO_CALLER
  if (protocol !== 'mx') return new PlainCaller(callee.pool, { host, port })
  return new Channel({
    host,
    port,
    secure,
    lookup,
    // Asked for when a connection is made: a reload may change it.
    get connectTimeoutMs() {
      return callee.pool.connectTimeoutMs
    },
  })
}
