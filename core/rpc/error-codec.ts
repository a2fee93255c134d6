import { GatewayError } from '../errors.ts'
import { formatMetadata, parseMetadata } from './metadata.ts'
import { FAIL_MAX_BYTES } from './ws/frames.ts'

/** What is left of the texts of an error whose JSON is too long. */
const TEXT_MAX = 4096

/** Fields that say what the body of a message is: of an error, that is its JSON. */
const OF_THE_BODY = /^content-/

/**
 * The JSON of an error (docs/protocol.md §1), never longer than a FAIL may be.
 *
 * @param repeatable false: the call must not be repeated, whatever the error says.
 */
export function formatFail(error: GatewayError, repeatable = true): string {
  const { id, message, headers } = error
  const Metadata = headers === undefined ? undefined : formatFailFields(headers)
  const Repeat = repeatable && error.repeatable ? undefined : false
  const json = JSON.stringify({ ...error.toBody(), Repeat, Metadata })
  // No character takes more than three bytes.
  if (isErrorCode(error.code) && json.length * 3 <= FAIL_MAX_BYTES) return json
  const code = isErrorCode(error.code) ? error.code : 500
  const short = new GatewayError(id.slice(0, TEXT_MAX), code, message.slice(0, TEXT_MAX))
  return JSON.stringify({ ...short.toBody(), Repeat })
}

/** The fields of an error as its metadata block; undefined: none, or none that can be sent. */
export function formatFailFields(headers: readonly string[]): string | undefined {
  try {
    const block = formatMetadata(toFailFields(headers))
    return block === '' ? undefined : block
  } catch {
    return undefined
  }
}

/** Those of some fields that go with an error, names in lower case. */
export function toFailFields(headers: readonly string[]): string[] {
  const fields: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (!OF_THE_BODY.test(name)) fields.push(name, headers[i + 1]!)
  }
  return fields
}

/**
 * The error a service answered with, from its JSON; names in any letter case.
 *
 * @param json at most 64 KiB.
 * @returns undefined when it is no such JSON.
 */
export function parseFail(json: string, service: string): GatewayError | undefined {
  try {
    return readFail(JSON.parse(json), service)
  } catch {
    return undefined
  }
}

/** {@link parseFail} of JSON that is parsed already. */
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

/** What a caller sees of an answer that breaks the rules but not the connection. */
export function toBadAnswer(service: string, cause: string): GatewayError {
  return new GatewayError(service, 502, `bad gateway: the answer of ${service} is malformed`, {
    cause,
  })
}

/** Whether an error may have this code. */
export function isErrorCode(code: unknown): code is number {
  return Number.isInteger(code) && (code as number) >= 400 && (code as number) <= 599
}
