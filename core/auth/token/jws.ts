import { isUtf8 } from 'node:buffer'
import { TokenError } from './token-error.ts'

/** A signed token taken apart. Nothing it says counts before its signature was verified. */
export interface Jws {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  /** What the signature is of. */
  readonly signed: Buffer
  readonly signature: Buffer
}

/** Header, claims and a signature of Ed25519, whose 64 bytes have one spelling only: the last character stands for two bits (RFC 4648 §3.5). */
const FORM = /^([\w-]+)\.([\w-]+)\.([\w-]{85}[AQgw])$/

/**
 * Reads the compact form (RFC 7515 §3.1) of claims signed with Ed25519.
 *
 * @throws {TokenError} for whatever is malformed; quotes nothing of it.
 */
export function readJws(token: string): Jws {
  const parts = FORM.exec(token)
  if (parts === null) throw new TokenError('not a header, claims and a signature in base64url')
  const [, header, claims, signature] = parts as unknown as [string, string, string, string]
  return {
    header: parseObject(header, 'header'),
    claims: parseObject(claims, 'claims'),
    signed: Buffer.from(token.slice(0, -signature.length - 1), 'latin1'),
    signature: Buffer.from(signature, 'base64url'),
  }
}

function parseObject(part: string, what: string): Record<string, unknown> {
  const bytes = Buffer.from(part, 'base64url')
  let value: unknown
  try {
    if (isUtf8(bytes)) value = JSON.parse(bytes.toString())
  } catch {
    // Told below: what the parser says quotes the text.
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TokenError(`malformed ${what}`)
  return value as Record<string, unknown>
}
