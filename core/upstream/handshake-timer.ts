import type { ClientRequest } from 'node:http'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import type { TunnelTarget } from '../listener/websocket/tunnel-target.ts'
import type { FailureKind } from './call.ts'

/** Cause of the error when there was no connection in time: another node may be tried. */
export const CONNECT_TIMEOUT: FailureKind = 'connect-timeout'

/**
 * Times a WebSocket handshake with a backend: first the connection, then the response to the handshake that was sent.
 *
 * @param request carries the handshake; not sent yet.
 * @param onTimeout called once with a 504.
 * @returns stops the timer.
 */
export function timeHandshake(
  request: ClientRequest,
  { connectTimeoutMs, replyTimeoutMs }: TunnelTarget,
  onTimeout: (error: GatewayError) => void,
): () => void {
  let timer = setTimeout(() => {
    const detail = 'no connection to the backend in time'
    onTimeout(new GatewayError(GATEWAY_ID, 504, detail, { cause: CONNECT_TIMEOUT }))
  }, connectTimeoutMs)
  const onSent = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      const detail = 'the backend did not answer the WebSocket handshake in time'
      onTimeout(new GatewayError(GATEWAY_ID, 504, detail))
    }, replyTimeoutMs)
  }
  request.once('finish', onSent)
  return () => {
    request.off('finish', onSent)
    clearTimeout(timer)
  }
}
