import type { Stage } from '../../../core/chain.ts'
import type { Rule } from '../../../core/contracts/auth.ts'
import type { GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'

/** What a request would meet on its way through a gateway. */
export interface Explanation {
  /** Stages it passed, in order: hooks of plugins, `route`, `handle`. */
  readonly stages: readonly Stage[]
  /** Where it goes; undefined: no route was found. */
  readonly route: Exchange['route']
  /** Name of the handler it goes to; undefined: no route was found. */
  readonly handler: string | undefined
  /** Prefix of service names; empty: none. */
  readonly namespace: string
  /** Who calls; empty: nobody that is known. */
  readonly account: string
  /** What the rules were asked, in order. */
  readonly rulings: readonly ExplainedRuling[]
  /** Nodes of the service; undefined: it was not looked up. */
  readonly nodes: readonly ExplainedNode[] | undefined
  /** Endpoints that the service declares. */
  readonly endpoints: readonly string[]
  /** Id of the node it would go to, or `topic`; undefined: it is answered before. */
  readonly sentTo: string | undefined
  /** The answer of the gateway itself; undefined: it is that of whoever it goes to. */
  readonly answer:
    | { readonly status: number; readonly body: string; readonly error: GatewayError | undefined }
    | undefined
  /** Why the gateway itself answers, and what to do about it; empty: it does not. */
  readonly why: string
  /** Names of the services there are, where its own was not found. */
  readonly known: readonly string[]
}

export interface ExplainedRuling {
  readonly namespace: string
  /** `type:name:endpoint` that is asked for. */
  readonly resource: string
  readonly granted: boolean
  /** The one that decided; undefined: none applied. */
  readonly rule: Rule | undefined
}

export interface ExplainedNode {
  readonly id: string
  readonly address: string
  readonly protocol: string
  readonly draining: boolean
}
