import type { Stage } from '../../../core/chain.ts'
import type { Rule } from '../../../core/contracts/auth.ts'
import type { GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import type { ServiceView } from '../../config/services/describe.ts'
import type { PluginSource } from './plugin-sources.ts'

/** Trace of a request through the gateway. */
export interface Explanation {
  /** Passed stages in order: hooks of plugins, `route`, `handle`. */
  readonly stages: readonly ExplainedStage[]
  /** Undefined if no route was found. */
  readonly route: Exchange['route']
  /** Name of the configured route; undefined if none matched. */
  readonly routeName: string | undefined
  /** Path and query as forwarded to the node. */
  readonly target: string
  /** `Host` as forwarded to the node. */
  readonly host: string
  /** Name of the handler. Undefined if no route was found or the route rejects the request. */
  readonly handler: string | undefined
  /** Prefix of service names; empty if none. */
  readonly namespace: string
  /** Id of the caller; empty for anonymous requests. */
  readonly account: string
  /** Access decisions in order. */
  readonly rulings: readonly ExplainedRuling[]
  /** Nodes of the service; undefined if it was not looked up. */
  readonly nodes: readonly ExplainedNode[] | undefined
  /** Settings in force for the service; undefined if no route was found. */
  readonly settings?: ServiceView | undefined
  readonly endpoints: readonly string[]
  /** Id of the selected node, or `topic`; undefined if the gateway itself responds. */
  readonly sentTo: string | undefined
  /** Response from the gateway itself; undefined if the request is forwarded. */
  readonly answer:
    | { readonly status: number; readonly body: string; readonly error: GatewayError | undefined }
    | undefined
  /** Explanation of `answer` with a hint; empty if the request is forwarded. */
  readonly why: string
  /** Names of all services if the requested service was not found. */
  readonly known: readonly string[]
}

/** A passed stage. `scope` and `source` are undefined for the gateway's own stages. */
export interface ExplainedStage extends Stage, Partial<PluginSource> {}

export interface ExplainedRuling {
  readonly namespace: string
  /** Resource as `type:name:endpoint`. */
  readonly resource: string
  readonly granted: boolean
  /** The deciding rule; undefined if none applied. */
  readonly rule: Rule | undefined
}

export interface ExplainedNode {
  readonly id: string
  readonly address: string
  readonly protocol: string
  readonly draining: boolean
}
