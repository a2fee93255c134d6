/**
 * Converts bytes to a field of a document: text if they are valid UTF-8, else Base64.
 *
 * @param name field name; `<name>_base64` for Base64
 */
export function toField(name: string, bytes: Uint8Array): Readonly<Record<string, string>> {
  const text = decodeText(bytes)
  return text === undefined
    ? { [`${name}_base64`]: Buffer.from(bytes).toString('base64') }
    : { [name]: text }
}

/** Converts bytes to a cell of a table. Text with control characters becomes a JSON string. */
export function toCell(bytes: Uint8Array): string {
  const text = decodeText(bytes)
  if (text === undefined) return `base64:${Buffer.from(bytes).toString('base64')}`
  return /[\x00-\x1f\x7f-\x9f]/.test(text) ? JSON.stringify(text) : text
}

/** Decodes UTF-8; undefined if it is invalid. */
function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
