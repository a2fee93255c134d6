import { METHODS } from 'node:http'
import type { Endpoint, Service } from '../../core/contracts/registry.ts'
import { parsePath } from '../../core/path/pattern.ts'
import type { PathTemplate } from '../../core/path/template.ts'
import { isServiceName } from '../../core/registry/service-name.ts'

/** Path declared in the metadata of an endpoint (reference 1.7). */
export interface EndpointRoute {
  /** Full service name. */
  readonly service: string
  /** `<Handler>.<Method>`. */
  readonly endpoint: string
  /** Requested handler; undefined for the default. */
  readonly handler: string | undefined
  /** Methods in upper case; empty for any method. */
  readonly methods: readonly string[]
  /** Hosts in lower case: `*`, a name, or `*.` and a name; at least one. */
  readonly hosts: readonly string[]
  readonly template: PathTemplate
}

export interface Declared {
  readonly routes: readonly EndpointRoute[]
  /** Warnings about ignored declarations. */
  readonly problems: readonly string[]
}

/** Handlers by name in the metadata of endpoints and of services without endpoints. */
export const HANDLERS: ReadonlyMap<string, string> = new Map([
  ['api', 'api'],
  ['event', 'event'],
  ['http', 'proxy'],
  ['proxy', 'proxy'],
  ['rpc', 'rpc'],
  ['web', 'web'],
])
/** Shared one-element lists, since nearly all routes declare one method. */
const METHOD_LISTS: ReadonlyMap<string, readonly string[]> = new Map(
  METHODS.map((method) => [method, [method]]),
)
const ANY_HOST: readonly string[] = ['*']
const NOTHING: readonly string[] = []
const ENDPOINT = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/
const MAX_NAME = 253
/** Maximum length of a metadata value in characters. */
const MAX_TEXT = 8192
/** Maximum number of elements in a comma-separated list. */
const MAX_PARTS = 64
/** Maximum length of a quoted value in a message. */
const MAX_QUOTED = 200

/**
 * Reads the routes declared by a version of a service, sorted by endpoint name. Metadata keys of an endpoint:
 *
 * | key | value |
 * |---|---|
 * | `path` | comma-separated templates or `^...$`; without it, the endpoint has no route |
 * | `method` | comma-separated HTTP methods; default: any |
 * | `host` | comma-separated `*`, names, or `*.<name>`; default: any |
 * | `handler` | `api`, `event`, `http` or `proxy`, `rpc`, `web`; default: handler of the gateway |
 * | `endpoint` | endpoint to call; default: the name of this endpoint |
 */
export function readDeclared({ name: service, metadata, endpoints }: Service): Declared {
  const routes: EndpointRoute[] = []
  const problems: string[] = []
  const handler = Object.hasOwn(metadata, 'handler') ? metadata['handler']! : ''
  if (endpoints.length === 0 && handler !== '' && !HANDLERS.has(handler))
    problems.push(`service ${service}: ${toUnknownHandler(handler)}`)
  for (const endpoint of [...endpoints].sort(byName)) {
    const report = (reason: string): void => {
      problems.push(`endpoint ${quote(endpoint.name)} of service ${service}: ${reason}`)
    }
    try {
      declare(service, endpoint, routes, report)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      report(`ignored: ${error.message}`)
    }
  }
  return { routes, problems }
}

function declare(
  service: string,
  { name, metadata }: Endpoint,
  routes: EndpointRoute[],
  report: (reason: string) => void,
): void {
  const paths = readList(metadata, 'path')
  if (paths.length === 0) return
  const endpoint = read(metadata, 'endpoint') || name
  if (endpoint.length > MAX_NAME || !ENDPOINT.test(endpoint))
    throw new RangeError(`invalid endpoint name ${quote(endpoint)}`)
  const methods = toMethods(readList(metadata, 'method'))
  const hosts = readList(metadata, 'host').map(toHost)
  const handlerName = read(metadata, 'handler')
  const handler = HANDLERS.get(handlerName)
  if (handlerName !== '' && handler === undefined) report(toUnknownHandler(handlerName))
  for (const path of paths) {
    let template: PathTemplate
    try {
      template = parsePath(path)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      report(`ignored path ${quote(path)}: ${error.message}`)
      continue
    }
    const any = hosts.length === 0 || hosts.includes('*')
    routes.push({ service, endpoint, handler, methods, hosts: any ? ANY_HOST : hosts, template })
  }
}

function byName(a: Endpoint, b: Endpoint): number {
  if (a.name === b.name) return 0
  return a.name < b.name ? -1 : 1
}

function toMethods(texts: readonly string[]): readonly string[] {
  const known = texts.length === 1 ? METHOD_LISTS.get(texts[0]!) : undefined
  return known ?? texts.map(toMethod)
}

/** @throws {RangeError} if the text is not an HTTP method. */
export function toMethod(text: string): string {
  const method = text.toUpperCase()
  if (!METHOD_LISTS.has(method)) throw new RangeError(`${quote(text)} is not an HTTP method`)
  return method
}

/** @throws {RangeError} if the host pattern is invalid. */
export function toHost(text: string): string {
  const host = text.toLowerCase()
  if (host === '*' || isServiceName(host.startsWith('*.') ? host.slice(2) : host)) return host
  throw new RangeError(
    `host must be *, a name or *.<name> without a port, got ${quote(text)}; regular expressions are not supported`,
  )
}

function read(metadata: Endpoint['metadata'], key: string): string {
  const text = Object.hasOwn(metadata, key) ? metadata[key]! : ''
  if (text.length > MAX_TEXT) throw new RangeError(`${key} exceeds ${MAX_TEXT} characters`)
  return text.trim()
}

function readList(metadata: Endpoint['metadata'], key: string): readonly string[] {
  const text = read(metadata, key)
  if (text === '') return NOTHING
  if (!text.includes(',')) return [text]
  const texts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  if (texts.length > MAX_PARTS) throw new RangeError(`${key} has more than ${MAX_PARTS} elements`)
  return texts
}

function toUnknownHandler(name: string): string {
  const known = [...HANDLERS.keys()].join(', ')
  return `unknown handler ${quote(name)}, using the default; known: ${known}`
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, MAX_QUOTED))
}
