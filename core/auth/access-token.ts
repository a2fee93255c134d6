import { createHash, type KeyObject } from 'node:crypto'
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { Account, Session } from '../contracts/auth.ts'
import { isServiceName } from '../service-name.ts'
import { TokenError } from './token-error.ts'

/** Ed25519 (RFC 8037), and nothing else: what a token says of itself chooses no algorithm (RFC 8725 §3.1). */
const ALGORITHM = 'EdDSA'
/** `aud`: tokens that are made for other programs are not taken. */
const AUDIENCE = 'mx'
/** Longest token taken, characters. */
const TOKEN_MAX = 4096
/** Clocks may differ by this much. */
export const SKEW_S = 30
/** Longest life of a token, seconds: revoking one has to be remembered as long. */
export const TOKEN_LIFE_MAX_S = 3600

const FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/
const KEY_ID = /^[\w-]{1,64}$/

/** What tokens are signed with. */
export interface SigningKey {
  /** `kid`. */
  readonly id: string
  readonly privateKey: KeyObject
}

export interface IssueOptions {
  readonly key: SigningKey
  /** Unique. */
  readonly id: string
  readonly nowMs: number
  /** At most {@link TOKEN_LIFE_MAX_S}. */
  readonly lifeS: number
}

/** A signed access token (RFC 7519) with the claims of reference 2.6, `aud`, `iat` and `jti`. */
export async function issueToken(account: Account, options: IssueOptions): Promise<string> {
  const { key, id, nowMs, lifeS } = options
  const { type, scopes, metadata, name } = account
  const issuedS = Math.floor(nowMs / 1000)
  return new SignJWT({ type, scopes, metadata, name })
    .setProtectedHeader({ alg: ALGORITHM, kid: key.id, typ: 'JWT' })
    .setSubject(account.id)
    .setIssuer(account.issuer)
    .setAudience(AUDIENCE)
    .setIssuedAt(issuedS)
    .setExpirationTime(issuedS + Math.min(lifeS, TOKEN_LIFE_MAX_S))
    .setJti(id)
    .sign(key.privateKey)
}

/**
 * What an access token says, once it is found genuine.
 *
 * @param keys by their ids: a token can only choose one of them.
 * @throws {TokenError} for one that is malformed, not signed by one of the keys, for somebody else, not valid yet or no longer.
 */
export async function verifyToken(
  token: string,
  keys: ReadonlyMap<string, KeyObject>,
  nowMs: number,
): Promise<Session> {
  if (token.length > TOKEN_MAX) throw new TokenError(`longer than ${TOKEN_MAX} characters`)
  if (!FORM.test(token)) throw new TokenError('not three parts of base64url')
  try {
    const { payload } = await jwtVerify(token, findKey(token, keys), {
      algorithms: [ALGORITHM],
      audience: AUDIENCE,
      clockTolerance: SKEW_S,
      currentDate: new Date(nowMs),
      // Looks at `iat` too: none that lies ahead.
      maxTokenAge: TOKEN_LIFE_MAX_S,
      requiredClaims: ['sub', 'iss', 'exp', 'iat', 'jti'],
    })
    return toSession(payload)
  } catch (error) {
    if (error instanceof errors.JOSEError) throw new TokenError(error.message, { cause: error })
    throw error
  }
}

/** Name of a public key, the same wherever it is made: what `kid` says (RFC 7638 has the idea). */
export function nameKey(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url')
}

function findKey(token: string, keys: ReadonlyMap<string, KeyObject>): KeyObject {
  let kid: unknown
  try {
    ;({ kid } = decodeProtectedHeader(token))
  } catch (cause) {
    throw new TokenError('malformed header', { cause })
  }
  if (typeof kid !== 'string' || !KEY_ID.test(kid)) throw new TokenError('kid must name a key')
  const key = keys.get(kid)
  if (key === undefined) throw new TokenError('signed with an unknown key')
  return key
}

function toSession({ sub, iss, exp, iat, jti, ...claims }: JWTPayload): Session {
  const { type, scopes, metadata, name } = claims
  if (!isText(sub)) throw new TokenError('sub must be a text')
  if (!isText(iss) || !isServiceName(iss)) throw new TokenError('iss must be a namespace')
  if (!isText(jti)) throw new TokenError('jti must be a text')
  if (!isText(name)) throw new TokenError('name must be a text')
  if (type !== 'user' && type !== 'service') throw new TokenError('type must be user or service')
  if (!Array.isArray(scopes) || !scopes.every(isText))
    throw new TokenError('scopes must be a list of texts')
  if (!isTexts(metadata)) throw new TokenError('metadata must be texts by name')
  if (exp! - iat! > TOKEN_LIFE_MAX_S)
    throw new TokenError(`valid for more than ${TOKEN_LIFE_MAX_S} s`)
  return {
    account: { id: sub, name, type, issuer: iss, scopes, metadata },
    id: jti,
    issuedMs: iat! * 1000,
    endsMs: (exp! + SKEW_S) * 1000,
  }
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
