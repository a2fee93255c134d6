import { METHODS } from 'node:http'
import type { Endpoint, Service } from '../../core/contracts/registry.ts'
import { parsePath } from '../../core/path/pattern.ts'
import type { PathTemplate } from '../../core/path/template.ts'
import { isServiceName } from '../../core/registry/service-name.ts'

/** One path an endpoint declared in its metadata (reference 1.7). */
export interface EndpointRoute {
  /** Full name. */
  readonly service: string
  /** `<Handler>.<Method>`. */
  readonly endpoint: string
  /** Name of the handler asked for; undefined: none. */
  readonly handler: string | undefined
  /** Upper case; none: any. */
  readonly methods: readonly string[]
  /** Lower case: `*`, a name, or `*.` and a name; at least one. */
  readonly hosts: readonly string[]
  readonly template: PathTemplate
}

export interface Declared {
  readonly routes: readonly EndpointRoute[]
  /** What is left out, and why. */
  readonly problems: readonly string[]
}

/** Handlers that endpoints, and services without any, may ask for, by what their metadata calls them. */
export const HANDLERS: ReadonlyMap<string, string> = new Map([
  ['api', 'api'],
  ['event', 'event'],
  ['http', 'proxy'],
  ['proxy', 'proxy'],
  ['rpc', 'rpc'],
  ['web', 'web'],
])
/** Known methods, each as a list of itself: of ten thousand routes nearly all take one. */
const METHOD_LISTS: ReadonlyMap<string, readonly string[]> = new Map(
  METHODS.map((method) => [method, [method]]),
)
const ANY_HOST: readonly string[] = ['*']
const NOTHING: readonly string[] = []
const ENDPOINT = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/
const MAX_NAME = 253
/** Longest metadata value read, characters. */
const MAX_TEXT = 8192
/** Most parts of a comma list. */
const MAX_PARTS = 64
/** Longest text of others repeated in a message. */
const MAX_SHOWN = 200

/**
 * The routes one version of a service declares, in the order of its endpoints' names. Keys of an endpoint's metadata:
 *
 * | key | value |
 * |---|---|
 * | `path` | templates, or `^...$`, separated by commas; without it there is no route |
 * | `method` | HTTP methods, separated by commas; empty: any |
 * | `host` | `*`, names, or `*.` and a name, separated by commas; empty: any |
 * | `handler` | `api`, `event`, `http` or `proxy`, `rpc`, `web`; empty: none is asked for |
 * | `endpoint` | name to call it by; empty: its own |
 */
export function readDeclared({ name: service, metadata, endpoints }: Service): Declared {
  const routes: EndpointRoute[] = []
  const problems: string[] = []
  const wanted = Object.hasOwn(metadata, 'handler') ? metadata['handler']! : ''
  if (endpoints.length === 0 && wanted !== '' && !HANDLERS.has(wanted))
    problems.push(`service ${service}: ${toNoHandler(wanted)}`)
  for (const endpoint of [...endpoints].sort(byName)) {
    const report = (reason: string): void => {
      problems.push(`endpoint ${show(endpoint.name)} of service ${service}: ${reason}`)
    }
    try {
      declare(service, endpoint, routes, report)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      report(`left out: ${error.message}`)
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
    throw new RangeError(`${show(endpoint)} is no name of an endpoint`)
  const methods = toMethods(readList(metadata, 'method'))
  const hosts = readList(metadata, 'host').map(toHost)
  const wanted = read(metadata, 'handler')
  const handler = HANDLERS.get(wanted)
  if (wanted !== '' && handler === undefined) report(toNoHandler(wanted))
  for (const path of paths) {
    let template: PathTemplate
    try {
      template = parsePath(path)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      report(`path ${show(path)} is left out: ${error.message}`)
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

function toMethod(text: string): string {
  const method = text.toUpperCase()
  if (!METHOD_LISTS.has(method)) throw new RangeError(`${show(text)} is no HTTP method`)
  return method
}

function toHost(text: string): string {
  const host = text.toLowerCase()
  if (host === '*' || isServiceName(host.startsWith('*.') ? host.slice(2) : host)) return host
  throw new RangeError(
    `host must be *, a name or *.<name>, without port; got ${show(text)}, and regular expressions are not run`,
  )
}

function read(metadata: Endpoint['metadata'], key: string): string {
  const text = Object.hasOwn(metadata, key) ? metadata[key]! : ''
  if (text.length > MAX_TEXT) throw new RangeError(`${key} is longer than ${MAX_TEXT} characters`)
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
  if (texts.length > MAX_PARTS) throw new RangeError(`${key} lists more than ${MAX_PARTS}`)
  return texts
}

function toNoHandler(wanted: string): string {
  const known = [...HANDLERS.keys()].join(', ')
  return `there is no handler ${show(wanted)}, only ${known}; served as if it asked for none`
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, MAX_SHOWN))
}
