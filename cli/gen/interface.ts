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

/** Interface of a service, used as input of the generators. */
export interface ServiceInterface {
  readonly name: string
  readonly version: string
  readonly endpoints: readonly EndpointInterface[]
}

export interface EndpointInterface {
  readonly handler: string
  readonly method: string
  readonly description: string
  /** True if either side sends more than one message. */
  readonly isStream: boolean
  /** HTTP routes on the gateway. */
  readonly routes: readonly HttpRoutePath[]
  /** Schema names. */
  readonly request: string
  readonly response: string
}

/** Services and the schemas of their messages by name. A `$ref` consists of {@link REF} and a name. */
export interface Interfaces {
  readonly services: readonly ServiceInterface[]
  readonly schemas: Readonly<Record<string, JsonSchema>>
}

/** Prefix of references to a schema. */
export const REF = '#/components/schemas/'
/** Matches `Handler.Method`, but not subscribed topics. */
const ENDPOINT = /^([A-Za-z][A-Za-z0-9]*)\.([A-Za-z][A-Za-z0-9]*)$/
/** Built-in handler of every service. */
const DEBUG_HANDLER = 'Debug'
/** Keywords whose value maps names to schemas. */
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties'])
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required'])

/** @param services one version of each service */
export function toInterfaces(services: readonly Service[]): Interfaces {
  const schemas: Record<string, JsonSchema> = {}

  /** Adds a schema under an unused name, including the definitions it refers to. */
  function add(name: string, schema: JsonSchema): string {
    const free = toUniqueName(name, schemas)
    schemas[free] = {}
    schemas[free] = extractDefinitions(schema, NO_DEFINITIONS, free, new Map())
    return free
  }

  function extractDefinitions(
    schema: JsonSchema,
    outer: Definitions,
    owner: string,
    names: Map<JsonSchema, string>,
  ): JsonSchema {
    const definitions = definitionsOf(schema, outer)
    const copy: Record<string, unknown> = {}
    const convert = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(convert)
      if (typeof value !== 'object' || value === null) return value
      return extractDefinitions(value, definitions, owner, names)
    }
    for (const [key, value] of Object.entries(schema)) {
      if (key === '$defs' || key === '$id') continue
      if (key === '$ref') {
        const target = findDefinition(String(value), definitions)
        if (target !== undefined) copy['$ref'] = REF + name(String(value), target, definitions)
      } else if (MAPS.has(key))
        copy[key] = Object.fromEntries(
          Object.entries(value as object).map(([k, v]) => [k, convert(v)]),
        )
      else copy[key] = DATA.has(key) ? value : convert(value)
    }
    return copy

    function name(ref: string, target: JsonSchema, within: Definitions): string {
      const existing = names.get(target)
      if (existing !== undefined) return existing
      const free = toUniqueName(owner + toPascal(ref.slice(ref.lastIndexOf('/') + 1)), schemas)
      names.set(target, free)
      schemas[free] = {}
      schemas[free] = extractDefinitions(target, within, owner, names)
      return free
    }
  }

  return {
    services: services.map(({ name, version, endpoints }) => ({
      name,
      version,
      endpoints: endpoints.flatMap((endpoint) => {
        const [, handler, method] = ENDPOINT.exec(endpoint.name) ?? []
        if (handler === undefined || method === undefined || handler === DEBUG_HANDLER) return []
        const pascalName = toPascal(name)
        const prefix = `${pascalName === handler ? '' : pascalName}${handler}${method}`
        const { description = '', stream } = endpoint.metadata
        return {
          ...{ handler, method, description, isStream: stream === 'true' },
          routes: listHttpRoutes(name, endpoint),
          request: add(`${prefix}Request`, schemaOf(endpoint, 'request')),
          response: add(`${prefix}Response`, schemaOf(endpoint, 'response')),
        }
      }),
    })),
    schemas,
  }
}

function toUniqueName(name: string, existing: object): string {
  let free = name
  for (let n = 2; Object.hasOwn(existing, free); n++) free = `${name}${n}`
  return free
}
