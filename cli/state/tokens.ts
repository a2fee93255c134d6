import { changeStateFile, readStateFile, toStatePath } from './state-file.ts'

/** What somebody is logged in with. */
export interface Credentials {
  readonly accessToken: string
  readonly refreshToken: string
  /** Unix seconds from which on the access token is no longer taken. */
  readonly expiry: number
}

/** Whose credentials: one line of the file each. */
export interface CredentialsOwner {
  /** Of the RPC proxy, `host:port`. */
  readonly address: string
  readonly namespace: string
  readonly account: string
}

const LINE = /^(mx:\/\/\S+):([\w+/=]+)$/

/** Undefined: nobody is logged in there as that account. */
export function readCredentials(owner: CredentialsOwner): Credentials | undefined {
  const key = toKey(owner)
  const found = parseLines(readStateFile(toFile())).find(([each]) => each === key)
  return found && parseCredentials(found[1])
}

/** @param credentials undefined: forgets those there are. */
export async function writeCredentials(
  owner: CredentialsOwner,
  credentials: Credentials | undefined,
): Promise<void> {
  const key = toKey(owner)
  await changeStateFile(toFile(), (text) => {
    const lines = parseLines(text).filter(([each]) => each !== key)
    if (credentials !== undefined) lines.push([key, formatCredentials(credentials)])
    return lines.map((line) => `${line.join(':')}\n`).join('')
  })
}

function toFile(): string {
  return toStatePath('tokens')
}

/** Reference 8.5: `mx://<proxy address>/<namespace>/<account>`. */
function toKey({ address, namespace, account }: CredentialsOwner): string {
  return `mx://${address}/${namespace}/${encodeURIComponent(account)}`
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

/** Of what is damaged nothing is known: whoever it is logs in again. */
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
