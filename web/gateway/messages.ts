/** Messages of the service `api` (docs/api.md). */
export interface GatewayRoute {
  readonly service: string
  readonly endpoint: string
  readonly handler: string
  readonly methods: readonly string[]
  readonly hosts: readonly string[]
  readonly path: string
  readonly declared: boolean
}

export interface RoutesPage {
  readonly handler: string
  readonly resolver: string
  readonly namespace: string
  readonly routes: readonly GatewayRoute[]
  readonly left_out: readonly string[]
  readonly next?: string
}

export interface GatewayRequest {
  readonly time: number
  readonly id: string
  readonly trace_id: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly rpc_status: number
  readonly duration_ms: number
  readonly service: string
  readonly error: string
}

export interface ChainPlugin {
  readonly name: string
  readonly description: string
  readonly source: string
  readonly specifier: string
  readonly hooks: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
}

export interface Explained {
  readonly stages: readonly {
    readonly plugin: string
    readonly hook: string
    readonly scope: string
    readonly source: string
  }[]
  readonly namespace: string
  readonly account: string
  readonly route?: {
    readonly name?: string
    readonly service: string
    readonly endpoint: string
    readonly handler: string
    readonly variables: readonly { readonly name: string; readonly value: string }[]
  }
  readonly target: string
  readonly rulings: readonly {
    readonly namespace: string
    readonly resource: string
    readonly granted: boolean
    readonly rule: string
  }[]
  readonly nodes: readonly {
    readonly id: string
    readonly address: string
    readonly protocol: string
    readonly draining: boolean
  }[]
  readonly sent_to: string
  readonly answer?: { readonly status: number; readonly id: string; readonly detail: string }
  readonly why: string
  readonly known: readonly string[]
}
