import { createHmac, randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { LRUCache } from 'lru-cache'
import { createIdentity, denyAuthentication } from '../../core/auth/authentication-hooks.ts'
import { type CallerLine, parseCallerLines } from '../../core/auth/htpasswd-lines.ts'
import { createLoginLimit } from '../../core/auth/token/login-limit.ts'
import { createSecretHasher, type HashSlot } from '../../core/auth/token/secret-hash.ts'
import type { Session } from '../../core/contracts/auth.ts'
import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { watchParsedFile } from '../../core/plugin/watch-parsed-file.ts'
import { Type } from '../../core/schema.ts'

const options = Type.Object({
  users: Type.Array(Type.String(), {
    writeOnly: true,
    default: [],
    description:
      'Accounts, one per entry: id, scrypt hash of the password, comma-separated scopes, for example "shop $scrypt$ln=14,r=8,p=5$... orders,read".',
  }),
  file: Type.String({
    default: '',
    description:
      'File with one account per line, reloaded within a second of a change. # starts a comment.',
  }),
  realm: Type.String({ default: 'mx', description: 'Realm in the challenge, shown by browsers.' }),
  namespace: Type.String({ default: 'mx', description: 'Namespace of the accounts.' }),
  required: Type.Boolean({
    default: true,
    description: 'Reject requests without a password, unless another plugin authenticated them.',
  }),
  forwardPassword: Type.Boolean({
    default: false,
    description: 'Forward passwords to services and backends.',
  }),
})

/** Maximum length of credentials in base64 characters. */
const CREDENTIALS_MAX = 2048
/** Maximum number of cached account and address pairs with a verified password. */
const VERIFIED_MAX = 10_000
const REALM = /^[ !#-[\]-~]{1,100}$/
const BASIC = /^basic +([\w+/-]+=*)$/i
const LINES = {
  credential: /^\$scrypt\$ln=\d{1,2},r=\d{1,3},p=\d{1,3}\$[\w+/]+\$[\w+/]+$/,
  credentialForm: 'a scrypt hash ($scrypt$ln=14,r=8,p=5$salt$hash)',
}

/**
 * Authenticates callers by name and password (RFC 7617). Should only be used over TLS, for clients without token
 * support.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'basic-auth',
  description: 'Authenticates callers by name and password.',
  options,
  create(
    { users, file, realm, namespace, required, forwardPassword },
    { log, nowMs, configDir = '.' },
  ) {
    if (!REALM.test(realm))
      throw new TypeError(
        'realm must have 1 to 100 ASCII characters without quotes and backslashes',
      )
    const challenge = `Basic realm="${realm}", charset="UTF-8"`
    const lines = { ...LINES, namespace }
    const inline = parseCallerLines(users, 'users', lines)
    const path = resolve(configDir, file)
    const parse = (text: string): ReadonlyMap<string, KnownUser> =>
      toUsers([...inline, ...parseCallerLines(text.split('\n'), path, lines)])
    const opened = file === '' ? undefined : watchParsedFile(path, { parse, onChange: use, log })
    let known = opened?.value ?? toUsers(inline)
    const hasher = createSecretHasher(GATEWAY_ID)
    const limit = createLoginLimit(nowMs)
    /** Keyed by account and address, so that response times at another address do not reveal a correct password. */
    let verified = new LRUCache<string, Verified>({ max: VERIFIED_MAX })
    const key = randomBytes(32)

    function findVerified({ cacheKey, digest }: Credentials): Session | undefined {
      const found = verified.get(cacheKey)
      return found?.digest === digest ? found.session : undefined
    }

    async function verify(credentials: Credentials, slot: HashSlot): Promise<Session> {
      // A concurrent request may have verified the credentials.
      const session = findVerified(credentials)
      if (session !== undefined) return session
      const { id, password, cacheKey, digest } = credentials
      const users = known
      const user = users.get(id)
      const isCorrect = await hasher.matches(password, user?.hash, slot)
      // The list has been reloaded in the meantime.
      if (users !== known) return verify(credentials, slot)
      if (user === undefined || !isCorrect)
        throw denyAuthentication(GATEWAY_ID, 'incorrect name or password', challenge)
      verified.set(cacheKey, { digest, session: user.session })
      return user.session
    }

    async function logIn(credentials: Credentials, address: string): Promise<Session> {
      try {
        const attempt = { namespace, account: credentials.id, address }
        return await limit.run(attempt, GATEWAY_ID, (slot) => verify(credentials, slot))
      } catch (error) {
        // A rate-limited guess must not reveal whether it was correct.
        verified.delete(credentials.cacheKey)
        throw error
      }
    }

    const identity = createIdentity({
      identify({ headers, clientAddress }) {
        const authorization = headers.get('authorization')
        if (authorization === undefined || !/^basic(?: |$)/i.test(authorization)) return undefined
        if (headers.getAll('authorization').length > 1)
          throw new GatewayError(GATEWAY_ID, 400, 'expected one Authorization header, got several')
        const [id, password] = readCredentials(authorization)
        if (id === undefined || password === undefined)
          throw denyAuthentication(GATEWAY_ID, 'malformed Basic credentials', challenge)
        const digest = createHmac('sha256', key).update(`${id}:${password}`).digest('base64')
        const credentials = { id, password, digest, cacheKey: `${id} ${clientAddress}` }
        return findVerified(credentials) ?? logIn(credentials, clientAddress)
      },
      isKnown: (session) => known.get(session.account.id)?.session === session,
      detail: 'name and password required',
      hide: forwardPassword ? undefined : (x) => x.headers.delete('authorization'),
      ...{ required, challenge, nowMs },
    })

    function use(next: ReadonlyMap<string, KnownUser>): void {
      known = reuseUnchanged(next, known)
      verified = new LRUCache({ max: VERIFIED_MAX })
      identity.review()
    }

    return {
      ...identity,
      async close() {
        opened?.close()
        await identity.close?.()
      },
    }
  },
})

export default plugin

interface Credentials {
  readonly id: string
  readonly password: string
  /** HMAC of name and password with a key of this process, so that the cache contains no passwords. */
  readonly digest: string
  /** Account and address. */
  readonly cacheKey: string
}

interface Verified {
  readonly digest: string
  readonly session: Session
}

interface KnownUser {
  readonly hash: string
  readonly session: Session
}

/** Returns users by id. @throws {RangeError} for a duplicate id. */
function toUsers(lines: readonly CallerLine[]): ReadonlyMap<string, KnownUser> {
  const users = new Map<string, KnownUser>()
  for (const { account, credential } of lines) {
    const { id } = account
    if (users.has(id)) throw new RangeError(`duplicate account ${id}`)
    const session = { account, id, issuedMs: 0, endsMs: Number.POSITIVE_INFINITY }
    users.set(id, { hash: credential, session })
  }
  return users
}

/** Reuses the sessions of unchanged users, so that their streams stay open. */
function reuseUnchanged(
  next: ReadonlyMap<string, KnownUser>,
  before: ReadonlyMap<string, KnownUser>,
): ReadonlyMap<string, KnownUser> {
  const describe = (user: KnownUser | undefined): string =>
    JSON.stringify([user?.hash, user?.session.account])
  return new Map(
    [...next].map(([id, user]) => {
      const old = before.get(id)
      return [id, old !== undefined && describe(old) === describe(user) ? old : user]
    }),
  )
}

/** Parses name and password (RFC 7617 §2); empty if malformed. */
function readCredentials(authorization: string): [id?: string, password?: string] {
  const [, base64] = BASIC.exec(authorization) ?? []
  if (base64 === undefined || base64.length > CREDENTIALS_MAX) return []
  const text = Buffer.from(base64, 'base64').toString()
  const colon = text.indexOf(':')
  return colon < 0 ? [] : [text.slice(0, colon), text.slice(colon + 1)]
}
