/** Close codes of RFC 6455 §7.4.1 and of the IANA WebSocket Close Code Number Registry. */
export const PROTOCOL_ERROR = 1002
export const NO_STATUS = 1005
export const ABNORMAL = 1006
export const INVALID_DATA = 1007
const POLICY_VIOLATION = 1008
export const TOO_BIG = 1009
export const INTERNAL_ERROR = 1011
export const SERVICE_RESTART = 1012
export const TRY_AGAIN_LATER = 1013

/** RFC 6455 §5.5: 125 bytes of payload, including two for the code. */
const REASON_MAX_BYTES = 123

/** Close code and reason for each error code of `ws`. */
export const WS_ERRORS: Readonly<Record<string, readonly [code: number, reason: string]>> = {
  WS_ERR_INVALID_UTF8: [INVALID_DATA, 'invalid UTF-8'],
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: [TOO_BIG, 'message too long'],
  WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH: [TOO_BIG, 'message too long'],
  WS_ERR_TOO_MANY_BUFFERED_PARTS: [POLICY_VIOLATION, 'too many fragments'],
}

/** Whether a code is allowed in a close frame (RFC 6455 §7.4), or indicates a missing code (1005). */
export function isCloseCode(code: number): boolean {
  if (!Number.isInteger(code)) return false
  return (code >= 1000 && code <= 1014 && code !== 1004 && code !== ABNORMAL) || isPrivateUse(code)
}

/** Truncates a reason to the maximum size in a close frame, at a character boundary. */
export function toReason(text: string): string {
  if (text.length * 3 <= REASON_MAX_BYTES) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= REASON_MAX_BYTES) return text
  let end = REASON_MAX_BYTES
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/** Codes for libraries, frameworks and applications (RFC 6455 §7.4.2). */
function isPrivateUse(code: number): boolean {
  return code >= 3000 && code <= 4999
}
