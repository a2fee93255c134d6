import { GatewayError } from '../errors.ts'

/** Maximum characters of a request quoted in an error. */
const MAX_QUOTED = 64

/** Creates the 400 error for a malformed request. */
export function badRequest(id: string, detail: string, cause?: unknown): GatewayError {
  return new GatewayError(id, 400, detail, { cause })
}

/** Quotes client text for an error: escapes control characters and truncates after 64 characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text)
}
