import type { TokenSource } from '../../core/contracts/token-source.ts'
import type { Caller } from '../../core/rpc/caller.ts'
import type { Upstream } from '../../core/upstream/upstream.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { Traces } from '../tracing/traces.ts'

/** A service in this process, called without sockets. */
export interface LocalService {
  /** Full name. */
  readonly name: string
  readonly caller: Caller
}

/** Routing shared by the calls of a client. */
export interface CallRouter {
  /**
   * Finds the target of a call; undefined for an unknown service.
   *
   * @param address address of a single node; undefined to balance across nodes.
   */
  readonly find: (
    service: string,
    address: string | undefined,
  ) => Maybe<Upstream | LocalService | undefined>
  /** True if the client's token may be sent to the address: it is configured or in the registry. */
  readonly isKnown: (service: string, address: string) => Maybe<boolean>
  /** Name of the proxy's {@link Upstream}; undefined if none. */
  readonly proxy: string | undefined
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal
  /** Records calls for `Debug.Trace`. */
  readonly traces: Traces | undefined
}

/** Settings of a call. */
export interface CallPlan {
  readonly service: string
  /** `<Handler>.<Method>` */
  readonly endpoint: string
  /** Metadata block. */
  readonly metadata: string
  /** Milliseconds for the call including all retries; 0 for no deadline. */
  readonly timeoutMs: number
  /** Maximum number of retries. */
  readonly retries: number
  readonly address: string | undefined
  /** Cancels the call. */
  readonly signal: AbortSignal | undefined
  readonly contextSignal: AbortSignal | undefined
  /** Tokens of the client; undefined if the metadata identifies the caller. */
  readonly tokens: TokenSource | undefined
  /** Returns responses as JSON text. */
  readonly asText: boolean
}
