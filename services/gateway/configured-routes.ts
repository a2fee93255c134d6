import { type TUnsafe, Type } from '../../core/schema.ts'

/** A plugin that applies to a route in addition to the plugins of the gateway. */
export interface RoutePluginMessage {
  readonly name: string
  readonly scope: string
  readonly source: string
}

/** A configured route. */
export interface ConfiguredRouteMessage {
  readonly name: string
  /** Line in the configuration file. */
  readonly source: string
  readonly paths: readonly string[]
  /** Hosts; any host if empty. */
  readonly hosts: readonly string[]
  /** Methods; any method if empty. */
  readonly methods: readonly string[]
  /** Conditions on headers, parameters and clients, such as `header x-beta = 1`. */
  readonly conditions: readonly string[]
  /** Action such as `service shop`, `redirect`, `respond 200` or `files`. */
  readonly action: string
  readonly plugins: readonly RoutePluginMessage[]
}

export interface ConfiguredRoutesRequest {
  /** Words that a route must all contain; all routes if empty. */
  readonly search: string
  readonly limit: number
  /** Number of matching routes to skip. */
  readonly skip: number
}

/** A page of configured routes in the order of the file. */
export interface ConfiguredRoutesPage {
  readonly routes: readonly ConfiguredRouteMessage[]
  /** Total number of matching routes. */
  readonly total: number
}

const Texts = Type.Array(Type.String())

export const ConfiguredRouteList: TUnsafe<ConfiguredRoutesPage> = Type.Unsafe(
  Type.Object({
    routes: Type.Array(
      Type.Object({
        name: Type.String(),
        source: Type.String({ description: 'Line of the configuration file.' }),
        paths: Texts,
        hosts: Type.Array(Type.String(), { description: 'Any host if empty.' }),
        methods: Type.Array(Type.String(), { description: 'Any method if empty.' }),
        conditions: Type.Array(Type.String(), {
          description: 'Conditions on headers, parameters and clients.',
        }),
        action: Type.String({ description: 'service shop, redirect, respond 200 or files.' }),
        plugins: Type.Array(
          Type.Object({ name: Type.String(), scope: Type.String(), source: Type.String() }),
          { description: 'Plugins of the route and its service.' },
        ),
      }),
      { description: 'Routes in the order of the file.' },
    ),
    total: Type.Integer({ description: 'Total number of matching routes.' }),
  }),
)
