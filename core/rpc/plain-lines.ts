import type { GatewayError } from '../errors.ts'
import { readFail } from './fail.ts'
import { FAIL_MAX_BYTES } from './frames.ts'

/** How streams are written in the plain form: a JSON document a line (docs/protocol.md §3). */
export const LINES = 'application/x-ndjson'

/** What an error line is longer than its error. */
const AROUND_MAX_BYTES = 64
const ERROR_LINE = /^[\t ]{0,8}\{[\t ]{0,8}"error"/

/** Whether that is the content type of a stream. */
export function isLines(contentType: string | undefined): boolean {
  if (contentType === undefined) return false
  if (contentType === LINES) return true
  const { length } = LINES
  if (contentType.slice(0, length).toLowerCase() !== LINES) return false
  return /^[\t ]*(?:;|$)/.test(contentType.slice(length))
}

/** The error in a line `{"error": {…}}` of a stream; undefined when it is any other line. */
export function parseErrorLine(line: Buffer, service: string): GatewayError | undefined {
  // Most lines are told apart without reading them.
  if (line.length > FAIL_MAX_BYTES + AROUND_MAX_BYTES) return undefined
  if (!ERROR_LINE.test(line.toString('latin1', 0, 32))) return undefined
  let document: Readonly<Record<string, unknown>>
  try {
    document = JSON.parse(line.toString())
  } catch {
    return undefined
  }
  if (Object.keys(document).length !== 1) return undefined
  return readFail(document['error'], service)
}
