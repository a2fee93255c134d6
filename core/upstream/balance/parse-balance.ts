import { suggest } from '../../../lib/text/did-you-mean.ts'
import type { BalanceKind, BalanceOptions, HashSource } from './policy.ts'

const KINDS: readonly BalanceKind[] = [
  ...(['round-robin', 'random', 'p2c', 'least-conn', 'ewma', 'hash', 'maglev'] as const),
]
const FORMS =
  'round-robin, random, p2c, least-conn, ewma, hash:ip, hash:path, hash:header:<name>, hash:cookie:<name>, or the same with maglev, or one of these behind sticky: or sticky:<cookie>:'
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/**
 * Parses `--balance`:
 *
 * ```
 * balance = base | "sticky" [":" cookie] [":" base]
 * base    = "round-robin" | "random" | "p2c" | "least-conn" | "ewma" | ("hash:" | "maglev:") source
 * source  = "header:" name | "cookie:" name | "ip" | "path"
 * ```
 *
 * Plain `sticky` generates the cookie name and uses round-robin for new clients. A word after `sticky:` that is the
 * name of a base policy is parsed as such, not as a cookie name.
 *
 * @throws {RangeError} with the invalid part and the valid forms.
 */
export function parseBalance(text: string): BalanceOptions {
  const words = text.trim().split(':')
  if (words[0] !== 'sticky') return parseBase(words)
  const rest = words.slice(1)
  const first = rest[0]
  if (first === undefined) return { kind: 'round-robin', sticky: {} }
  if (isKind(first)) return { ...parseBase(rest), sticky: {} }
  if (!TOKEN.test(first)) {
    throw new RangeError(`sticky cookie must be a name such as sid, got ${JSON.stringify(first)}`)
  }
  const base: BalanceOptions =
    rest.length === 1 ? { kind: 'round-robin' } : parseBase(rest.slice(1))
  return { ...base, sticky: { cookie: first } }
}

function parseBase(words: readonly string[]): BalanceOptions {
  const [kind = '', ...rest] = words
  if (!isKind(kind)) {
    const near = suggest(kind, [...KINDS, 'sticky'])
    const hint = near === undefined ? '' : `; did you mean ${near}?`
    throw new RangeError(`balance must be ${FORMS}, got ${JSON.stringify(kind)}${hint}`)
  }
  if (kind === 'hash' || kind === 'maglev') return { kind, hashOf: parseSource(kind, rest) }
  if (rest.length > 0)
    throw new RangeError(
      `balance ${kind} takes no parameters, got ${JSON.stringify(rest.join(':'))}`,
    )
  return { kind }
}

function parseSource(
  balance: 'hash' | 'maglev',
  [from, name, ...rest]: readonly string[],
): HashSource {
  if ((from === 'ip' || from === 'path') && name === undefined) return { from, name: '' }
  if ((from === 'header' || from === 'cookie') && rest.length === 0) {
    if (name === undefined || !TOKEN.test(name)) {
      throw new RangeError(
        `balance ${balance}:${from} must name a ${from}, as in ${balance}:${from}:x-user, got ${JSON.stringify(name ?? '')}`,
      )
    }
    return { from, name: from === 'header' ? name.toLowerCase() : name }
  }
  const kind = [from, name, ...rest].filter((word) => word !== undefined).join(':')
  throw new RangeError(
    `balance ${balance} must use header:<name>, cookie:<name>, ip or path, got ${JSON.stringify(kind)}`,
  )
}

function isKind(word: string): word is BalanceKind {
  return (KINDS as readonly string[]).includes(word)
}
