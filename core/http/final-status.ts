/**
 * Whether a status is valid in a final response: 200 to 599. A 1xx status is interim (RFC 9110 §15.2), except the 101
 * that completes a WebSocket handshake. Codes above 599 are undefined (RFC 9110 §15).
 */
export function isFinalStatus(status: unknown): status is number {
  return Number.isInteger(status) && (status as number) >= 200 && (status as number) <= 599
}
