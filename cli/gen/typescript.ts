import { toLower, toPascal } from '../../lib/text/case.ts'
import {
  itemsOf,
  type JsonSchema,
  mapValuesOf,
  tupleItemsOf,
  typesOf,
} from '../../sdk/schema/json-schema.ts'
import { type EndpointInterface, type Interfaces, REF, type ServiceInterface } from './interface.ts'

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/
const STREAMS = "import type { CallOptions, CallStream, Client } from 'mx-gateway'"
const CALLS = "import type { CallOptions, Client } from 'mx-gateway'"

/** Generates a TypeScript module with the types of all messages, and a function per service that creates its client. */
export function toTypeScript({ services, schemas }: Interfaces): string {
  const hasStream = services.some(({ endpoints }) => endpoints.some(({ isStream }) => isStream))
  const names = services.map(({ name, version }) => `${name} (${version})`).join(', ')
  return [
    `// Generated from ${toCommentText(names)} by mx gen client. Do not edit.`,
    hasStream ? STREAMS : CALLS,
    ...Object.entries(schemas).map(([name, schema]) => formatMessage(name, schema)),
    ...services.map(formatService),
  ]
    .join('\n\n')
    .concat('\n')
}

function formatMessage(name: string, schema: JsonSchema): string {
  const isRequest = name.includes('Request')
  const body = toType(schema, '', isRequest)
  const isObject = body.startsWith('{') && body.endsWith('}') && schema.properties !== undefined
  return `${formatComment(schema.description, '')}export ${isObject ? `interface ${name} ${body}` : `type ${name} = ${body}`}`
}

function formatService({ name, endpoints }: ServiceInterface): string {
  const type = `${toPascal(name)}Client`
  const handlers = [...new Set(endpoints.map(({ handler }) => handler))].map((handler) => {
    const methods = endpoints
      .filter((endpoint) => endpoint.handler === handler)
      .map((endpoint) => formatMethod(endpoint))
    return `  readonly ${handler}: {\n${methods.join('')}  }\n`
  })
  return `/** The service \`${toCommentText(name)}\`. */
export interface ${type} {
${handlers.join('')}}

export function create${type}(client: Client): ${type} {
  return client.service(${JSON.stringify(name)}) as unknown as ${type}
}`
}

function formatMethod({
  method,
  description,
  isStream,
  request,
  response,
}: EndpointInterface): string {
  const comment = formatComment(description, '    ')
  const name = toLower(method)
  if (!isStream)
    return `${comment}    readonly ${name}: (request: ${request}, options?: CallOptions) => Promise<${response}>\n`
  return `${comment}    readonly ${name}: {
      readonly stream: (
        requests?: ${request} | AsyncIterable<${request}>,
        options?: CallOptions,
      ) => CallStream<${request}, ${response}>
    }\n`
}

/** @param isRequest true if fields with a default are optional */
function toType(schema: JsonSchema, indent: string, isRequest: boolean): string {
  const inner = (each: JsonSchema): string => toType(each, indent, isRequest)
  const { $ref, enum: choices, anyOf, oneOf, allOf } = schema
  if ($ref !== undefined) return $ref.slice(REF.length)
  if ('const' in schema) return JSON.stringify(schema.const)
  if (choices !== undefined) return choices.map((each) => JSON.stringify(each)).join(' | ')
  const options = anyOf ?? oneOf
  if (options !== undefined) return join(options.map(inner), ' | ')
  if (allOf !== undefined) return join(allOf.map(inner), ' & ')
  const types = typesOf(schema)
  if (types.length === 0)
    return schema.properties === undefined ? 'unknown' : toObject(schema, indent, isRequest)
  return join(
    types.map((type) => toTyped(type, schema, indent, isRequest)),
    ' | ',
  )
}

function toTyped(type: string, schema: JsonSchema, indent: string, isRequest: boolean): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'integer':
    case 'number':
      return 'number'
    case 'array': {
      const arrays = tupleItemsOf(schema)
      if (arrays.length > 0)
        return `[${arrays.map((each) => toType(each, indent, isRequest)).join(', ')}]`
      const items = itemsOf(schema)
      return `readonly ${wrap(items === undefined ? 'unknown' : toType(items, indent, isRequest))}[]`
    }
    case 'object':
      return toObject(schema, indent, isRequest)
    default:
      return 'unknown'
  }
}

function toObject(schema: JsonSchema, indent: string, isRequest: boolean): string {
  const { properties, required = [] } = schema
  if (properties === undefined) {
    const values = mapValuesOf(schema)
    return `Readonly<Record<string, ${values === undefined ? 'unknown' : toType(values, indent, isRequest)}>>`
  }
  const innerIndent = `${indent}  `
  const lines = Object.entries(properties).map(([name, field]) => {
    const isOptional = !required.includes(name) || (isRequest && field.default !== undefined)
    const key = IDENTIFIER.test(name) ? name : JSON.stringify(name)
    const type = toType(field, innerIndent, isRequest)
    return `${formatComment(field.description, innerIndent)}${innerIndent}readonly ${key}${isOptional ? '?' : ''}: ${type}\n`
  })
  return lines.length === 0 ? '{}' : `{\n${lines.join('')}${indent}}`
}

/** Joins distinct types; `unknown` for an empty list. */
function join(types: readonly string[], separator: string): string {
  const all = [...new Set(types)]
  return all.length === 0
    ? 'unknown'
    : all.map((type) => (all.length > 1 ? wrap(type) : type)).join(separator)
}

function wrap(type: string): string {
  return /[|&]|^readonly /.test(type) && !type.startsWith('{') ? `(${type})` : type
}

function formatComment(text: string | undefined, indent: string): string {
  return text === undefined || text === '' ? '' : `${indent}/** ${toCommentText(text)} */\n`
}

/** Formats text on one line without a comment end, because service descriptions are untrusted. */
function toCommentText(text: string): string {
  return text.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ')
}
