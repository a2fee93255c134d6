import type { TokenSource } from '../../core/contracts/token-source.ts'
import type { Caller } from '../../core/rpc/caller.ts'
import type { Upstream } from '../../core/upstream/upstream.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { Traces } from '../tracing/traces.ts'

/** A service of this process, called without sockets. */
export interface LocalService {
  /** Full name. */
  readonly name: string
  readonly caller: Caller
}

/** What the calls of a client have in common. */
export interface CallRouter {
  /**
   * Where calls of a service go; undefined: nobody knows it.
   *
   * @param address of one node; undefined: whichever there is.
   */
  readonly find: (
    service: string,
    address: string | undefined,
  ) => Maybe<Upstream | LocalService | undefined>
  /** Whether an address may be shown who the client is: it is where all its calls go, or one of a node the registry tells of. */
  readonly isKnown: (service: string, address: string) => Maybe<boolean>
  /** Name of the {@link Upstream} that is a proxy; undefined: none. */
  readonly proxy: string | undefined
  /** Aborts when the client is closed: its streams end. */
  readonly closing: AbortSignal
  /** Where calls are kept for `Debug.Trace`. */
  readonly traces: Traces | undefined
}

/** How a call is to be made. */
export interface CallPlan {
  readonly service: string
  /** `<Handler>.<Method>` */
  readonly endpoint: string
  /** Metadata block. */
  readonly metadata: string
  /** Milliseconds for the call, whatever it takes; 0: no deadline. */
  readonly timeoutMs: number
  /** How often it is repeated at most. */
  readonly retries: number
  readonly address: string | undefined
  /** Give the call up. */
  readonly signal: AbortSignal | undefined
  readonly contextSignal: AbortSignal | undefined
  /** Whose call it is; undefined: what its metadata say. */
  readonly tokens: TokenSource | undefined
  /** Whether replies are JSON text, not what it says. */
  readonly asText: boolean
}
