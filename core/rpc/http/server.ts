import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'
import type { Dispatch } from '../call.ts'
import { PAYLOAD_MAX_BYTES } from '../ws/frames.ts'
import { PlainServedCall, sendFail } from './served-call.ts'

export interface PlainServerOptions {
  /** Id of the errors of requests that name no service. @default 'go.mx.api' */
  readonly id?: string
}

const TIMEOUT = /^[1-9]\d*$/
/** As many milliseconds as the fast form can say. */
const TIMEOUT_MAX_MS = 0xffff_ffff

/**
 * Serves an exchange that is a call in the plain form (docs/protocol.md §3), or answers what is wrong with it.
 *
 * Its listener must keep `mx-*` fields: `ListenerOptions.internalHeaders`.
 */
export function servePlain(
  x: Exchange,
  dispatch: Dispatch,
  { id = GATEWAY_ID }: PlainServerOptions = {},
): void {
  const service = x.headers.get('mx-service') ?? ''
  const endpoint = x.headers.get('mx-endpoint') ?? ''
  const timeout = x.headers.get('mx-timeout')
  const refuse = (code: number, detail: string, headers: readonly string[] = []): void =>
    sendFail(x, new GatewayError(service === '' ? id : service, code, detail, { headers }))
  if (x.malformed !== undefined) return sendFail(x, x.malformed)
  if (x.path !== '/') return refuse(404, 'calls are sent to path /')
  if (x.method !== 'POST') {
    return refuse(405, `a call is sent by POST, not by ${x.method}`, ['allow', 'POST'])
  }
  if (service === '') return refuse(400, 'service name is blank: field Mx-Service is missing')
  if (endpoint === '') return refuse(400, 'field Mx-Endpoint is missing')
  if (timeout !== undefined && !TIMEOUT.test(timeout)) {
    return refuse(400, 'Mx-Timeout must be a positive integer')
  }
  if (x.bodyLength > PAYLOAD_MAX_BYTES) {
    return refuse(413, `request must be at most ${PAYLOAD_MAX_BYTES} bytes`)
  }
  const timeoutMs = Math.min(Number(timeout ?? 0), TIMEOUT_MAX_MS)
  new PlainServedCall(x, dispatch, service, endpoint, timeoutMs).read()
}
