import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'
import { isServerAddress } from './address.ts'
import { isServerId } from './names.ts'

/**
 * Version of the link protocol. Servers with different versions cannot link. Since version 2, the
 * caller proves first.
 */
export const LINK_VERSION = 2

/** Introduction of a server at the start of a link. */
export interface Introduction {
  readonly version: number
  /** Name of the network; servers of other networks are rejected. */
  readonly network: string
  /** Id, which is stable across restarts. */
  readonly id: string
  /** Instance id, which changes with each restart. */
  readonly instance: string
  /** Advertised address of the server's RPC proxy; empty if none. */
  readonly address: string
  /** Random value that is unique per link. */
  readonly nonce: string
}

/** Introductions of both sides. */
export interface Introductions {
  /** Introduction of the side that opened the link. */
  readonly caller: Introduction
  readonly callee: Introduction
}

const NAME = /^[\x21-\x7e]{1,253}$/
const RANDOM = /^[0-9a-f]{32}$/

export function isNetworkName(text: string): boolean {
  return NAME.test(text)
}

/** Each guess of a token costs about 40 ms and 16 MiB (RFC 7914). */
const SCRYPT = { N: 2 ** 14, r: 8, p: 1 }
const SALT = 'mx network link'
const KEY_BYTES = 32

/**
 * Derives the key for proofs from the network's token by key stretching, so that a received proof
 * is not a cheap test for guesses. Takes about 40 ms.
 *
 * @param token if empty, no key is derived.
 */
export function deriveLinkKey(token: string): Buffer {
  return token === '' ? Buffer.alloc(0) : scryptSync(token, SALT, KEY_BYTES, SCRYPT)
}

/** Returns 128 random bits. */
export function createNonce(): string {
  return randomBytes(16).toString('hex')
}

/**
 * Proves knowledge of the token without sending it, with an HMAC of both introductions and their
 * nonces (RFC 2104).
 *
 * @param key from {@link deriveLinkKey}.
 * @param role side of the prover.
 */
export function prove(
  key: Buffer,
  role: keyof Introductions,
  { caller, callee }: Introductions,
): string {
  const transcript = [role, ...toTexts(caller), ...toTexts(callee)]
  return createHmac('sha256', key).update(transcript.join('\n')).digest('hex')
}

/** Verifies a proof in constant time. */
export function isProof(
  proof: unknown,
  key: Buffer,
  role: keyof Introductions,
  pair: Introductions,
): boolean {
  const expected = Buffer.from(prove(key, role, pair))
  if (typeof proof !== 'string') return false
  const received = Buffer.from(proof)
  return received.length === expected.length && timingSafeEqual(received, expected)
}

/**
 * Parses an introduction.
 *
 * @throws {TypeError} with the invalid field.
 */
export function readIntroduction(fields: Readonly<Record<string, unknown>>): Introduction {
  const { version, network, id, instance, address, nonce } = fields
  if (version !== LINK_VERSION)
    throw new TypeError(`version must be ${LINK_VERSION}, got ${show(version)}`)
  if (typeof network !== 'string' || !isNetworkName(network))
    throw new TypeError(`network must be 1 to 253 visible ASCII characters, got ${show(network)}`)
  if (typeof id !== 'string' || !isServerId(id))
    throw new TypeError(
      `id must be 1 to 100 letters, digits, and inner dots, dashes or underscores, got ${show(id)}`,
    )
  if (address !== '' && !isServerAddress(address))
    throw new TypeError(
      `address must be empty, mx://host:port or mxs://host:port, got ${show(address)}`,
    )
  for (const [name, value] of [
    ['instance', instance],
    ['nonce', nonce],
  ])
    if (typeof value !== 'string' || !RANDOM.test(value))
      throw new TypeError(`${name} must be 32 hexadecimal digits, got ${show(value)}`)
  return { version, network, id, address, instance, nonce } as Introduction
}

// No field contains a line break.
function toTexts({ version, network, id, instance, address, nonce }: Introduction): string[] {
  return [String(version), network, id, instance, address, nonce]
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 100) ?? String(value)
}
