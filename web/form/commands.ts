import type { Endpoint } from '../../core/contracts/registry.ts'
import { REDACTED, SECRET_NAME } from '../../lib/text/redact.ts'
import { listHttpRoutes, variablesOf } from '../../sdk/service/http-routes.ts'
import type { Field } from './field.ts'
import { maskSecrets } from './secrets.ts'

/** A call to format as a shell command. */
export interface ShellCall {
  /** Namespace; empty for the default namespace. */
  readonly namespace: string
  readonly service: string
  readonly endpoint: Pick<Endpoint, 'name' | 'metadata'>
  /** Requests; exactly one, except for client streams. */
  readonly requests: readonly unknown[]
  readonly metadata: readonly (readonly [name: string, value: string])[]
  /** Timeout; undefined for the default. */
  readonly timeoutMs?: number | undefined
}

/** Name of the file for a request that is too long for a command line. */
export const REQUEST_FILE = 'request.json'
/** Maximum length of an inline request in characters. */
const MAX_REQUEST = 4000
const PLAIN = /^[\w@%+=:,./-]+$/
const SECRET_METADATA = /^(?:proxy-)?authorization$|cookie/i
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE'])

/**
 * Replaces secrets with {@link REDACTED}, because shells store commands in their history.
 *
 * @param field field of the requests.
 */
export function maskCall(field: Field, call: ShellCall): ShellCall {
  const isSecret = (name: string): boolean => SECRET_NAME.test(name) || SECRET_METADATA.test(name)
  return {
    ...call,
    requests: call.requests.map((request) => maskSecrets(field, request)),
    metadata: call.metadata.map(([name, value]) => [name, isSecret(name) ? REDACTED : value]),
  }
}

/** True if the commands read the request from {@link REQUEST_FILE}. */
export function needsFile(requests: readonly unknown[]): boolean {
  return requests.length === 1 && JSON.stringify(requests[0]).length > MAX_REQUEST
}

/** Formats a call as an `mx call` or `mx stream` command. */
export function toMxCommand(call: ShellCall): string {
  const { namespace, service, endpoint, requests, metadata, timeoutMs } = call
  const isStream = endpoint.metadata['stream'] === 'true'
  const isClientStream = requests.length !== 1
  const words = [
    ...['mx', isStream ? 'stream' : 'call'],
    ...(namespace === '' ? [] : [`--namespace=${namespace}`]),
    ...metadata.map(([name, value]) => `--metadata=${name}=${value}`),
    ...(timeoutMs === undefined ? [] : [`--request_timeout=${timeoutMs}ms`]),
    ...[service, endpoint.name],
    isClientStream ? '-' : needsFile(requests) ? `@${REQUEST_FILE}` : JSON.stringify(requests[0]),
  ]
  const command = words.map(quote).join(' ')
  if (!isClientStream) return command
  const lines = requests.map((request) => quote(JSON.stringify(request)))
  return `printf '%s\\n' ${lines.join(' ')} | ${command}`
}

/**
 * Formats a call as a `curl` command to the gateway, using the declared route or else the generic one.
 *
 * @param gateway gateway URL, such as `http://localhost:8080`
 * @returns undefined for several requests, which HTTP does not support.
 */
export function toCurlCommand(gateway: string, call: ShellCall): string | undefined {
  const { namespace, service, endpoint, requests, metadata } = call
  if (requests.length !== 1) return undefined
  const route = listHttpRoutes(service, endpoint)[0]!
  const { path, rest } = expandPath(route.path, requests[0])
  const hasBody = !WITHOUT_BODY.has(route.method)
  const query = hasBody ? '' : toQuery(rest)
  const headers = [
    ...(hasBody ? [['Content-Type', 'application/json'] as const] : []),
    ...(namespace === '' ? [] : [['Mx-Namespace', namespace] as const]),
    ...metadata,
  ]
  const words = [
    ...['curl', ...(endpoint.metadata['stream'] === 'true' ? ['-N'] : [])],
    ...(route.method === (hasBody ? 'POST' : 'GET') ? [] : ['-X', route.method]),
    `${gateway.replace(/\/+$/, '')}${path}${query}`,
    ...headers.flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
  ].map(quote)
  // The shell substitutes the token of its user's login.
  words.push('-H', '"Authorization: Bearer $(mx user token)"')
  if (hasBody)
    words.push(
      '--data-binary',
      needsFile([rest]) ? `@${REQUEST_FILE}` : quote(JSON.stringify(rest)),
    )
  return words.join(' ')
}

/** Quotes a word for POSIX shells if necessary. */
function quote(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Replaces the variables of a path with request fields. */
function expandPath(template: string, request: unknown): { path: string; rest: unknown } {
  const variables = variablesOf(template)
  if (variables.length === 0 || !isObject(request)) return { path: template, rest: request }
  const rest = { ...request }
  let path = template
  for (const name of variables) {
    const value = rest[name]
    // A variable without a value remains visible as an error.
    if (typeof value === 'object' || value === undefined) continue
    path = path.replace(`{${name}}`, () => encodeURIComponent(String(value)))
    delete rest[name]
  }
  return { path, rest }
}

/** Formats a query string in the gateway's format: `?a=1&b.c=2&d=x&d=y`. */
function toQuery(value: unknown): string {
  const pairs: string[] = []
  const add = (name: string, inner: unknown): void => {
    if (Array.isArray(inner)) for (const item of inner) add(name, item)
    else if (isObject(inner))
      for (const [key, each] of Object.entries(inner))
        add(name === '' ? key : `${name}.${key}`, each)
    else pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(String(inner))}`)
  }
  if (isObject(value)) add('', value)
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
