/**
 * Whether a status can be that of a final response: 200 to 599. A 1xx never ends an exchange (RFC 9110 §15.2), but for the 101 that
 * completes a WebSocket handshake, and codes beyond 599 are undefined (RFC 9110 §15).
 */
export function isFinalStatus(status: unknown): status is number {
  return Number.isInteger(status) && (status as number) >= 200 && (status as number) <= 599
}
