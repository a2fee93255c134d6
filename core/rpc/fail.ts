import { GatewayError } from '../errors.ts'
import { FAIL_MAX_BYTES } from './frames.ts'

/** What is left of the texts of an error whose JSON is too long. */
const TEXT_MAX = 4096

/** The JSON of an error (docs/protocol.md §1), never longer than a FAIL may be. */
export function formatFail(error: GatewayError): string {
  const json = JSON.stringify(error.toBody())
  // No character takes more than three bytes.
  if (isErrorCode(error.code) && json.length * 3 <= FAIL_MAX_BYTES) return json
  const code = isErrorCode(error.code) ? error.code : 500
  const id = error.id.slice(0, TEXT_MAX)
  return JSON.stringify(new GatewayError(id, code, error.message.slice(0, TEXT_MAX)).toBody())
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
    }
  }
  if (!isErrorCode(code)) return undefined
  return new GatewayError(
    typeof id === 'string' && id !== '' ? id : service,
    code,
    typeof detail === 'string' ? detail : '',
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
