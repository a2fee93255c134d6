import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'
import type { Dispatch } from '../call.ts'
import { PAYLOAD_MAX_BYTES } from '../ws/frames.ts'
import { PlainServedCall, sendFail } from './served-call.ts'

export interface PlainServerOptions {
  /** Id of errors for requests that do not name a service. @default 'go.mx.api' */
  readonly id?: string
}

const TIMEOUT = /^[1-9]\d*$/
/** Maximum timeout of the WebSocket transport. */
const TIMEOUT_MAX_MS = 0xffff_ffff

/**
 * Serves a call over the HTTP transport (docs/protocol.md §3), or rejects a malformed request.
 *
 * Its listener must preserve `mx-*` headers, see `ListenerOptions.internalHeaders`.
 */
export function servePlain(
  x: Exchange,
  dispatch: Dispatch,
  { id = GATEWAY_ID }: PlainServerOptions = {},
): void {
  const service = x.headers.get('mx-service') ?? ''
  const endpoint = x.headers.get('mx-endpoint') ?? ''
  const timeout = x.headers.get('mx-timeout')
  const reject = (code: number, detail: string, headers: readonly string[] = []): void =>
    sendFail(x, new GatewayError(service === '' ? id : service, code, detail, { headers }))
  if (x.malformed !== undefined) return sendFail(x, x.malformed)
  if (x.path !== '/') return reject(404, 'calls must be sent to the path /')
  if (x.method !== 'POST') {
    return reject(405, `calls must use POST, got ${x.method}`, ['allow', 'POST'])
  }
  if (service === '') return reject(400, 'service name is blank: the Mx-Service header is missing')
  if (endpoint === '') return reject(400, 'the Mx-Endpoint header is missing')
  if (timeout !== undefined && !TIMEOUT.test(timeout)) {
    return reject(400, 'Mx-Timeout must be a positive integer')
  }
  if (x.bodyLength > PAYLOAD_MAX_BYTES) {
    return reject(413, `request must be at most ${PAYLOAD_MAX_BYTES} bytes`)
  }
  const timeoutMs = Math.min(Number(timeout ?? 0), TIMEOUT_MAX_MS)
  new PlainServedCall(x, dispatch, service, endpoint, timeoutMs).read()
}
