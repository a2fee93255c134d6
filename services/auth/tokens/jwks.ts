import type { KeyObject } from 'node:crypto'

/** Public key of tokens as a JWK (RFC 7517, RFC 8037). */
export interface PublicJwk {
  readonly kty: string
  readonly crv: string
  readonly x: string
  readonly kid: string
  readonly alg: string
  readonly use: string
}

/** @param keys Ed25519 keys by id. */
export function toJwks(keys: ReadonlyMap<string, KeyObject>): readonly PublicJwk[] {
  return [...keys].map(([kid, key]) => {
    const { kty, crv, x } = key.export({ format: 'jwk' })
    return { kty: kty!, crv: crv!, x: x!, kid, alg: 'EdDSA', use: 'sig' }
  })
}
