import { hash, timingSafeEqual } from 'node:crypto'
import { resolve } from 'node:path'
import { createIdentity, denyAuthentication } from '../../core/auth/authentication-hooks.ts'
import { type CallerLine, parseCallerLines } from '../../core/auth/htpasswd-lines.ts'
import { API_KEY_HEADER, isApiKey } from '../../core/auth/token/api-key.ts'
import type { Session } from '../../core/contracts/auth.ts'
import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import { HeaderList } from '../../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { watchParsedFile } from '../../core/plugin/watch-parsed-file.ts'
import { Type } from '../../core/schema.ts'

const options = Type.Object({
  keys: Type.Array(Type.String(), {
    writeOnly: true,
    default: [],
    description:
      'Accounts, one per entry: id, hexadecimal SHA-256 of the key, comma-separated scopes, for example "shop 3b2f... orders,read".',
  }),
  file: Type.String({
    default: '',
    description:
      'File with one account per line, reloaded within a second of a change. # starts a comment.',
  }),
  header: Type.String({ default: 'X-Api-Key', description: 'Header that contains the key.' }),
  namespace: Type.String({ default: 'mx', description: 'Namespace of the accounts.' }),
  required: Type.Boolean({
    default: true,
    description: 'Reject requests without a key, unless another plugin authenticated them.',
  }),
  forwardKey: Type.Boolean({
    default: false,
    description: 'Forward keys to services and backends.',
  }),
})

/** Maximum length of a key in characters. */
const KEY_MAX = 512
/** The id of a key in the file is the beginning of its SHA-256. */
const FILE_KEY_ID_LENGTH = 16
const LINES = { credential: /^[0-9a-f]{64}$/i, credentialForm: 'a SHA-256 in hexadecimal' }

/**
 * Authenticates callers by API key. The list contains only the SHA-256 of each key, so keys must be long and random:
 * `echo "shop $(printf %s "$KEY" | sha256sum | cut -d' ' -f1) orders"`.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'api-keys',
  description: 'Authenticates callers by API key.',
  options,
  create(
    { keys, file, header, namespace, required, forwardKey },
    { log, nowMs, configDir = '.', authorizer },
  ) {
    const name = header.toLowerCase()
    // Rejects a malformed header name at startup instead of at the first request.
    new HeaderList([name, ''])
    const challenge = `ApiKey header="${header}"`
    const lines = { ...LINES, namespace }
    const inline = parseCallerLines(keys, 'keys', lines)
    /** Keys stored in the `auth` service are authenticated by the `auth` plugin. */
    const isStoredKey = (key: string): boolean =>
      authorizer !== undefined && name === API_KEY_HEADER && isApiKey(key)
    const path = resolve(configDir, file)
    const parse = (text: string): ReadonlyMap<string, Session> =>
      toSessions([...inline, ...parseCallerLines(text.split('\n'), path, lines)])
    const opened = file === '' ? undefined : watchParsedFile(path, { parse, onChange: use, log })
    let known = opened?.value ?? toSessions(inline)

    const identity = createIdentity({
      identify({ headers }) {
        const key = headers.get(name)
        if (key === undefined || isStoredKey(key)) return undefined
        if (headers.getAll(name).length > 1)
          throw new GatewayError(GATEWAY_ID, 400, `expected one ${header} header, got several`)
        const session = key.length > KEY_MAX ? undefined : find(known, key)
        if (session === undefined)
          throw denyAuthentication(GATEWAY_ID, `unknown API key in the ${header} header`, challenge)
        return session
      },
      isKnown: ({ id }) => known.has(id),
      detail: `API key required in the ${header} header`,
      hide: forwardKey ? undefined : (x) => x.headers.delete(name),
      ...{ required, challenge, nowMs },
    })

    function use(next: ReadonlyMap<string, Session>): void {
      known = next
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

/** Returns sessions by the SHA-256 of their keys. @throws {RangeError} for a duplicate key. */
function toSessions(lines: readonly CallerLine[]): ReadonlyMap<string, Session> {
  const sessions = new Map<string, Session>()
  for (const { account, credential } of lines) {
    const id = credential.toLowerCase()
    const other = sessions.get(id)?.account
    if (other !== undefined)
      throw new RangeError(`accounts ${other.id} and ${account.id} have the same key`)
    const owner = { ...account, apiKey: id.slice(0, FILE_KEY_ID_LENGTH) }
    sessions.set(id, { account: owner, id, issuedMs: 0, endsMs: Number.POSITIVE_INFINITY })
  }
  return sessions
}

/** The duration of the lookup only depends on the digest, which an attacker cannot choose. */
function find(known: ReadonlyMap<string, Session>, key: string): Session | undefined {
  const digest = hash('sha256', Buffer.from(key, 'latin1'), 'hex')
  const session = known.get(digest)
  const isValid =
    session !== undefined && timingSafeEqual(Buffer.from(session.id), Buffer.from(digest))
  return isValid ? session : undefined
}
