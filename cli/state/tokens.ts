import type { Maybe } from '../../lib/async/maybe.ts'
import { changeStateFile, readStateFile, toStatePath } from './state-file.ts'

/** Tokens of a login. */
export interface Credentials {
  readonly accessToken: string
  readonly refreshToken: string
  /** Expiry of the access token, Unix time in seconds. */
  readonly expiry: number
}

/** Key of stored credentials, with one line per key in the file. */
export interface CredentialsOwner {
  /** RPC proxy, `host:port` or `mxs://host:port`. */
  readonly address: string
  readonly namespace: string
  readonly account: string
}

const LINE = /^(mxs?:\/\/\S+):([\w+/=]+)$/

/** @returns undefined if not logged in */
export function readCredentials(owner: CredentialsOwner): Credentials | undefined {
  return findCredentials(parseLines(readStateFile(toFile())), owner)
}

/** @param credentials new credentials; undefined to delete them */
export async function writeCredentials(
  owner: CredentialsOwner,
  credentials: Credentials | undefined,
): Promise<void> {
  await changeCredentials(owner, () => credentials)
}

/**
 * Changes credentials under a lock.
 *
 * @param change returns the new credentials, within `EDIT_MS`; undefined deletes them
 */
export async function changeCredentials(
  owner: CredentialsOwner,
  change: (stored: Credentials | undefined) => Maybe<Credentials | undefined>,
): Promise<void> {
  const key = toKey(owner)
  await changeStateFile(toFile(), async (text) => {
    const lines = parseLines(text)
    const next = await change(findCredentials(lines, owner))
    const others = lines.filter(([each]) => each !== key)
    if (next !== undefined) others.push([key, formatCredentials(next)])
    return others.map((line) => `${line.join(':')}\n`).join('')
  })
}

/** Deletes all credentials of an RPC proxy. @param address see {@link CredentialsOwner} */
export async function forgetCredentials(address: string): Promise<void> {
  const start = `${toProxy(address)}/`
  await changeStateFile(toFile(), (text) =>
    parseLines(text)
      .filter(([key]) => !key.startsWith(start))
      .map((line) => `${line.join(':')}\n`)
      .join(''),
  )
}

function toFile(): string {
  return toStatePath('tokens')
}

/** Key of credentials: `mx://<proxy address>/<namespace>/<account>` (reference 8.5). */
function toKey({ address, namespace, account }: CredentialsOwner): string {
  return `${toProxy(address)}/${namespace}/${encodeURIComponent(account)}`
}

function toProxy(address: string): string {
  return address.includes('://') ? address : `mx://${address}`
}

function findCredentials(
  lines: readonly [key: string, value: string][],
  owner: CredentialsOwner,
): Credentials | undefined {
  const key = toKey(owner)
  const line = lines.find(([each]) => each === key)
  return line && parseCredentials(line[1])
}

function parseLines(text: string | undefined): [key: string, value: string][] {
  return (text ?? '').split('\n').flatMap((line) => {
    const [, key, value] = LINE.exec(line) ?? []
    return key === undefined || value === undefined ? [] : [[key, value]]
  })
}

function formatCredentials({ accessToken, refreshToken, expiry }: Credentials): string {
  const value = { access_token: accessToken, refresh_token: refreshToken, expiry }
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

/** Returns undefined for a damaged line, so that the user has to log in again. */
function parseCredentials(value: string): Credentials | undefined {
  try {
    const { access_token, refresh_token, expiry } = JSON.parse(
      Buffer.from(value, 'base64').toString(),
    )
    return { accessToken: access_token, refreshToken: refresh_token, expiry: Number(expiry) }
  } catch {
    return undefined
  }
}
