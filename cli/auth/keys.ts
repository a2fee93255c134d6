import { parseExpiry } from '../args/expiry.ts'
import type { Session } from '../session/session.ts'
import { type Format, print } from '../ui/format.ts'
import { usageError } from '../ui/output.ts'
import { formatTable } from '../ui/table.ts'

export interface KeyFlags {
  readonly account?: string
  readonly scopes?: string
  readonly expiry?: string
  readonly grace?: string
  readonly day_limit?: string
  readonly month_limit?: string
}

export type KeySession = Pick<Session, 'call'> & {
  readonly format: Format
  readonly options: object
}

interface ApiKeyView {
  readonly id: string
  readonly account: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly expires: number
  readonly last_used: number
}

interface CreatedApiKey extends ApiKeyView {
  readonly key: string
}

interface ApiKeyPage {
  readonly keys: readonly ApiKeyView[]
  /** Cursor of the next page; absent on the last page. */
  readonly next?: string
}

const NONE = 'n/a'
const NEVER = 'never'

/** Creates an API key and prints it. */
export async function createKey(
  { call, options, format }: KeySession,
  name: string,
  flags: KeyFlags,
): Promise<void> {
  const { account = '', scopes = '' } = flags
  const created = await call<CreatedApiKey>('auth', 'ApiKeys.Create', {
    ...{ account, name, options },
    scopes: scopes.split(',').filter((scope) => scope !== ''),
    expiry: toSeconds('--expiry', flags.expiry),
    limits: {
      day: toLimit('--day_limit', flags.day_limit),
      month: toLimit('--month_limit', flags.month_limit),
    },
  })
  await print(format, created, `${created.key}\n`)
}

/** Lists the keys of an account, or of all accounts with `*`. */
export async function listKeys(
  { call, options, format }: KeySession,
  { account = '' }: KeyFlags,
): Promise<void> {
  const keys: ApiKeyView[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: ApiKeyPage = await call('auth', 'ApiKeys.List', { account, options, after })
    keys.push(...page.keys)
    after = page.next
  }
  const header = ['ID', 'Account', 'Name', 'Scopes', 'Expires', 'Last used']
  await print(format, keys, formatTable([header, ...keys.map(toKeyRow)], 1))
}

/** Replaces the secret of a key and prints the new key. */
export async function rotateKey(
  { call, options, format }: KeySession,
  id: string,
  { grace }: KeyFlags,
): Promise<void> {
  const request = {
    id,
    options,
    ...(grace !== undefined && { grace: toSeconds('--grace', grace) }),
  }
  const rotated = await call<CreatedApiKey>('auth', 'ApiKeys.Rotate', request)
  await print(format, rotated, `${rotated.key}\n`)
}

export async function deleteKey({ call, options, format }: KeySession, id: string): Promise<void> {
  await call('auth', 'ApiKeys.Delete', { id, options })
  await print(format, { id }, 'API key deleted\n')
}

function toKeyRow({ id, account, name, scopes, expires, last_used }: ApiKeyView): string[] {
  return [id, account, name, scopes.join(',') || NONE, toDate(expires), toDate(last_used)]
}

/** The resolution of the last use is an hour. */
function toDate(seconds: number): string {
  return seconds === 0 ? NEVER : `${new Date(seconds * 1000).toISOString().slice(0, 16)}Z`
}

/** Returns a duration in seconds; 0 for the default. */
function toSeconds(flag: string, text: string | undefined): number {
  if (text === undefined) return 0
  const seconds = parseExpiry(text, flag)
  if (Number.isFinite(seconds)) return seconds
  throw usageError('auth', `${flag} must be a duration such as 90d or 24h, got ${text}`)
}

function toLimit(flag: string, text: string | undefined): number {
  if (text === undefined) return 0
  if (/^\d{1,12}$/.test(text)) return Number(text)
  throw usageError('auth', `${flag} must be a whole number, got ${text}`)
}
