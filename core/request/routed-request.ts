import type { CallTarget } from '../auth/policy/decision.ts'
import type { Handler } from '../chain.ts'
import type { Account, Session } from '../contracts/auth.ts'
import type { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import type { Route } from '../route.ts'
import type { TransportFailure } from '../rpc/call.ts'
import type { ExchangeTrace } from '../tracing/exchange-trace.ts'
import type { FailureKind } from '../upstream/call.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { ExplicitTarget } from './explicit-target.ts'
import { IncomingRequest } from './incoming-request.ts'

/** A request with what plugins, the resolver and the handler have determined: caller, route, nodes and attempts. */
export abstract class RoutedRequest extends IncomingRequest {
  /** Error for a malformed request: set by the listener, sent by the gateway. */
  malformed: GatewayError | undefined = undefined
  /** Request id (`request-id` plugin). */
  id = ''
  /** Whether the client is unknown, because a proxy sent no trusted client address (`forwarded` plugin). */
  relayed = false
  /** Prefix of service names (`namespace` plugin); empty if none. */
  namespace = ''
  /** Session of the caller, set by a plugin; undefined if anonymous. */
  session: Session | undefined = undefined
  /**
   * The account belongs to a different namespace than the request, so services and backends see an anonymous caller.
   */
  isCrossNamespace = false
  /** Whether a plugin authenticated the caller without a session, so that responses may depend on the caller. */
  hasCaller = false
  /** Error for rejected credentials. It becomes the response unless another plugin accepts them. */
  refusal: GatewayError | undefined = undefined
  /** Authorized target (`auth` plugin), unchanged by later rewrites of the path. */
  authorizedTarget: CallTarget | undefined = undefined
  /** Called before the request is proxied, to remove headers intended only for services. */
  beforeProxy: ((x: Exchange) => void) | undefined = undefined
  /** Set by the resolver. */
  route: Route | undefined = undefined
  /** Whether the request is proxied instead of becoming a call, so that its target is the path. Known after routing. */
  proxied = false
  /** Handler that forwards the request. Known after routing. */
  handler: Handler | undefined = undefined
  /** Destination of an explicit call (`/rpc`). */
  explicitTarget: ExplicitTarget | undefined = undefined
  /** Nodes of the routed service. */
  upstream: Upstream | undefined = undefined
  /** Id of the last selected node; empty if none yet. */
  node = ''
  /** Number of attempts to send the request to a node. */
  attempts = 0
  /** Error of the last failed attempt; empty if none. */
  failure = ''
  /** Kind of the failure; empty if none. */
  failureKind: FailureKind | TransportFailure | 'no-node' | '' = ''
  /** `performance.now()` when the request was sent upstream, and when the response head arrived; 0 if not yet. */
  upstreamStartMs = 0
  upstreamReplyMs = 0
  /** Spans of the request (`tracing` plugin); undefined if not traced. */
  trace: ExchangeTrace | undefined = undefined
  private pluginState: Map<unknown, unknown> | undefined = undefined

  // Explicit: otherwise the compiler passes `...arguments`, which V8 does not inline.
  constructor(
    method: string,
    path: string,
    query: string,
    host: string,
    headers: HeaderList,
    secure: boolean,
    bodyLength: number,
    upgrade: boolean,
  ) {
    super(method, path, query, host, headers, secure, bodyLength, upgrade)
  }

  /** Account of the caller; undefined if anonymous. */
  get account(): Account | undefined {
    return this.session?.account
  }

  /** Account that services and backends see; undefined if anonymous. */
  get forwardedAccount(): Account | undefined {
    return this.isCrossNamespace ? undefined : this.account
  }

  /** Plugin state for this exchange, by plugin-specific key. */
  get state(): Map<unknown, unknown> {
    this.pluginState ??= new Map()
    return this.pluginState
  }
}
