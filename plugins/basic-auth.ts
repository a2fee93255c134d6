import { createHmac, randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { LRUCache } from 'lru-cache'
import { createIdentity, denyAuthentication } from '../core/auth/authentication-hooks.ts'
import { type CallerLine, parseCallerLines } from '../core/auth/htpasswd-lines.ts'
import { createLoginLimit } from '../core/auth/token/login-limit.ts'
import { createSecretHasher, type HashSlot } from '../core/auth/token/secret-hash.ts'
import type { Session } from '../core/contracts/auth.ts'
import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { rereadFile } from '../core/plugin/watch-parsed-file.ts'
import { Type } from '../core/schema.ts'

const options = Type.Object({
  users: Type.Array(Type.String(), {
    writeOnly: true,
    default: [],
    description:
      'Accounts: id, scrypt hash of the password, and scopes joined by commas: "shop $scrypt$ln=14,r=8,p=5$... orders,read".',
  }),
  file: Type.String({
    default: '',
    description: 'File of such lines; an edit counts within a second. # begins a comment.',
  }),
  realm: Type.String({ default: 'mx', description: 'What clients are told the password is for.' }),
  namespace: Type.String({ default: 'mx', description: 'Namespace the accounts are of.' }),
  required: Type.Boolean({
    default: true,
    description:
      'Whether requests without a password are refused, unless another plugin knows who calls.',
  }),
  forwardPassword: Type.Boolean({
    default: false,
    description: 'Whether passwords go on to services and backends.',
  }),
})

/** Longest credentials taken, characters of base64. */
const CREDENTIALS_MAX = 2048
/** Accounts and addresses whose password is remembered, so that it is hashed once. */
const REMEMBERED_MAX = 10_000
const REALM = /^[ !#-[\]-~]{1,100}$/
const BASIC = /^basic +([\w+/-]+=*)$/i
const LINES = {
  proof: /^\$scrypt\$ln=\d{1,2},r=\d{1,3},p=\d{1,3}\$[\w+/]+\$[\w+/]+$/,
  proofForm: 'a scrypt hash ($scrypt$ln=14,r=8,p=5$salt$hash)',
}

/** Knows callers by name and password (RFC 7617): for machines that know nothing better, and over TLS only. */
const plugin: PluginDefinition = definePlugin({
  name: 'basic-auth',
  description: 'Knows callers by name and password.',
  options,
  create(given, { log, nowMs, configDir = '.' }) {
    const { users, file, realm, namespace, required, forwardPassword } = given
    if (!REALM.test(realm))
      throw new TypeError(
        'realm must be 1 to 100 characters of ASCII without quotes and backslashes',
      )
    const challenge = `Basic realm="${realm}", charset="UTF-8"`
    const lines = { ...LINES, namespace }
    const own = parseCallerLines(users, 'users', lines)
    const path = resolve(configDir, file)
    const parse = (text: string): ReadonlyMap<string, KnownUser> =>
      toUsers([...own, ...parseCallerLines(text.split('\n'), path, lines)])
    const opened = file === '' ? undefined : rereadFile(path, { parse, onChange: use, log })
    let known = opened?.value ?? toUsers(own)
    const hasher = createSecretHasher(GATEWAY_ID)
    const limit = createLoginLimit(nowMs)
    /** By account and address: who guesses elsewhere finds nothing remembered that would tell what is right. */
    let verified = new LRUCache<string, Verified>({ max: REMEMBERED_MAX })
    const key = randomBytes(32)

    function recall({ place, digest }: Shown): Session | undefined {
      const found = verified.get(place)
      return found?.digest === digest ? found.session : undefined
    }

    async function verify(shown: Shown, turn: HashSlot): Promise<Session> {
      // By one that came at the same time.
      const session = recall(shown)
      if (session !== undefined) return session
      const { id, password, place, digest } = shown
      const users = known
      const user = users.get(id)
      const isRight = await hasher.matches(password, user?.hash, turn)
      // By a list that was replaced meanwhile: judged by that one.
      if (users !== known) return verify(shown, turn)
      if (user === undefined || !isRight)
        throw denyAuthentication(GATEWAY_ID, 'name or password not correct', challenge)
      verified.set(place, { digest, session: user.session })
      return user.session
    }

    async function logIn(shown: Shown, address: string): Promise<Session> {
      try {
        const attempt = { namespace, account: shown.id, address }
        return await limit.run(attempt, GATEWAY_ID, (turn) => verify(shown, turn))
      } catch (error) {
        // While guesses are refused, nothing tells the right one from others.
        verified.delete(shown.place)
        throw error
      }
    }

    const identity = createIdentity({
      identify({ headers, clientAddress }) {
        const authorization = headers.get('authorization')
        if (authorization === undefined || !/^basic(?: |$)/i.test(authorization)) return undefined
        if (headers.getAll('authorization').length > 1)
          throw new GatewayError(GATEWAY_ID, 400, 'one field Authorization expected, got several')
        const [id, password] = readCredentials(authorization)
        if (id === undefined || password === undefined)
          throw denyAuthentication(GATEWAY_ID, 'malformed name and password', challenge)
        const digest = createHmac('sha256', key).update(`${id}:${password}`).digest('base64')
        const shown = { id, password, digest, place: `${id} ${clientAddress}` }
        return recall(shown) ?? logIn(shown, clientAddress)
      },
      isKnown: (session) => known.get(session.account.id)?.session === session,
      detail: 'a name and a password are needed',
      hide: forwardPassword ? undefined : (x) => x.headers.delete('authorization'),
      ...{ required, challenge, nowMs },
    })

    function use(next: ReadonlyMap<string, KnownUser>): void {
      known = keepSame(next, known)
      verified = new LRUCache({ max: REMEMBERED_MAX })
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

/** What a request shows. */
interface Shown {
  readonly id: string
  readonly password: string
  /** Of both, which says nothing to whoever reads the memory of a process that has ended. */
  readonly digest: string
  /** Account and address. */
  readonly place: string
}

/** What was right. */
interface Verified {
  readonly digest: string
  readonly session: Session
}

interface KnownUser {
  readonly hash: string
  readonly session: Session
}

/** By their ids. @throws {RangeError} when one is listed twice. */
function toUsers(lines: readonly CallerLine[]): ReadonlyMap<string, KnownUser> {
  const users = new Map<string, KnownUser>()
  for (const { account, proof } of lines) {
    const { id } = account
    if (users.has(id)) throw new RangeError(`${id} is listed twice`)
    const session = { account, id, issuedMs: 0, endsMs: Number.POSITIVE_INFINITY }
    users.set(id, { hash: proof, session })
  }
  return users
}

/** Those that are as they were stay the same, and so do their streams. */
function keepSame(
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

/** Name and password; undefined: malformed (RFC 7617 §2). */
function readCredentials(authorization: string): [id?: string, password?: string] {
  const [, base64] = BASIC.exec(authorization) ?? []
  if (base64 === undefined || base64.length > CREDENTIALS_MAX) return []
  const text = Buffer.from(base64, 'base64').toString()
  const colon = text.indexOf(':')
  return colon < 0 ? [] : [text.slice(0, colon), text.slice(colon + 1)]
}
