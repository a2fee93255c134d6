import type { TokenSource } from '../../core/contracts/token-source.ts'
import type { CheckedBroker } from '../../domain/broker/broker.ts'
import type { LocalService } from '../client/call-options.ts'
import type { Traces } from '../tracing/traces.ts'

/** The broker of a service. */
export interface BrokerAccess {
  /** The configured broker, opened on first use; undefined: the service uses the platform's. */
  readonly find: () => CheckedBroker | undefined
  /** Closes something with the service. */
  readonly closeToo: (close: () => Promise<void>) => void
}

/** Parts of a service or a client that the modules of this package share; not part of its interface. */
export interface Internals {
  /** Broker of a service. */
  broker?: BrokerAccess
  /** How a service is called in this process. */
  local?: LocalService
  /** Identity of a client. */
  tokens?: TokenSource
  traces?: Traces
  /** Calls of a client that begin at the end of the tick. */
  deferred?: Set<() => void>
}

const INTERNALS = Symbol('mx.internals')

interface Owner {
  readonly [INTERNALS]?: Internals
}

/** The internals of a service or a client; undefined if it has none. */
export function findInternals(owner: object): Internals | undefined {
  return (owner as Owner)[INTERNALS]
}

/** The internals of a service or a client, created if it has none. Not enumerable: logs and copies leave them out. */
export function internalsOf(owner: object): Internals {
  const known = findInternals(owner)
  if (known !== undefined) return known
  const internals: Internals = {}
  Object.defineProperty(owner, INTERNALS, { value: internals })
  return internals
}
