import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto'
import { isOperator } from '../../../core/auth/policy/account-rights.ts'
import { issueToken, verifyToken } from '../../../core/auth/token/access-token.ts'
import { TokenError } from '../../../core/auth/token/token-error.ts'
import type { Account, Session } from '../../../core/contracts/auth.ts'
import { GatewayError } from '../../../core/errors.ts'
import { commitIf } from '../../../domain/store/commit-if.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store } from '../../../domain/store/store.ts'
import { badRequest, unavailable } from '../../../sdk/errors.ts'
import type { Accounts } from '../accounts/accounts.ts'
import {
  type AccountRecord,
  AUTH_TABLE,
  type FamilyRecord,
  parseFamilyRecord,
  toFamilyKey,
  type UsedToken,
} from '../records.ts'
import { type Revoked, revokeSession, revokeToken } from './revocation-store.ts'
import { createRevokeLimit } from './revoke-limit.ts'
import type { SigningKeys } from './signing-keys.ts'

/** Result of a login or refresh. */
export interface TokenPair {
  readonly accessToken: string
  readonly refreshToken: string
  readonly account: Account
  /** Seconds since 1970. */
  readonly created: number
  /** Seconds since 1970. */
  readonly expiry: number
}

export interface TokensOptions {
  readonly store: Store
  readonly accounts: Accounts
  readonly keys: SigningKeys
  readonly revoked: Revoked
  /** Unix time in milliseconds. */
  readonly nowMs: () => number
}

/** Issues, refreshes and revokes tokens. */
export interface Tokens {
  /** Issues an access token with the default lifetime, without a login. */
  readonly issue: (account: Account) => Promise<string>
  /** Issues the tokens for a login. If the store is full, the refresh token is invalid. */
  readonly begin: (account: AccountRecord, lifeS: number) => Promise<TokenPair>
  /**
   * Exchanges a refresh token, which can be used once. If a token is used twice, one of its two
   * users has stolen it, so all tokens of its login are revoked (RFC 9700 §4.14.2). Within 10 s of
   * its first use, it returns the valid refresh token of its login, even if its successor has
   * already been used, because browser tabs and repeated requests may race with the same token. If
   * the store is full, the token remains valid and is returned again.
   *
   * @param onRejected called for a rejected token with its family, if known.
   * @throws {GatewayError} 400 if the token is rejected.
   */
  readonly refresh: (
    token: string,
    input: RefreshOptions,
    onRejected: (reason: 'reused' | 'unknown', family: FamilyRecord | undefined) => void,
  ) => Promise<TokenPair>
  /** Returns the session of an access token. @throws {TokenError} */
  readonly inspect: (token: string) => Promise<Session>
  /**
   * Revokes an access token, or a refresh token together with all tokens of its login. Invalid
   * tokens are ignored.
   *
   * @returns the owner of the token.
   * @throws {GatewayError} 429 after too many access tokens of an account.
   */
  readonly revoke: (token: string, errorId: string) => Promise<Owner | undefined>
}

export interface RefreshOptions {
  /** Lifetime of the access token in seconds. */
  readonly lifeS: number
  readonly errorId: string
  /**
   * Throws if the account may not log in, before its token is used.
   *
   * @default allows all accounts
   */
  readonly mustBeAllowed?: (account: Account) => void
}

interface Owner {
  readonly namespace: string
  readonly account: string
}

/** Default lifetime of an access token in seconds. */
export const LIFE_S = 900
/** Lifetime of an unused refresh token. */
const UNUSED_MS = 30 * 24 * 3600 * 1000
/**
 * Grace period after the first use, during which a refresh token returns the valid token of its
 * login.
 */
const GRACE_MS = 10_000
/** Maximum number of used tokens in a record. More uses within the grace period are not retries. */
const USED_MAX = 10
/** Maximum number of attempts under contention. */
const ATTEMPTS_MAX = 10
/**
 * Length in bytes of the family id and of the secret. Both are multiples of 3, so that their
 * base64url texts can be concatenated and split.
 */
const FAMILY_BYTES = 18
const SECRET_BYTES = 33
const FAMILY_LENGTH = (FAMILY_BYTES / 3) * 4
const FORM = /^[\w-]{68}$/

export function createTokens(options: TokensOptions): Tokens {
  const { store, accounts, keys, revoked, nowMs } = options
  const countRevocation = createRevokeLimit(nowMs)

  async function issue(account: Account, session: string, issuedMs: number, lifeS: number) {
    const id = `${session}.${randomUUID()}`
    return issueToken(account, { key: keys.current(), id, nowMs: issuedMs, lifeS })
  }

  async function toPair(account: AccountRecord, refreshToken: string, lifeS: number) {
    // Tokens issued before `since` are revoked, and tokens have a resolution of one second.
    const issuedMs = Math.max(nowMs(), account.since)
    const created = Math.floor(issuedMs / 1000)
    const accessToken = await issue(account, toSession(familyOf(refreshToken)), issuedMs, lifeS)
    return { accessToken, refreshToken, account, created, expiry: created + lifeS }
  }

  async function end(family: string): Promise<void> {
    await store.commit([
      { table: AUTH_TABLE, key: toFamilyKey(family) },
      revokeSession(toSession(family), nowMs()),
    ])
  }

  /** Returns the account of a login, or undefined if the login is revoked. */
  async function findAccount(family: FamilyRecord): Promise<AccountRecord | undefined> {
    const account = await accounts.find(family.namespace, family.account)
    const isCurrent = account?.id === family.account && account.since <= family.began
    return isCurrent ? account : undefined
  }

  return {
    issue: (account) => issue(account, randomUUID(), nowMs(), LIFE_S),

    async begin(account, lifeS) {
      const token = makeRefreshToken(randomBytes(FAMILY_BYTES).toString('base64url'))
      const family: FamilyRecord = {
        namespace: account.issuer,
        account: account.id,
        began: Math.max(nowMs(), account.since),
        hash: toHash(token),
      }
      const key = toFamilyKey(familyOf(token))
      const expiresMs = nowMs() + UNUSED_MS
      try {
        const mayUseReserve = isOperator(account)
        const value = encodeRecord(family)
        await store.commit([{ table: AUTH_TABLE, key, value, expiresMs, mayUseReserve }])
      } catch (error) {
        // A full store still serves reads. The login is valid until its access token expires.
        if (!isFull(error)) throw error
      }
      return toPair(account, token, lifeS)
    },

    async refresh(token, { lifeS, errorId, mustBeAllowed }, onRejected) {
      const toRejected = (...details: Parameters<typeof onRejected>): GatewayError => {
        onRejected(...details)
        return badRequest(errorId, 'invalid or already used refresh token; log in again')
      }
      if (!FORM.test(token)) throw toRejected('unknown', undefined)
      const name = familyOf(token)
      const key = toFamilyKey(name)
      const hash = toHash(token)
      for (let i = 0; i < ATTEMPTS_MAX; i++) {
        const record = await store.read(AUTH_TABLE, key)
        if (record === undefined) throw toRejected('unknown', undefined)
        const family = parseFamilyRecord(record)
        const account = await findAccount(family)
        if (account === undefined) throw toRejected('unknown', family)
        const now = nowMs()
        const current = findCurrent(token, hash, family, now)
        if (current === undefined) {
          await end(name)
          throw toRejected('reused', family)
        }
        mustBeAllowed?.(account)
        if (current !== token) return toPair(account, current, lifeS)
        const seed = randomBytes(SECRET_BYTES).toString('base64url')
        const next = toSuccessor(token, seed)
        const { namespace, began } = family
        const used = [...listRecent(family, now), { hash, seed, usedMs: now }].slice(-USED_MAX)
        const rotated = { namespace, account: family.account, began, hash: toHash(next), used }
        const write = {
          table: AUTH_TABLE,
          key,
          value: encodeRecord(rotated),
          expiresMs: now + UNUSED_MS,
          mayUseReserve: isOperator(account),
        }
        try {
          const written = await commitIf(store, [{ ...write, ifVersion: record.version }])
          if (written !== undefined) return toPair(account, next, lifeS)
        } catch (error) {
          if (!isFull(error)) throw error
          return toPair(account, token, lifeS)
        }
      }
      throw unavailable(errorId, 'the refresh token is in use by concurrent requests, try again')
    },

    async inspect(token) {
      const session = await verifyToken(token, keys.all(), nowMs())
      if (revoked.isRevoked(session)) throw new TokenError('revoked')
      return session
    },

    async revoke(token, errorId) {
      if (FORM.test(token)) {
        const family = familyOf(token)
        const record = await store.read(AUTH_TABLE, toFamilyKey(family))
        if (record === undefined) return undefined
        await end(family)
        return parseFamilyRecord(record)
      }
      try {
        const { id, account, endsMs } = await this.inspect(token)
        const owner = { namespace: account.issuer, account: account.id }
        countRevocation(owner, errorId)
        const mayUseReserve = isOperator(account)
        await store.commit([{ ...revokeToken(id, endsMs), mayUseReserve }])
        return owner
      } catch (error) {
        if (error instanceof TokenError) return undefined
        throw error
      }
    },
  }
}

/** Returns whether the store rejects writes but serves reads. */
function isFull(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 507
}

function makeRefreshToken(family: string): string {
  return family + randomBytes(SECRET_BYTES).toString('base64url')
}

/** Derives the next token of a family, which requires both the token and the seed. */
function toSuccessor(token: string, seed: string): string {
  const bytes = createHmac('sha512', seed).update(token).digest().subarray(0, SECRET_BYTES)
  return familyOf(token) + bytes.toString('base64url')
}

/**
 * Returns the valid token of a login for a token that is valid or was used within the grace period.
 * Returns undefined if the token was used earlier or is unknown.
 */
function findCurrent(
  token: string,
  hash: string,
  family: FamilyRecord,
  nowMs: number,
): string | undefined {
  if (hash === family.hash) return token
  const { used = [] } = family
  const from = used.findIndex((entry) => entry.hash === hash)
  if (from < 0 || !isInGrace(used[from]!.usedMs, nowMs)) return undefined
  const current = used.slice(from).reduce((next, { seed }) => toSuccessor(next, seed), token)
  return toHash(current) === family.hash ? current : undefined
}

/**
 * Returns the used tokens, starting with the first one within the grace period: the chain to the
 * valid token.
 */
function listRecent({ used = [] }: FamilyRecord, nowMs: number): readonly UsedToken[] {
  const from = used.findIndex(({ usedMs }) => isInGrace(usedMs, nowMs))
  return from < 0 ? [] : used.slice(from)
}

function isInGrace(usedMs: number, nowMs: number): boolean {
  return nowMs - usedMs <= GRACE_MS
}

function familyOf(refreshToken: string): string {
  return refreshToken.slice(0, FAMILY_LENGTH)
}

/**
 * Returns the prefix of the ids of a login's access tokens. The prefix does not reveal the refresh
 * token.
 */
function toSession(family: string): string {
  return toHash(`session ${family}`).slice(0, 22)
}

function toHash(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
