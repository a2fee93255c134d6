import type { Service } from '../../core/contracts/registry.ts'
import { toPascal } from '../../lib/text/case.ts'
import { schemaOf } from '../../sdk/schema/endpoint-schema.ts'
import {
  type Definitions,
  definitionsOf,
  findDefinition,
  type JsonSchema,
  NO_DEFINITIONS,
} from '../../sdk/schema/json-schema.ts'
import { type HttpRoutePath, listHttpRoutes } from '../../sdk/service/http-routes.ts'

/** A service as its callers see it: what clients and documents are made of. */
export interface ServiceInterface {
  readonly name: string
  readonly version: string
  readonly endpoints: readonly EndpointInterface[]
}

export interface EndpointInterface {
  readonly handler: string
  readonly method: string
  readonly description: string
  /** Whether either side sends more than one message. */
  readonly isStream: boolean
  /** Where a gateway serves it. */
  readonly places: readonly HttpRoutePath[]
  /** Names of schemas. */
  readonly request: string
  readonly response: string
}

/** Services, and the schemas of all of their messages by name: {@link REF} and a name refers to one. */
export interface Interfaces {
  readonly services: readonly ServiceInterface[]
  readonly schemas: Readonly<Record<string, JsonSchema>>
}

/** What references to a schema begin with. */
export const REF = '#/components/schemas/'
/** `Handler.Method`. A topic that is subscribed to is none. */
const ENDPOINT = /^([A-Za-z][A-Za-z0-9]*)\.([A-Za-z][A-Za-z0-9]*)$/
/** Every service has them. */
const OWN_HANDLER = 'Debug'
/** Keywords that hold schemas by name, and lists of them. */
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties'])
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required'])

/** @param services one version of each. */
export function toInterfaces(services: readonly Service[]): Interfaces {
  const schemas: Record<string, JsonSchema> = {}

  /** Puts a schema under a name that is free, and the definitions it refers to beside it. */
  function add(name: string, schema: JsonSchema): string {
    const free = toFree(name, schemas)
    schemas[free] = {}
    schemas[free] = hoist(schema, NO_DEFINITIONS, free, new Map())
    return free
  }

  function hoist(
    given: JsonSchema,
    outer: Definitions,
    owner: string,
    known: Map<JsonSchema, string>,
  ): JsonSchema {
    const definitions = definitionsOf(given, outer)
    const copy: Record<string, unknown> = {}
    const go = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(go)
      if (typeof value !== 'object' || value === null) return value
      return hoist(value, definitions, owner, known)
    }
    for (const [key, value] of Object.entries(given)) {
      if (key === '$defs' || key === '$id') continue
      if (key === '$ref') {
        const target = findDefinition(String(value), definitions)
        if (target !== undefined) copy['$ref'] = REF + name(String(value), target, definitions)
      } else if (MAPS.has(key))
        copy[key] = Object.fromEntries(Object.entries(value as object).map(([k, v]) => [k, go(v)]))
      else copy[key] = DATA.has(key) ? value : go(value)
    }
    return copy

    function name(ref: string, target: JsonSchema, within: Definitions): string {
      const before = known.get(target)
      if (before !== undefined) return before
      const free = toFree(owner + toPascal(ref.slice(ref.lastIndexOf('/') + 1)), schemas)
      known.set(target, free)
      schemas[free] = {}
      schemas[free] = hoist(target, within, owner, known)
      return free
    }
  }

  return {
    services: services.map(({ name, version, endpoints }) => ({
      name,
      version,
      endpoints: endpoints.flatMap((endpoint) => {
        const [, handler, method] = ENDPOINT.exec(endpoint.name) ?? []
        if (handler === undefined || method === undefined || handler === OWN_HANDLER) return []
        const own = toPascal(name)
        const prefix = `${own === handler ? '' : own}${handler}${method}`
        const { description = '', stream } = endpoint.metadata
        return {
          ...{ handler, method, description, isStream: stream === 'true' },
          places: listHttpRoutes(name, endpoint),
          request: add(`${prefix}Request`, schemaOf(endpoint, 'request')),
          response: add(`${prefix}Response`, schemaOf(endpoint, 'response')),
        }
      }),
    })),
    schemas,
  }
}

function toFree(name: string, taken: object): string {
  let free = name
  for (let n = 2; Object.hasOwn(taken, free); n++) free = `${name}${n}`
  return free
}
