import type { Endpoint } from '../../core/contracts/registry.ts'
import { REDACTED, SECRET_NAME } from '../../lib/text/redact.ts'
import { listHttpRoutes, variablesOf } from '../../sdk/service/http-routes.ts'
import type { Field } from './field.ts'
import { maskSecrets } from './secrets.ts'

/** A call as it is made from a shell. */
export interface ShellCall {
  /** Empty: the default one. */
  readonly namespace: string
  readonly service: string
  readonly endpoint: Pick<Endpoint, 'name' | 'metadata'>
  /** One, but for streams of the caller. */
  readonly requests: readonly unknown[]
  /** Metadata of the call. */
  readonly metadata: readonly (readonly [name: string, value: string])[]
  /** Milliseconds; undefined: as usual. */
  readonly timeoutMs?: number | undefined
}

/** A file that stands for a request too long for a command line. */
export const REQUEST_FILE = 'request.json'
/** Longest request that is written out, characters. */
const MAX_REQUEST = 4000
const PLAIN = /^[\w@%+=:,./-]+$/
const SECRET_METADATA = /^(?:proxy-)?authorization$|cookie/i
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE'])

/** The same call with {@link REDACTED} in the place of secrets: shells keep what they were told. @param field of the requests. */
export function maskCall(field: Field, call: ShellCall): ShellCall {
  const isSecret = (name: string): boolean => SECRET_NAME.test(name) || SECRET_METADATA.test(name)
  return {
    ...call,
    requests: call.requests.map((request) => maskSecrets(field, request)),
    metadata: call.metadata.map(([name, value]) => [name, isSecret(name) ? REDACTED : value]),
  }
}

/** Whether the commands name {@link REQUEST_FILE} instead of the request. */
export function needsFile(requests: readonly unknown[]): boolean {
  return requests.length === 1 && JSON.stringify(requests[0]).length > MAX_REQUEST
}

/** The same call by `mx call`, or `mx stream`. */
export function toMxCommand(call: ShellCall): string {
  const { namespace, service, endpoint, requests, metadata, timeoutMs } = call
  const isStream = endpoint.metadata['stream'] === 'true'
  const isMany = requests.length !== 1
  const words = [
    ...['mx', isStream ? 'stream' : 'call'],
    ...(namespace === '' ? [] : [`--namespace=${namespace}`]),
    ...metadata.map(([name, value]) => `--metadata=${name}=${value}`),
    ...(timeoutMs === undefined ? [] : [`--request_timeout=${timeoutMs}ms`]),
    ...[service, endpoint.name],
    isMany ? '-' : needsFile(requests) ? `@${REQUEST_FILE}` : JSON.stringify(requests[0]),
  ]
  const command = words.map(quote).join(' ')
  if (!isMany) return command
  const lines = requests.map((request) => quote(JSON.stringify(request)))
  return `printf '%s\\n' ${lines.join(' ')} | ${command}`
}

/**
 * The same call by `curl`, to a gateway: by the route the endpoint declares, else where every call is served.
 *
 * @param gateway `http://localhost:8080`
 * @returns undefined for several requests: HTTP has no such call.
 */
export function toCurlCommand(gateway: string, call: ShellCall): string | undefined {
  const { namespace, service, endpoint, requests, metadata } = call
  if (requests.length !== 1) return undefined
  const place = listHttpRoutes(service, endpoint)[0]!
  const { path, rest } = fillIn(place.path, requests[0])
  const hasBody = !WITHOUT_BODY.has(place.method)
  const query = hasBody ? '' : toQuery(rest)
  const fields = [
    ...(hasBody ? [['Content-Type', 'application/json'] as const] : []),
    ...(namespace === '' ? [] : [['Mx-Namespace', namespace] as const]),
    ...metadata,
  ]
  const words = [
    ...['curl', ...(endpoint.metadata['stream'] === 'true' ? ['-N'] : [])],
    ...(place.method === (hasBody ? 'POST' : 'GET') ? [] : ['-X', place.method]),
    `${gateway.replace(/\/+$/, '')}${path}${query}`,
    ...fields.flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
  ].map(quote)
  // The shell puts in the token of whoever is logged in there.
  words.push('-H', '"Authorization: Bearer $(mx user token)"')
  if (hasBody)
    words.push(
      '--data-binary',
      needsFile([rest]) ? `@${REQUEST_FILE}` : quote(JSON.stringify(rest)),
    )
  return words.join(' ')
}

/** For a shell: as it is where nothing in it means anything to one. */
function quote(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Puts fields of the request in the place of the variables of a path. */
function fillIn(template: string, request: unknown): { path: string; rest: unknown } {
  const variables = variablesOf(template)
  if (variables.length === 0 || !isObject(request)) return { path: template, rest: request }
  const rest = { ...request }
  let path = template
  for (const name of variables) {
    const value = rest[name]
    // Left as it is where the request has none: what is wrong stays to be seen.
    if (typeof value === 'object' || value === undefined) continue
    path = path.replace(`{${name}}`, () => encodeURIComponent(String(value)))
    delete rest[name]
  }
  return { path, rest }
}

/** `?a=1&b.c=2&d=x&d=y`, as gateways read it. */
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
