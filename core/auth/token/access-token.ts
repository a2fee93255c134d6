import { createHash, type KeyObject, verify } from 'node:crypto'
import { promisify } from 'node:util'
import { SignJWT } from 'jose'
import type { Account, Session } from '../../contracts/auth.ts'
import { isServiceName } from '../../registry/service-name.ts'
import { type Jws, readJws } from './jws.ts'
import { TokenError } from './token-error.ts'

/** Only Ed25519 (RFC 8037): the token must not choose the algorithm (RFC 8725 §3.1). */
const ALGORITHM = 'EdDSA'
const TYPE = 'JWT'
/** Value of `aud`. Tokens issued for other programs are rejected. */
const AUDIENCE = 'mx'
/** Maximum token length in characters. */
const TOKEN_MAX = 4096
/** Tolerated clock skew. */
export const SKEW_S = 30
/** Maximum token lifetime in seconds; revocations are stored for the same time. */
export const TOKEN_LIFE_MAX_S = 3600

const KEY_ID = /^[\w-]{1,64}$/

export interface SigningKey {
  /** `kid`. */
  readonly id: string
  readonly privateKey: KeyObject
}

export interface IssueOptions {
  readonly key: SigningKey
  /** `jti`. */
  readonly id: string
  readonly nowMs: number
  /** At most {@link TOKEN_LIFE_MAX_S}. */
  readonly lifeS: number
}

/** Issues a signed access token (RFC 7519) with the claims of reference 2.6, `aud`, `iat` and `jti`. */
export async function issueToken(account: Account, options: IssueOptions): Promise<string> {
  const { key, id, nowMs, lifeS } = options
  const { type, scopes, metadata, name } = account
  const issuedS = Math.floor(nowMs / 1000)
  return new SignJWT({ type, scopes, metadata, name })
    .setProtectedHeader({ alg: ALGORITHM, kid: key.id, typ: TYPE })
    .setSubject(account.id)
    .setIssuer(account.issuer)
    .setAudience(AUDIENCE)
    .setIssuedAt(issuedS)
    .setExpirationTime(issuedS + Math.min(lifeS, TOKEN_LIFE_MAX_S))
    .setJti(id)
    .sign(key.privateKey)
}

/**
 * Verifies an access token in the thread pool.
 *
 * @param keys by id; a token can only select one of them.
 * @throws {TokenError} by rejecting, if the token is malformed, signed with another key, for another audience, not
 * valid yet, or expired.
 */
export async function verifyToken(
  token: string,
  keys: ReadonlyMap<string, KeyObject>,
  nowMs: number,
): Promise<Session> {
  const { session, key, signed, signature } = readToken(token, keys, nowMs)
  if (!(await verifyInPool(null, signed, key, signature))) throw invalidSignature()
  return session
}

/**
 * Verifies on the main thread, unlike {@link verifyToken}: faster and cheaper, but blocks the event loop for 0.1 ms.
 */
export function verifyTokenSync(
  token: string,
  keys: ReadonlyMap<string, KeyObject>,
  nowMs: number,
): Session {
  const { session, key, signed, signature } = readToken(token, keys, nowMs)
  if (!verify(null, signed, key, signature)) throw invalidSignature()
  return session
}

/** Returns the fingerprint of a public key, used as `kid` (similar to RFC 7638). */
export function nameKey(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url')
}

const verifyInPool = promisify(verify)

interface Read {
  readonly session: Session
  readonly key: KeyObject
  readonly signed: Buffer
  readonly signature: Buffer
}

/** Checks everything except the signature, the most expensive part. */
function readToken(token: string, keys: ReadonlyMap<string, KeyObject>, nowMs: number): Read {
  if (token.length > TOKEN_MAX) throw new TokenError(`token exceeds ${TOKEN_MAX} characters`)
  const { header, claims, signed, signature } = readJws(token)
  const key = findKey(header, keys)
  return { session: toSession(claims, Math.floor(nowMs / 1000)), key, signed, signature }
}

function findKey(
  { alg, kid, typ, crit }: Jws['header'],
  keys: ReadonlyMap<string, KeyObject>,
): KeyObject {
  if (alg !== ALGORITHM) throw new TokenError(`alg must be ${ALGORITHM}`)
  if (typ !== TYPE) throw new TokenError(`typ must be ${TYPE}`)
  if (crit !== undefined) throw new TokenError('crit contains unknown extensions')
  if (typeof kid !== 'string' || !KEY_ID.test(kid)) throw new TokenError('kid must name a key')
  const key = keys.get(kid)
  if (key === undefined) throw new TokenError('signed with an unknown key')
  if (key.asymmetricKeyType !== 'ed25519') throw new TokenError('signed with a key of another type')
  return key
}

function toSession(claims: Jws['claims'], nowS: number): Session {
  const { sub, iss, aud, jti, exp, iat, nbf, type, scopes, metadata, name } = claims
  if (!isText(sub)) throw new TokenError('sub must be a string')
  if (!isText(iss) || !isServiceName(iss)) throw new TokenError('iss must be a namespace')
  if (aud !== AUDIENCE && !(Array.isArray(aud) && aud.includes(AUDIENCE)))
    throw new TokenError(`aud must be ${AUDIENCE}`)
  if (!isText(jti)) throw new TokenError('jti must be a string')
  if (!isTime(iat) || iat > nowS + SKEW_S) throw new TokenError('iat must be in the past')
  if (nbf !== undefined && (!isTime(nbf) || nbf > nowS + SKEW_S))
    throw new TokenError('nbf must be in the past')
  if (!isTime(exp) || exp <= nowS - SKEW_S) throw new TokenError('exp must be in the future')
  if (exp - iat > TOKEN_LIFE_MAX_S)
    throw new TokenError(`valid for more than ${TOKEN_LIFE_MAX_S} s`)
  if (!isText(name)) throw new TokenError('name must be a string')
  if (type !== 'user' && type !== 'service') throw new TokenError('type must be user or service')
  if (!Array.isArray(scopes) || !scopes.every(isText))
    throw new TokenError('scopes must be a list of strings')
  if (!isTexts(metadata)) throw new TokenError('metadata must be an object of strings')
  return {
    account: { id: sub, name, type, issuer: iss, scopes, metadata },
    id: jti,
    issuedMs: iat * 1000,
    endsMs: (exp + SKEW_S) * 1000,
  }
}

function invalidSignature(): TokenError {
  return new TokenError('the signature is invalid')
}

function isTime(value: unknown): value is number {
  return Number.isFinite(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isTexts(value: unknown): value is Record<string, string> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((text) => typeof text === 'string')
  )
}
