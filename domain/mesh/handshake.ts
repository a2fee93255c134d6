import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'
import { isServerAddress } from './address.ts'
import { isServerId } from './names.ts'

/** Version of the messages of a link. Servers with different versions have no link. 2: the caller proves first. */
export const LINK_VERSION = 2

/** What a server says of itself when a link begins. */
export interface Introduction {
  readonly version: number
  /** Name of the network: servers of another one have no link. */
  readonly network: string
  /** Stays the same when the server is started anew. */
  readonly id: string
  /** Does not. */
  readonly instance: string
  /** Where its RPC proxy is reached; empty: nowhere. */
  readonly address: string
  /** Random, of this link only. */
  readonly nonce: string
}

/** The two that begin a link. */
export interface Pair {
  /** Who opened it. */
  readonly caller: Introduction
  readonly callee: Introduction
}

const NAME = /^[\x21-\x7e]{1,253}$/
const RANDOM = /^[0-9a-f]{32}$/

/** Whether a text can name a network. */
export function isNetworkName(text: string): boolean {
  return NAME.test(text)
}

/** Makes each guess of a token cost some 40 ms and 16 MiB (RFC 7914). */
const SCRYPT = { N: 2 ** 14, r: 8, p: 1 }
const SALT = 'mx network link'
const KEY_BYTES = 32

/**
 * The key of proofs, stretched from the token of the network: a proof that a stranger received is no cheap test of guesses.
 * Takes some 40 ms.
 *
 * @param token empty: there is none, nor is there anything to stretch.
 */
export function deriveLinkKey(token: string): Buffer {
  return token === '' ? Buffer.alloc(0) : scryptSync(token, SALT, KEY_BYTES, SCRYPT)
}

/** 128 random bits. */
export function createNonce(): string {
  return randomBytes(16).toString('hex')
}

/**
 * Shows that a server knows the token, without sending it: an HMAC of both introductions and their nonces (RFC 2104).
 *
 * @param key of {@link deriveLinkKey}.
 * @param role whose proof it is.
 */
export function prove(key: Buffer, role: keyof Pair, { caller, callee }: Pair): string {
  const said = [role, ...toTexts(caller), ...toTexts(callee)]
  return createHmac('sha256', key).update(said.join('\n')).digest('hex')
}

/** Whether a proof is right; takes the same time whatever it is. */
export function isProof(proof: unknown, key: Buffer, role: keyof Pair, pair: Pair): boolean {
  const expected = Buffer.from(prove(key, role, pair))
  if (typeof proof !== 'string') return false
  const given = Buffer.from(proof)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/**
 * The introduction that a message is.
 *
 * @throws {TypeError} naming what is wrong.
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

/** None of them holds a line end. */
function toTexts({ version, network, id, instance, address, nonce }: Introduction): string[] {
  return [String(version), network, id, instance, address, nonce]
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 100) ?? String(value)
}
