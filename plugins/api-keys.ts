import { hash, timingSafeEqual } from 'node:crypto'
import { resolve } from 'node:path'
import { createIdentity, denyAuthentication } from '../core/auth/authentication-hooks.ts'
import { type CallerLine, parseCallerLines } from '../core/auth/htpasswd-lines.ts'
import type { Session } from '../core/contracts/auth.ts'
import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
import { HeaderList } from '../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { rereadFile } from '../core/plugin/watch-parsed-file.ts'
import { Type } from '../core/schema.ts'

const options = Type.Object({
  keys: Type.Array(Type.String(), {
    writeOnly: true,
    default: [],
    description:
      'Accounts: id, SHA-256 of the key in hexadecimal, and scopes joined by commas: "shop 3b2f... orders,read".',
  }),
  file: Type.String({
    default: '',
    description: 'File of such lines; an edit counts within a second. # begins a comment.',
  }),
  header: Type.String({ default: 'X-Api-Key', description: 'Field that carries the key.' }),
  namespace: Type.String({ default: 'mx', description: 'Namespace the accounts are of.' }),
  required: Type.Boolean({
    default: true,
    description:
      'Whether requests without a key are refused, unless another plugin knows who calls.',
  }),
  forwardKey: Type.Boolean({
    default: false,
    description: 'Whether keys go on to services and backends.',
  }),
})

/** Longest key taken, characters. */
const KEY_MAX = 512
const LINES = { proof: /^[0-9a-f]{64}$/i, proofForm: 'a SHA-256 in hexadecimal' }

/**
 * Knows callers by keys they send. Keys must be random and long: only their SHA-256 is kept, so that whoever reads
 * the list has no key: `echo "shop $(printf %s "$KEY" | sha256sum | cut -d' ' -f1) orders"`.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'api-keys',
  description: 'Knows callers by API keys.',
  options,
  create({ keys, file, header, namespace, required, forwardKey }, { log, nowMs, configDir = '.' }) {
    const name = header.toLowerCase()
    // A malformed name fails here, and not at the first request.
    new HeaderList([name, ''])
    const challenge = `ApiKey header="${header}"`
    const lines = { ...LINES, namespace }
    const own = parseCallerLines(keys, 'keys', lines)
    const path = resolve(configDir, file)
    const parse = (text: string): ReadonlyMap<string, Session> =>
      toSessions([...own, ...parseCallerLines(text.split('\n'), path, lines)])
    const opened = file === '' ? undefined : rereadFile(path, { parse, onChange: use, log })
    let known = opened?.value ?? toSessions(own)

    const identity = createIdentity({
      identify({ headers }) {
        const key = headers.get(name)
        if (key === undefined) return undefined
        if (headers.getAll(name).length > 1)
          throw new GatewayError(GATEWAY_ID, 400, `one field ${header} expected, got several`)
        const session = key.length > KEY_MAX ? undefined : find(known, key)
        if (session === undefined)
          throw denyAuthentication(GATEWAY_ID, `unknown key in ${header}`, challenge)
        return session
      },
      isKnown: ({ id }) => known.has(id),
      detail: `a key is needed in the field ${header}`,
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

/** By the SHA-256 of their keys. @throws {RangeError} when one is listed twice. */
function toSessions(lines: readonly CallerLine[]): ReadonlyMap<string, Session> {
  const sessions = new Map<string, Session>()
  for (const { account, proof } of lines) {
    const id = proof.toLowerCase()
    const other = sessions.get(id)?.account
    if (other !== undefined)
      throw new RangeError(`${account.id} and ${other.id} must not have the same key`)
    sessions.set(id, { account, id, issuedMs: 0, endsMs: Number.POSITIVE_INFINITY })
  }
  return sessions
}

/** The time it takes tells of the digest alone, which nobody can choose. */
function find(known: ReadonlyMap<string, Session>, key: string): Session | undefined {
  const digest = hash('sha256', Buffer.from(key, 'latin1'), 'hex')
  const session = known.get(digest)
  const isRight =
    session !== undefined && timingSafeEqual(Buffer.from(session.id), Buffer.from(digest))
  return isRight ? session : undefined
}
