import type { ClientRequest } from 'node:http'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import type { TunnelTarget } from '../listener/websocket/tunnel-target.ts'
import type { FailureKind } from './call.ts'

/** Failure kind of a connection timeout, after which another node may be tried. */
export const CONNECT_TIMEOUT: FailureKind = 'connect-timeout'

/**
 * Applies timeouts to a WebSocket handshake with a backend: first for connecting, then for the response.
 *
 * @param request the handshake, not yet sent.
 * @param onTimeout called once with a 504.
 * @returns function that stops the timer.
 */
export function timeHandshake(
  request: ClientRequest,
  { connectTimeoutMs, replyTimeoutMs }: TunnelTarget,
  onTimeout: (error: GatewayError) => void,
): () => void {
  let timer = setTimeout(() => {
    const detail = 'connecting to the backend timed out'
    onTimeout(new GatewayError(GATEWAY_ID, 504, detail, { cause: CONNECT_TIMEOUT }))
  }, connectTimeoutMs)
  const onSent = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      const detail = 'the backend did not respond to the WebSocket handshake in time'
      onTimeout(new GatewayError(GATEWAY_ID, 504, detail))
    }, replyTimeoutMs)
  }
  request.once('finish', onSent)
  return () => {
    request.off('finish', onSent)
    clearTimeout(timer)
  }
}
