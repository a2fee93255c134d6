import type { GatewayError } from '../../../core/errors.ts'
import type { HeaderList } from '../../../core/http/headers.ts'
import { RequestValidator } from '../../../core/listener/request-validator.ts'
import type { TestRequest } from '../../../sdk/testing.ts'

export interface ExplainedRequest {
  /** Case-insensitive. */
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Names are case-insensitive and include `Host` and `Upgrade`. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string
  /** Whether the client uses TLS. @default whether the listener does */
  readonly secure?: boolean
  /** Name of the listener that receives the request. @default the main listener */
  readonly listener?: string
  /** IP address of the peer. @default 127.0.0.1, or none for a Unix socket */
  readonly client?: string
}

/** Validates the request like a listener, and removes hop-by-hop headers. */
export function toTestRequest(
  { method, path, headers, body = '' }: ExplainedRequest,
  { secure, remoteAddress }: Required<Pick<TestRequest, 'secure' | 'remoteAddress'>>,
  encodedSlashes: boolean,
): {
  readonly request: TestRequest
  readonly malformed: GatewayError | undefined
} {
  const list = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => [name.toLowerCase(), value] as const),
  )
  const has = (header: string) => list.some(([name]) => name === header)
  const validator = new RequestValidator(false, () => encodedSlashes)
  if (!has('host')) validator.add('host', 'localhost')
  if (body !== '' && !has('content-length') && !has('transfer-encoding'))
    validator.add('content-length', String(Buffer.byteLength(body)))
  // `Connection` may be omitted in a WebSocket request.
  if (has('upgrade') && !has('connection')) validator.add('connection', 'upgrade')
  for (const [name, value] of list) validator.add(name, value)
  const verb = method.toUpperCase()
  const [target = '', ...query] = path.split('?')
  const malformed = validator.validate(verb, target, query.join('?'))
  const request = {
    ...{ method: verb, path, headers: toRecord(validator.headers), host: validator.host },
    ...{ secure, remoteAddress },
    upgrade: validator.websocket && verb === 'GET',
    ...(body !== '' && { body, chunked: has('transfer-encoding') }),
  }
  return { request, malformed }
}

function toRecord(headers: HeaderList): Record<string, string[]> {
  const names = new Set(headers.flat.filter((_, i) => i % 2 === 0))
  return Object.fromEntries([...names].map((name) => [name, headers.getAll(name)]))
}
