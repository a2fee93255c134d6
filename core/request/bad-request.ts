import { GatewayError } from '../errors.ts'

/** Longest piece of a request that is repeated in an error. */
const MAX_QUOTED = 64

/** A request that cannot be understood: 400. `detail` says what was wrong and what would be right. */
export function badRequest(id: string, detail: string, cause?: unknown): GatewayError {
  return new GatewayError(id, 400, detail, { cause })
}

/** Text of a client as an error shows it: quoted, control characters escaped, cut after 64 characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text)
}
