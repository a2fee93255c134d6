import { GatewayError } from '../errors.ts'
import { formatMetadata, parseMetadata } from './metadata.ts'
import { FAIL_MAX_BYTES } from './ws/frames.ts'

/** Maximum length of texts if the JSON of an error is too long. */
const TEXT_MAX = 4096

/** Headers that describe the body, which is JSON for an error. */
const BODY_HEADER = /^content-/

/**
 * Formats the JSON of an error (docs/protocol.md §1), within the length limit of a FAIL frame.
 *
 * @param repeatable false if the call must not be retried, regardless of the error.
 */
export function formatFail(error: GatewayError, repeatable = true): string {
  const { id, message, headers } = error
  const Metadata = headers === undefined ? undefined : formatFailFields(headers)
  const Repeat = repeatable && error.repeatable ? undefined : false
  const json = JSON.stringify({ ...error.toBody(), Repeat, Metadata })
  // UTF-8 needs at most three bytes per UTF-16 code unit.
  if (isErrorCode(error.code) && json.length * 3 <= FAIL_MAX_BYTES) return json
  const code = isErrorCode(error.code) ? error.code : 500
  const short = new GatewayError(id.slice(0, TEXT_MAX), code, message.slice(0, TEXT_MAX))
  return JSON.stringify({ ...short.toBody(), Repeat })
}

/**
 * Formats the headers of an error as a metadata block. Returns undefined for an empty list, or if they cannot be
 * encoded.
 */
export function formatFailFields(headers: readonly string[]): string | undefined {
  try {
    const block = formatMetadata(toFailFields(headers))
    return block === '' ? undefined : block
  } catch {
    return undefined
  }
}

/** Returns the headers that are sent with an error, with lower-case names. */
export function toFailFields(headers: readonly string[]): string[] {
  const fields: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (!BODY_HEADER.test(name)) fields.push(name, headers[i + 1]!)
  }
  return fields
}

/**
 * Parses the JSON of an error. Property names are case-insensitive.
 *
 * @param json at most 64 KiB.
 * @returns undefined if it is not the JSON of an error.
 */
export function parseFail(json: string, service: string): GatewayError | undefined {
  try {
    return readFail(JSON.parse(json), service)
  } catch {
    return undefined
  }
}

/** Like {@link parseFail}, for parsed JSON. */
export function readFail(body: unknown, service: string): GatewayError | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  let id: unknown
  let code: unknown
  let detail: unknown
  let repeat: unknown
  let metadata: unknown
  for (const [name, value] of Object.entries(body)) {
    switch (name.toLowerCase()) {
      case 'id':
        id ??= value
        break
      case 'code':
        code ??= value
        break
      case 'detail':
        detail ??= value
        break
      case 'repeat':
        repeat ??= value
        break
      case 'metadata':
        metadata ??= value
    }
  }
  if (!isErrorCode(code)) return undefined
  const fields = typeof metadata === 'string' ? parseMetadata(metadata) : undefined
  const headers = fields === undefined ? [] : toFailFields(fields)
  return new GatewayError(
    typeof id === 'string' && id !== '' ? id : service,
    code,
    typeof detail === 'string' ? detail : '',
    { repeatable: repeat !== false, ...(headers.length > 0 && { headers }) },
  )
}

/** Creates the error for a malformed response on an intact connection. */
export function toBadResponse(service: string, cause: string): GatewayError {
  return new GatewayError(service, 502, `bad gateway: malformed response from ${service}`, {
    cause,
  })
}

export function isErrorCode(code: unknown): code is number {
  return Number.isInteger(code) && (code as number) >= 400 && (code as number) <= 599
}
