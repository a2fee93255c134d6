import { isUtf8 } from 'node:buffer'
import { TokenError } from './token-error.ts'

/** A parsed, unverified token. Its content must not be trusted before the signature is verified. */
export interface Jws {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  /** The signed bytes. */
  readonly signed: Buffer
  readonly signature: Buffer
}

/**
 * Header, claims and an Ed25519 signature. Its 64 bytes have a unique encoding, whose last character encodes two bits
 * (RFC 4648 §3.5).
 */
const FORM = /^([\w-]+)\.([\w-]+)\.([\w-]{85}[AQgw])$/

/**
 * Parses the compact serialization (RFC 7515 §3.1) of claims signed with Ed25519.
 *
 * @throws {TokenError} if the input is malformed. The message does not quote it.
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

function parseObject(part: string, label: string): Record<string, unknown> {
  const bytes = Buffer.from(part, 'base64url')
  let value: unknown
  try {
    if (isUtf8(bytes)) value = JSON.parse(bytes.toString())
  } catch {
    // Reported below without the message of the parser, which quotes the text.
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TokenError(`malformed ${label}`)
  return value as Record<string, unknown>
}
