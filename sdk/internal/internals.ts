import type { TokenSource } from '../../core/contracts/token-source.ts'
import type { CheckedBroker } from '../../domain/broker/broker.ts'
import type { LocalService } from '../client/call-options.ts'
import type { Traces } from '../tracing/traces.ts'

/** The broker of a service. */
export interface BrokerAccess {
  /** The configured broker, opened on first use; undefined if the service uses the platform's. */
  readonly find: () => CheckedBroker | undefined
  /** Registers a function to run when the service closes. */
  readonly onClose: (close: () => Promise<void>) => void
}

/** Parts of a service or client that the modules of this package share, hidden from its public interface. */
export interface Internals {
  /** Broker of a service. */
  broker?: BrokerAccess
  /** In-process interface of a service. */
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

/** The internals of a service or client; undefined if it has none. */
export function findInternals(owner: object): Internals | undefined {
  return (owner as Owner)[INTERNALS]
}

/** The internals of a service or client, created on demand. Not enumerable, so that logs and copies omit them. */
export function internalsOf(owner: object): Internals {
  const existing = findInternals(owner)
  if (existing !== undefined) return existing
  const internals: Internals = {}
  Object.defineProperty(owner, INTERNALS, { value: internals })
  return internals
}
