import type { Service } from '../../core/contracts/registry.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import { findService } from '../session/find-services.ts'
import type { Session } from '../session/session.ts'

/** A route of the gateway (`Api.Routes`). */
interface Route {
  /** `Handler.Method`; empty if requests are proxied unchanged. */
  readonly endpoint: string
  /** Allowed methods; empty for any. */
  readonly methods: readonly string[]
  /** Allowed hosts; empty for any. */
  readonly hosts: readonly string[]
  /** Path template. */
  readonly path: string
}

type Value = readonly [name: string, value: unknown]

interface Property {
  readonly type?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
}

interface Schema {
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Property>>
}

const TIMEOUT_MS = 2000
/** Matches optional segments of a template. */
const OPTIONAL = /\[[^\]]*\]/g
/** Matches text that needs no quotes in a shell. */
const PLAIN = /^[\w./:-]+$/
const WILDCARD = /^(?:0\.0\.0\.0|\[::\])(?=:)/

/** Gateway URL of a service and a `curl` command for it, one per line; empty without a URL. */
export async function describeUrl(session: Session, name: string): Promise<string> {
  const serviceUrl = await findUrl(session, name)
  if (serviceUrl === undefined) return ''
  const { url, route } = serviceUrl
  const values = listRequired(await findService(session, name).catch(() => []), route.endpoint)
  return `URL: ${url}\nTry: ${formatCurl(url, route, values)}\n`
}

/**
 * Gateway URL of a service; undefined without a route to it, or without permission to list routes.
 */
export async function findUrl(
  { call, namespace, environment }: Session,
  name: string,
): Promise<{ readonly url: string; readonly route: Route } | undefined> {
  const service = namespace === DEFAULT_NAMESPACE ? name : `${namespace}.${name}`
  const options = { namespace: DEFAULT_NAMESPACE, timeoutMs: TIMEOUT_MS }
  const none: { readonly url?: string; readonly routes?: readonly Route[] } = {}
  const { url = '', routes = [] } = await call<typeof none>(
    ...(['api', 'Api.Routes', { service }, options] as const),
  ).catch(() => none)
  const usable = routes.filter(({ hosts, path }) => hosts.length === 0 && !/[{*]/.test(strip(path)))
  const route = usable.find(allowsGet) ?? usable[0]
  if (url === '' || route === undefined) return undefined
  const normalized = parseUrl(`${toReachable(url, environment.address)}${strip(route.path) || '/'}`)
  return normalized === undefined ? undefined : { url: normalized, route }
}

/** Normalizes a URL, without line breaks and other invalid characters. Returns undefined if the text is not a URL. */
function parseUrl(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).href : undefined
}

/** Exported for tests. */
export function formatCurl(url: string, route: Route, values: readonly Value[]): string {
  if (!allowsGet(route)) {
    const body = JSON.stringify(Object.fromEntries(values))
    const words = ['-X', route.methods[0]!, '-H', 'Content-Type: application/json', '-d', body, url]
    return `curl ${words.map(quote).join(' ')}`
  }
  if (values.length === 0) return `curl ${quote(url)}`
  const query = new URLSearchParams(values.map(([name, value]) => [name, String(value)]))
  return `curl ${quote(`${url}?${query}`)}`
}

/** Quotes a word for a shell, so that text from the server cannot become a command. */
function quote(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Required fields of a request, with example values. */
function listRequired(services: readonly Service[], endpoint: string): readonly Value[] {
  const match = services.flatMap(({ endpoints }) => endpoints).find(({ name }) => name === endpoint)
  try {
    const { required = [], properties = {} } = JSON.parse(
      match?.metadata['requestSchema'] ?? '{}',
    ) as Schema
    return required.map((name) => [name, toExample(properties[name])])
  } catch {
    // A service may register an invalid schema.
    return []
  }
}

function toExample(property: Property | undefined): unknown {
  const { type, enum: values, const: only } = property ?? {}
  if (only !== undefined || values !== undefined) return only ?? values![0]
  if (type === 'integer' || type === 'number') return 1
  return type === 'boolean' ? true : 'hello'
}

function allowsGet({ methods }: Route): boolean {
  return methods.length === 0 || methods.includes('GET')
}

function strip(path: string): string {
  return path.replaceAll(OPTIONAL, '')
}

/** Replaces a wildcard address of the gateway with the host of the environment. */
function toReachable(url: string, proxy: string): string {
  const [scheme = '', address = ''] = url.split('://')
  const host = proxy.replace(/^mxs?:\/\//, '').replace(/:\d+$/, '')
  return `${scheme}://${address.replace(WILDCARD, host)}`
}
