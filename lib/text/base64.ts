/** RFC 4648 §4 and §5: both alphabets, with optional padding. */
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/

/** Whether a text is base64. */
export function isBase64(text: string): boolean {
  return BASE64.test(text) && text.length % 4 !== 1
}
