import { GatewayError } from '../errors.ts'

/** Characters of a request quoted in an error. */
const MAX_QUOTED = 64

/** Creates the error of a malformed request: 400. */
export function badRequest(id: string, detail: string, cause?: unknown): GatewayError {
  return new GatewayError(id, 400, detail, { cause })
}

/** Quotes text of a client for an error: control characters escaped, truncated after 64 characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text)
}
